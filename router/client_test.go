package router_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"watcher/router"
	"watcher/router/routertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask is a server that treats every request by one plan, and a client of it.
func ask(t *testing.T, plan routertest.Plan) (*routertest.Server, *router.Client) {
	t.Helper()
	s := routertest.New()
	t.Cleanup(s.Close)
	s.Script(func(string, int) routertest.Plan { return plan })
	return s, client(t, router.Options{URL: s.URL})
}

func client(t *testing.T, o router.Options) *router.Client {
	t.Helper()
	o.Model = "kr/some-model"
	c, err := router.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const prompt = "What is <a> & \"b\"?\n\n\tä 漢 🙂\u2028 end"

func ptr(s string) *string { return &s }

// What counts as a whole answer.
func TestWhole(t *testing.T) {
	for name, plan := range map[string]routertest.Plan{
		"stream":           {},
		"no DONE":          {NoDone: true},
		"comments":         {Comments: true},
		"thinking apart":   {Reason: "Let me think: secret."},
		"one object":       {JSON: true},
		"error is null":    {Extra: `,"error":null,"usage":null`},
		"type in capitals": {Type: "Text/Event-Stream"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c := ask(t, plan)
			got, err := c.Complete(context.Background(), "", prompt)
			if err != nil || got != routertest.Answer(prompt) {
				t.Errorf("got %q, %v", got, err)
			}
			posts := s.Posts()
			if len(posts) != 1 || posts[0].Prompt != prompt || posts[0].Model != "kr/some-model" || posts[0].Key != "none" || !posts[0].Stream {
				t.Errorf("the server got %+v", posts)
			}
		})
	}
}

func TestThinkingInTheText(t *testing.T) {
	for content, want := range map[string]string{
		"<think>\nhm\n</think>\n\nThe answer.\n": "The answer.\n",
		"About <think> tags.\n":                  "About <think> tags.\n",
		"  indented\n":                           "  indented\n",
	} {
		_, c := ask(t, routertest.Plan{Content: &content})
		if got, err := c.Complete(context.Background(), "", prompt); err != nil || got != want {
			t.Errorf("%q: got %q, %v", content, got, err)
		}
	}
}

