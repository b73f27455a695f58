package qwen

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
)

const createdFrame = `data: {"response.created":{"chat_id":"` + chatA + `","parent_id":"u1","response_id":"a1","response_index":"0"}}` + "\n\n"

const answerFrames = ": a comment\n\ndata: {\"response.info\":{\"action\":\"keep_alive\"}}\n\n" +
	`data: {"choices":[{"delta":{"role":"assistant","content":"","phase":"thinking_summary","status":"finished"}}],"response_id":"a1"}` + "\n\n" +
	`data: {"choices":[{"delta":{"role":"assistant","content":"data: x\n","phase":"answer","status":"typing"}}],"response_id":"a1"}` + "\n\n"

const lastFrame = `data: {"choices":[{"delta":{"content":"","phase":"answer","status":"finished"}}],"response_id":"a1"}` + "\n\n"

// wire is a stream whose events a test makes.
type wire struct {
	*stream
	data, finished, failures chan jsonv2.Value
	end                      context.CancelFunc
}

func newWire(t *testing.T, status int) *wire {
	tab, cancel := context.WithCancel(t.Context())
	w := &wire{data: make(chan jsonv2.Value, 1<<14), finished: make(chan jsonv2.Value, 1), failures: make(chan jsonv2.Value, 1), end: cancel}
	watch := &networkWatch{id: "r1", data: w.data, finished: w.finished, failures: w.failures}
	w.stream = &stream{tab: tab, watch: watch, id: "r1", response: response{Status: status}, named: namedTimeout}
	return w
}

func (w *wire) send(id, bytes string) {
	w.data <- jsonv2.Value(fmt.Sprintf(`{"requestId":%q,"data":%q}`, id, base64.StdEncoding.EncodeToString([]byte(bytes))))
}

func (w *wire) finish() { w.finished <- jsonv2.Value(`{"requestId":"r1"}`) }

// TestStreamAtEveryCut: however the bytes are cut into pieces, our message is
// named and the end is seen, and events of other requests change nothing.
func TestStreamAtEveryCut(t *testing.T) {
	whole := createdFrame + answerFrames + lastFrame
	for cut := range len(whole) {
		w := newWire(t, 200)
		w.send("r2", lastFrame)
		w.send("r1", whole[:cut])
		w.send("r1", whole[cut:])
		first, err := w.first(t.Context())
		if err != nil || first.Message != "u1" || first.Answer != "a1" {
			t.Fatalf("cut at %d: %+v, %v", cut, first, err)
		}
		if !w.stream.end() || !w.stream.finished {
			t.Fatalf("cut at %d: the end is not seen", cut)
		}
	}
}

func TestStreamByteByByte(t *testing.T) {
	w := newWire(t, 200)
	for _, b := range []byte(strings.ReplaceAll(createdFrame+answerFrames+lastFrame, "\n\n", "\r\n\r\n")) {
		w.send("r1", string([]byte{b}))
	}
	if first, err := w.first(t.Context()); err != nil || first.Message != "u1" {
		t.Fatalf("%+v, %v", first, err)
	}
	if !w.stream.end() {
		t.Error("the end is not seen")
	}
}

// TestFirstWords: what the site may say first, and what is made of it.
func TestFirstWords(t *testing.T) {
	busy := `{"success":false,"data":{"code":"Bad_Request","details":"The chat is in progress!"}}`
	for name, c := range map[string]struct {
		status  int
		bytes   string
		message string
		kind    Kind
	}{
		"created":               {200, createdFrame, "u1", ""},
		"after keep-alives":     {200, strings.Repeat(": ping\n\ndata: {\"response.info\":{}}\n\n", 3) + createdFrame, "u1", ""},
		"with event names":      {200, "event: message\nid: 7\n" + createdFrame, "u1", ""},
		"two responses":         {200, createdFrame + strings.NewReplacer("a1", "a2", `"0"`, `"1"`).Replace(createdFrame), "u1", ""},
		"no blank after data":   {200, strings.Replace(createdFrame, "data: ", "data:", 1), "u1", ""},
		"no last newline":       {200, strings.TrimSpace(createdFrame), "u1", ""},
		"refusal, JSON":         {200, busy, "", KindUnreachable},
		"refusal, spaced JSON":  {200, "\n  " + busy + "\n", "", KindUnreachable},
		"refusal, framed":       {200, "data: " + busy + "\n\n", "", KindUnreachable},
		"refusal, framed error": {200, `data: {"error":{"code":"data_inspection_failed","details":"no"}}` + "\n\n", "", KindFiltered},
		"captcha":               {200, `{"ret":["FAIL_SYS_USER_VALIDATE","RGV587_ERROR"],"data":{"url":"x"}}`, "", KindChallenge},
		"captcha, HTML":         {200, `<!doctypehtml><meta name="aliyun_waf_aa">`, "", KindChallenge},
		"HTML":                  {200, `<html>502 Bad Gateway</html>`, "", KindSiteChanged},
		"503":                   {503, "Service Unavailable\n", "", KindUnreachable},
		"503, empty":            {503, "", "", KindUnreachable},
		"429":                   {429, "", "", KindQuota},
		"401":                   {401, `{"detail":"401 Unauthorized"}`, "", KindLogin},
		"nothing":               {200, "", "", ""},
		"only done":             {200, "data: [DONE]\n\n", "", ""},
		"rubbish frames":        {200, "data: {\n\ndata: \n\nnonsense\n\n", "", ""},
		"an answer, unnamed":    {200, "data: {\"choices\":[]}\n\n" + answerFrames, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, c.status)
			if c.bytes != "" {
				w.send("r1", c.bytes)
			}
			w.finish()
			first, err := w.first(t.Context())
			if first.Message != c.message || kindOf(err) != c.kind {
				t.Errorf("%+v, %v; want %q, kind %q", first, err, c.message, c.kind)
			}
		})
	}
}