// A reply of status 200 that is no whole answer. In each the prompt was taken.
func TestNotWhole(t *testing.T) {
	half := "half of"
	for name, tc := range map[string]struct {
		plan routertest.Plan
		kind router.Kind
		says string
		text bool // what there was of the answer comes back
	}{
		"cut":                  {routertest.Plan{Cut: true}, router.KindGeneration, "broke off", true},
		"ends in the middle":   {routertest.Plan{Stop: true}, router.KindGeneration, "without a finish_reason", true},
		"length":               {routertest.Plan{Finish: "length"}, router.KindGeneration, "length limit", true},
		"filter":               {routertest.Plan{Finish: "content_filter"}, router.KindFiltered, "filtered", true},
		"tools":                {routertest.Plan{Finish: "tool_calls"}, router.KindGeneration, "tool_calls", true},
		"refusal":              {routertest.Plan{Refusal: "I can't."}, router.KindFiltered, "I can't.", false},
		"error event":          {routertest.Plan{Error: `{"message":"upstream\nfell over","code":502}`}, router.KindGeneration, "upstream fell over", true},
		"error event at once":  {routertest.Plan{Error: `"no accounts"`, Early: true}, router.KindGeneration, "no accounts", false},
		"filter by error":      {routertest.Plan{Error: `{"message":"no","code":"content_filter"}`}, router.KindFiltered, "no", true},
		"empty":                {routertest.Plan{Content: ptr("")}, router.KindGeneration, "empty", false},
		"blank":                {routertest.Plan{Content: ptr(" \n\n")}, router.KindGeneration, "empty", true},
		"null":                 {routertest.Plan{Null: true}, router.KindGeneration, "empty", false},
		"thinking only":        {routertest.Plan{Null: true, Reason: "hm"}, router.KindGeneration, "empty", false},
		"thinking never ends":  {routertest.Plan{Content: ptr("<think>\nI wonder\nand wonder")}, router.KindGeneration, "empty", false},
		"nothing at all":       {routertest.Plan{Status: 200, Header: map[string]string{"Content-Type": "text/event-stream"}}, router.KindGeneration, "no answer", false},
		"only DONE":            {routertest.Plan{Status: 200, Body: "data: [DONE]\n\n", Header: map[string]string{"Content-Type": "text/event-stream"}}, router.KindGeneration, "no answer", false},
		"DONE after a half":    {routertest.Plan{Status: 200, Body: "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half of\"}}]}\n\ndata: [DONE]\n\n", Header: map[string]string{"Content-Type": "text/event-stream"}}, router.KindGeneration, "without a finish_reason", true},
		"a page":               {routertest.Plan{Status: 200, Body: "<html>Log in</html>", Header: map[string]string{"Content-Type": "text/html"}}, router.KindSiteChanged, "text/html", false},
		"no type":              {routertest.Plan{Type: "application/octet-stream"}, router.KindSiteChanged, "octet-stream", false},
		"garbage in an event":  {routertest.Plan{Status: 200, Body: "data: {\"choices\":[{\n\n", Header: map[string]string{"Content-Type": "text/event-stream"}}, router.KindGeneration, "no part", false},
		"text after the end":   {routertest.Plan{More: "and more"}, router.KindGeneration, "went on", true},
		"object, cut":          {routertest.Plan{JSON: true, Cut: true}, router.KindGeneration, "broke off", false},
		"object, half":         {routertest.Plan{Status: 200, Body: `{"choices":[{"mess`, Header: map[string]string{"Content-Type": "application/json"}}, router.KindGeneration, "no whole completion", false},
		"object, error":        {routertest.Plan{JSON: true, Error: `{"message":"quota"}`}, router.KindGeneration, "quota", false},
		"object, null":         {routertest.Plan{JSON: true, Null: true}, router.KindGeneration, "empty", false},
		"object, length":       {routertest.Plan{JSON: true, Finish: "length", Content: &half}, router.KindGeneration, "length limit", true},
		"object, no choices":   {routertest.Plan{Status: 200, Body: `{"choices":[]}`, Header: map[string]string{"Content-Type": "application/json"}}, router.KindGeneration, "no answer", false},
		"no content (204)":     {routertest.Plan{Status: 204}, router.KindSiteChanged, "204", false},
		"hung up before reply": {routertest.Plan{Drop: true}, router.KindUnreachable, "lost", false},
		"bad gateway":          {routertest.Plan{Status: 502, Body: "upstream"}, router.KindUnreachable, "502", false},
		"server error":         {routertest.Plan{Status: 500, Body: `{"error":{"message":"boom"}}`}, router.KindUnreachable, "boom", false},
		"request timeout":      {routertest.Plan{Status: 408}, router.KindUnreachable, "408", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c := ask(t, tc.plan)
			text, err := c.Complete(context.Background(), "", prompt)
			var e *router.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %q, %v", text, err)
			}
			if e.Kind != tc.kind || !strings.Contains(e.Error(), tc.says) || !e.MayHaveLeft() || e.Refused() || strings.Contains(e.Error(), "\n") {
				t.Errorf("kind %q, left %v, refused %v: %v", e.Kind, e.MayHaveLeft(), e.Refused(), e)
			}
			if (text != "") != tc.text {
				t.Errorf("the text so far is %q", text)
			}
			if len(s.Posts()) != 1 {
				t.Errorf("%d requests arrived", len(s.Posts()))
			}
		})
	}
}

// A refusal before any work: the prompt may be asked again.
func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		plan routertest.Plan
		kind router.Kind
		hint string
	}{
		"missing key":    {routertest.Plan{Status: 401, Body: `{"error":{"message":"Missing API key"}}`}, router.KindLogin, "Endpoint & Key"},
		"forbidden":      {routertest.Plan{Status: 403}, router.KindLogin, "--fallback-key-file"},
		"no money":       {routertest.Plan{Status: 402}, router.KindQuota, ""},
		"too many":       {routertest.Plan{Status: 429, Header: map[string]string{"Retry-After": "90"}}, router.KindQuota, ""},
		"no such model":  {routertest.Plan{Status: 404, Body: `{"error":{"message":"model not found"}}`}, router.KindSiteChanged, "--fallback-model"},
		"invalid model":  {routertest.Plan{Status: 400, Body: `{"error":{"message":"no","param":"model"}}`}, router.KindSiteChanged, "--fallback-model"},
		"too long":       {routertest.Plan{Status: 413}, router.KindInvalid, ""},
		"bad request":    {routertest.Plan{Status: 400, Body: `{"error":{"message":"maximum context length"}}`}, router.KindInvalid, ""},
		"no provider":    {routertest.Plan{Status: 503, Body: `{"error":{"message":"all accounts unavailable"}}`}, router.KindUnreachable, ""},
		"other address":  {routertest.Plan{Status: 307, Header: map[string]string{"Location": "http://127.0.0.1:1/v1/chat/completions"}}, router.KindSiteChanged, "--fallback"},
		"asks to retry":  {routertest.Plan{Status: 429, Header: map[string]string{"x-should-retry": "true", "Retry-After": "0"}}, router.KindQuota, ""},
		"moved for good": {routertest.Plan{Status: 301, Header: map[string]string{"Location": "/v2"}}, router.KindSiteChanged, "--fallback"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c := ask(t, tc.plan)
			_, err := c.Complete(context.Background(), "", prompt)
			var e *router.Error
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			if e.Kind != tc.kind || !e.Refused() || !e.MayHaveLeft() || !strings.Contains(e.Hint(), tc.hint) {
				t.Errorf("kind %q, refused %v, hint %q: %v", e.Kind, e.Refused(), e.Hint(), e)
			}
			if wait := time.Until(e.Until()); tc.plan.Header["Retry-After"] == "90" && (wait < time.Minute || wait > 2*time.Minute) {
				t.Errorf("come back in %v", wait)
			}
			if len(s.Posts()) != 1 {
				t.Errorf("%d requests arrived", len(s.Posts()))
			}
		})
	}
}

// Nobody listens: the error promises that nothing left.
func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, err = client(t, router.Options{URL: "http://" + l.Addr().String() + "/v1"}).Complete(context.Background(), "", prompt)
	var e *router.Error
	if !errors.As(err, &e) || e.MayHaveLeft() || e.Kind != router.KindUnreachable {
		t.Errorf("got %v", err)
	}
	if err := client(t, router.Options{URL: "http://" + l.Addr().String() + "/v1"}).Reach(context.Background()); !errors.As(err, &e) || e.MayHaveLeft() {
		t.Errorf("got %v", err)
	}
	s, c := ask(t, routertest.Plan{})
	if err := c.Reach(context.Background()); err != nil || len(s.Posts()) != 0 {
		t.Errorf("%v, %d requests", err, len(s.Posts()))
	}
}

// An endpoint that speaks no TLS: the handshake fails before any of the prompt.
func TestNoTLS(t *testing.T) {
	s := routertest.New()
	t.Cleanup(s.Close)
	_, err := client(t, router.Options{URL: strings.Replace(s.URL, "http:", "https:", 1)}).Complete(context.Background(), "", prompt)
	var e *router.Error
	if !errors.As(err, &e) || e.MayHaveLeft() || len(s.Posts()) != 0 {
		t.Errorf("got %v, %d requests", err, len(s.Posts()))
	}
}