// TestUnreadReply: the page doesn't read the reply, so nobody sees its text;
// the headers decide, and soon.
func TestUnreadReply(t *testing.T) {
	for name, c := range map[string]struct {
		response response
		kind     Kind
	}{
		"a page":       {response{Status: 200, Type: "text/html"}, KindChallenge},
		"busy":         {response{Status: 503, Type: "text/plain"}, KindUnreachable},
		"busy, a page": {response{Status: 502, Type: "text/html"}, KindUnreachable},
		"not found":    {response{Status: 404, Type: "text/html"}, KindSiteChanged},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWire(t, 0)
			w.stream.response = c.response
			begin := time.Now()
			if _, err := w.first(t.Context()); kindOf(err) != c.kind || time.Since(begin) != unreadTimeout {
				t.Errorf("%s: %v after %v, want %s", name, err, time.Since(begin), c.kind)
			}
		})
	}
}

func TestSilentStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(t, 200)
		begin := time.Now()
		if first, err := w.first(t.Context()); err != nil || first.Message != "" {
			t.Errorf("silence: %+v, %v", first, err)
		}
		if waited := time.Since(begin); waited != namedTimeout {
			t.Errorf("waited %v instead of %v", waited, namedTimeout)
		}
	})
}

func TestStreamEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(w *wire)
		look bool // is there reason to look at the chat?
	}{
		"finished frame, open":  {func(w *wire) { w.send("r1", lastFrame) }, true},
		"closed":                {func(w *wire) { w.finish() }, true},
		"broken":                {func(w *wire) { w.failures <- jsonv2.Value(`{"requestId":"r1","errorText":"net::ERR_FAILED"}`) }, true},
		"done marker, closed":   {func(w *wire) { w.send("r1", "data: [DONE]\n\n"); w.finish() }, true},
		"the browser ended":     {func(w *wire) { w.end() }, false},
		"the events ended":      {func(w *wire) { close(w.data) }, true},
		"others end, then ours": {func(w *wire) { w.finished <- jsonv2.Value(`{"requestId":"r9"}`); w.send("r1", lastFrame) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, 200)
			w.send("r1", createdFrame+answerFrames)
			if first, err := w.first(t.Context()); err != nil || first.Message != "u1" {
				t.Fatalf("%+v, %v", first, err)
			}
			c.end(w)
			if got := w.stream.end(); got != c.look {
				t.Errorf("end is %v, want %v", got, c.look)
			}
		})
	}
}

// TestHeadersWatch: headers, a break, and a break whose headers are late.
func TestHeadersWatch(t *testing.T) {
	ok := jsonv2.Value(`{"requestId":"r1","response":{"status":200,"mimeType":"text/event-stream"}}`)
	failed := jsonv2.Value(`{"requestId":"r1","errorText":"net::ERR_CONNECTION_RESET"}`)
	for name, c := range map[string]struct {
		make   func(responses, failures chan jsonv2.Value, cancel, endTab context.CancelFunc)
		status int
		kind   Kind
	}{
		"headers":         {func(r, f chan jsonv2.Value, _, _ context.CancelFunc) { r <- jsonv2.Value(`{"requestId":"x"}`); r <- ok }, 200, ""},
		"broken":          {func(r, f chan jsonv2.Value, _, _ context.CancelFunc) { f <- failed }, 0, KindUnreachable},
		"broken later":    {func(r, f chan jsonv2.Value, _, _ context.CancelFunc) { f <- failed; r <- ok }, 200, ""},
		"other broke":     {func(r, f chan jsonv2.Value, _, _ context.CancelFunc) { f <- jsonv2.Value(`{"requestId":"x"}`); r <- ok }, 200, ""},
		"browser ended":   {func(r, f chan jsonv2.Value, _, end context.CancelFunc) { end() }, 0, KindBrowser},
		"events ended":    {func(r, f chan jsonv2.Value, _, _ context.CancelFunc) { close(r) }, 0, KindBrowser},
		"nothing at all":  {func(r, f chan jsonv2.Value, _, _ context.CancelFunc) {}, 0, KindUnreachable},
		"caller gives up": {func(r, f chan jsonv2.Value, cancel, _ context.CancelFunc) { cancel() }, 0, KindUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				responses, failures := make(chan jsonv2.Value, 4), make(chan jsonv2.Value, 4)
				w := &networkWatch{id: "r1", responses: responses, failures: failures}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				tab, endTab := context.WithCancel(t.Context())
				defer endTab()
				c.make(responses, failures, cancel, endTab)
				r, err := w.headers(ctx, tab, headersTimeout)
				if r.Status != c.status || kindOf(err) != c.kind {
					t.Errorf("%+v, %v; want %d, kind %q", r, err, c.status, c.kind)
				}
			})
		})
	}
}