// A server that takes connections and drops each after the request: one
// connection, one request, for every way in which it can drop it.
func TestOneRequest(t *testing.T) {
	for name, drop := range map[string]func(net.Conn){
		"at once":            func(net.Conn) {},
		"after some bytes":   func(c net.Conn) { _, _ = c.Read(make([]byte, 64)) },
		"after all":          func(c net.Conn) { _, _ = c.Read(make([]byte, 1<<20)) },
		"within the headers": func(c net.Conn) { _, _ = c.Read(make([]byte, 1<<20)); _, _ = c.Write([]byte("HTTP/1.1 20")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var came atomic.Int32
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					came.Add(1)
					drop(c)
					c.Close()
				}
			}()
			c := client(t, router.Options{URL: "http://" + l.Addr().String() + "/v1"})
			_, err = c.Complete(context.Background(), "", prompt)
			var e *router.Error
			if !errors.As(err, &e) || !e.MayHaveLeft() || e.Refused() {
				t.Errorf("got %v", err)
			}
			l.Close()
			<-ended
			if n := came.Load(); n != 1 {
				t.Errorf("%d connections were made", n)
			}
		})
	}
}

// The key goes to one host, also when that one sends callers elsewhere, and what
// the environment holds for another service goes nowhere.
func TestKeyStays(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "of-another-service")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
	t.Setenv("OPENAI_ORG_ID", "org")
	var reached atomic.Int32
	var headers atomic.Value
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(other.Close)
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers.Store(r.Header.Clone())
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(first.Close)
	_, err := client(t, router.Options{URL: first.URL + "/v1/", Key: "mine"}).Complete(context.Background(), "", prompt)
	if err == nil || reached.Load() != 0 {
		t.Errorf("%v; the other host was asked %d times", err, reached.Load())
	}
	h := headers.Load().(http.Header)
	if h.Get("Authorization") != "Bearer mine" || h.Get("OpenAI-Organization") != "" {
		t.Errorf("sent %v", h)
	}
	if strings.Contains(err.Error(), "mine") {
		t.Errorf("the key is in the error: %v", err)
	}
}

// A reply that stops growing is given up; one that was whole is not waited for.
func TestSilence(t *testing.T) {
	never := make(chan struct{})
	for name, tc := range map[string]struct {
		plan  routertest.Plan
		whole bool
	}{
		"before the reply": {routertest.Plan{Wait: never}, false},
		"in the answer":    {routertest.Plan{Pause: never}, false},
		"after the answer": {routertest.Plan{NoDone: true, Linger: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := ask(t, tc.plan)
			c := client(t, router.Options{URL: s.URL, Dial: time.Second, Idle: 300 * time.Millisecond})
			text, err := c.Complete(context.Background(), "", prompt)
			if tc.whole {
				if err != nil || text != routertest.Answer(prompt) {
					t.Errorf("got %q, %v", text, err)
				}
				return
			}
			var e *router.Error
			if !errors.As(err, &e) || !e.MayHaveLeft() || !strings.Contains(err.Error(), "no sign of life") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTotalTime(t *testing.T) {
	s, _ := ask(t, routertest.Plan{Pause: make(chan struct{})})
	c := client(t, router.Options{URL: s.URL, Total: 300 * time.Millisecond})
	if _, err := c.Complete(context.Background(), "", prompt); err == nil || !strings.Contains(err.Error(), "no end of the answer") {
		t.Errorf("got %v", err)
	}
}

// A stop in the middle: what there was comes back with the error.
func TestStop(t *testing.T) {
	s, c := ask(t, routertest.Plan{Pause: make(chan struct{})})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for len(s.Posts()) == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	_, err := c.Complete(ctx, "", prompt)
	var e *router.Error
	if !errors.As(err, &e) || !e.MayHaveLeft() || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []router.Options{
		{URL: "localhost:20128/v1", Model: "m"}, {URL: "ftp://host/v1", Model: "m"}, {URL: "http:///v1", Model: "m"},
		{URL: "http://user:secret@host/v1", Model: "m"}, {URL: "http://host/v1?a=b", Model: "m"}, {URL: "http://host/v1#x", Model: "m"},
		{URL: "http://host/v1"}, {URL: "http://host/v1", Model: " "}, {URL: "%", Model: "m"},
	} {
		if _, err := router.New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the password is in the error: %v", err)
		}
	}
	c, err := router.New(router.Options{URL: router.DefaultURL, Model: "m"})
	if err != nil || c.Address() != "http://localhost:20128/v1/chat/completions" {
		t.Errorf("%v, %v", c.Address(), err)
	}
}
