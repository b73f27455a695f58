package qwen

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
)

// testGate is a gate without a browser, for its decisions.
func testGate(t *testing.T) (*gate, *int) {
	t.Helper()
	o, err := parseOrigin("https://chat.qwen.ai")
	if err != nil {
		t.Fatal(err)
	}
	shut := 0
	return &gate{site: o, path: DefaultSite(), chats: map[string]bool{}, shut: func() { shut++ },
		held: make(chan paused, 1), refused: make(chan error, 1)}, &shut
}

// request is a paused request as the browser's event tells it.
func request(t *testing.T, method, address, body string) paused {
	t.Helper()
	raw := fmt.Sprintf(`{"requestId":"i1","networkId":"n1","request":{"url":%q,"method":%q`, address, method)
	if body != "" {
		raw += fmt.Sprintf(`,"hasPostData":true,"postDataEntries":[{"bytes":%q},{"bytes":%q}]`,
			base64.StdEncoding.EncodeToString([]byte(body[:len(body)/2])), base64.StdEncoding.EncodeToString([]byte(body[len(body)/2:])))
	}
	var p paused
	if err := json.Unmarshal([]byte(raw+"}}"), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

const (
	thePrompt = "A prompt that is long enough to be looked for."
	sendTo    = "https://chat.qwen.ai/api/v2/chat/completions?chat_id=" + chatA
	draftTo   = "https://chat.qwen.ai/api/v2/drafts"
	scriptAt  = "https://assets.example/main.js"
	readFrom  = "https://chat.qwen.ai/api/models"
)

// TestGatePolicy is the whole table: what is asked, in which phase, and what
// becomes of it.
func TestGatePolicy(t *testing.T) {
	body := `{"content":"` + thePrompt + `"}`
	for _, c := range []struct {
		name, method, address, body                  string
		reading, armed, holding, releasing, released verdict
	}{
		{"the send", "POST", sendTo, body, refuse, hold, refuse, refuse, refuse},
		{"a send of something else", "POST", sendTo, "{}", refuse, hold, refuse, refuse, refuse},
		{"a send with a slash", "POST", "https://chat.qwen.ai/api/v2/chat/completions/?chat_id=x", "{}", refuse, hold, refuse, refuse, refuse},
		{"a send, escaped", "POST", "https://chat.qwen.ai/api/v2/chat/%63ompletions", "{}", refuse, hold, refuse, refuse, refuse},
		{"a send elsewhere", "POST", "https://evil.example/api/v2/chat/completions", body, refuse, refuse, refuse, refuse, refuse},
		{"a send without the text elsewhere", "POST", "https://evil.example/api/v2/chat/completions", "{}", pass, pass, pass, pass, pass},
		{"a send by http", "POST", "http://chat.qwen.ai/api/v2/chat/completions", body, refuse, refuse, refuse, refuse, refuse},
		{"a resumed stream", "GET", sendTo + "&response_id=x", "", pass, pass, wait, wait, pass},
		{"a stop", "POST", "https://chat.qwen.ai/api/v2/chat/completions/stop?chat_id=x", "{}", pass, pass, wait, wait, pass},
		{"a draft", "POST", draftTo, body, refuse, refuse, refuse, refuse, refuse},
		{"a search", "GET", readFrom + "?q=A+prompt+that+is+long+enough+to+be+looked+for.", "", refuse, refuse, refuse, refuse, refuse},
		{"a read", "GET", readFrom, "", pass, pass, wait, wait, pass},
		{"a new chat", "POST", "https://chat.qwen.ai/api/v2/chats/new", `{"chatId":""}`, pass, pass, wait, wait, pass},
		{"a script", "GET", scriptAt, "", pass, pass, pass, pass, pass},
		{"an address that is none", "POST", "%", "", pass, pass, pass, pass, pass},
	} {
		for phase, want := range []verdict{c.reading, c.armed, c.holding, c.releasing, c.released} {
			g, shut := testGate(t)
			g.lookFor(thePrompt)
			g.phase = gatePhase(phase)
			if got := g.decide(request(t, c.method, c.address, c.body)); got != want {
				t.Errorf("%s in phase %d: %d, want %d", c.name, phase, got, want)
			}
			if (*shut == 1) != (want == hold) || len(g.held) != *shut {
				t.Errorf("%s in phase %d: shut %d times, %d held", c.name, phase, *shut, len(g.held))
			}
			if asked := c.name == "a new chat" && g.phase == gateArmed; g.asked() != asked {
				t.Errorf("%s in phase %d: asked for a chat: %v", c.name, phase, g.asked())
			}
			if (len(g.waiting) == 1) != (want == wait) {
				t.Errorf("%s in phase %d: %d wait", c.name, phase, len(g.waiting))
			}
		}
	}
}

// TestGateWithoutPrompt passes all but sends.
func TestGateWithoutPrompt(t *testing.T) {
	g, _ := testGate(t)
	if got := g.decide(request(t, "POST", draftTo, `{"content":"`+thePrompt+`"}`)); got != pass {
		t.Errorf("a draft: %d", got)
	}
	if got := g.decide(request(t, "POST", sendTo, "{}")); got != refuse {
		t.Errorf("a send: %d", got)
	}
	if g.intrude("a page") {
		t.Error("an intruder finds a prompt")
	}
	if !g.idle() || g.prompted() {
		t.Error("a gate without a prompt is busy")
	}
}

// TestGateHoldsOne, however many sends come at once.
func TestGateHoldsOne(t *testing.T) {
	g, shut := testGate(t)
	g.lookFor(thePrompt)
	g.expect()
	var all sync.WaitGroup
	verdicts := make(chan verdict, 16)
	for range 16 {
		p := request(t, "POST", sendTo, "{}")
		all.Go(func() { verdicts <- g.decide(p) })
	}
	all.Wait()
	close(verdicts)
	held := 0
	for v := range verdicts {
		if v == hold {
			held++
		} else if v != refuse {
			t.Errorf("a second send: %d", v)
		}
	}
	if held != 1 || *shut != 1 || g.idle() {
		t.Errorf("%d held, shut %d times", held, *shut)
	}
}

// TestGateSpoiled: what can't be held comes up, and no send is let go any more.
func TestGateSpoiled(t *testing.T) {
	for phase := gateReading; phase <= gateReleased; phase++ {
		g, shut := testGate(t)
		g.lookFor(thePrompt)
		g.phase = phase
		if !g.intrude("a window") || *shut != 1 {
			t.Errorf("phase %d: the site stays in reach", phase)
		}
		opened := false
		err := g.let(func() { opened = true })
		if over := phase == gateReleased; (err == nil) != over || opened != over {
			t.Errorf("phase %d: let gives %v, opened %v", phase, err, opened)
		}
		if phase == gateReleased {
			continue
		}
		if kindOf(<-g.refused) != KindSiteChanged {
			t.Errorf("phase %d: the wait for the send goes on", phase)
		}
		g.phase = gateArmed
		if got := g.decide(request(t, "POST", sendTo, "{}")); got != refuse {
			t.Errorf("phase %d: a send after that: %d", phase, got)
		}
	}
}

func TestGateSockets(t *testing.T) {
	g, shut := testGate(t)
	g.noteFrame(`{"content":"` + thePrompt + `"}`)
	if g.leak() {
		t.Error("a leak without a prompt")
	}
	g.lookFor(thePrompt)
	g.noteFrame(`{"ping":1}`)
	if g.leak() || *shut != 0 {
		t.Error("a ping is taken for a leak")
	}
	g.noteFrame(`{"content":"` + thePrompt + `"}`)
	if !g.leak() || *shut == 0 || g.let(func() {}) == nil {
		t.Error("a leak passes unseen")
	}
}

// TestWorkerPolicy: requests of a service worker wait for nothing.
func TestWorkerPolicy(t *testing.T) {
	for phase := gateReading; phase <= gateReleased; phase++ {
		g, _ := testGate(t)
		g.lookFor(thePrompt)
		g.phase = phase
		busy := phase == gateHolding || phase == gateReleasing
		for _, c := range []struct {
			method, address, body string
			allowed               bool
		}{
			{"POST", sendTo, "{}", false}, {"POST", draftTo, `{"content":"` + thePrompt + `"}`, false},
			{"GET", readFrom, "", !busy}, {"GET", scriptAt, "", true},
		} {
			if got := g.allows(request(t, c.method, c.address, c.body)); got != c.allowed {
				t.Errorf("phase %d: %s %s: %v", phase, c.method, c.address, got)
			}
		}
	}
}

func TestPausedBody(t *testing.T) {
	for want, raw := range map[string]string{
		"":      `{"request":{"method":"GET"}}`,
		"text":  `{"request":{"postData":"text","hasPostData":true}}`,
		"whole": `{"request":{"postData":"whole","postDataEntries":[{"bytes":"!"}],"hasPostData":true}}`,
		"ab":    `{"request":{"postDataEntries":[{"bytes":"YQ=="},{"bytes":"Yg=="}],"hasPostData":true}}`,
	} {
		var p paused
		if err := json.Unmarshal([]byte(raw), &p); err != nil {
			t.Fatal(err)
		}
		if got := string(p.body()); got != want {
			t.Errorf("%s: %q", raw, got)
		}
	}
	var p paused
	if err := json.Unmarshal([]byte(`{"request":{"url":"https://h/p?secret#x","method":"PUT"},"responseErrorReason":"Failed","resourceType":"FromTheFuture"}`), &p); err != nil {
		t.Fatal(err)
	}
	if p.path() != "PUT h/p" || !p.atResponse() {
		t.Errorf("%q, %v", p.path(), p.atResponse())
	}
}

func TestNewChatID(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		kind Kind
	}{
		"made":       {`{"success":true,"data":{"id":"` + chatA + `"}}`, ""},
		"no id":      {`{"success":true,"data":{}}`, KindSiteChanged},
		"odd id":     {`{"success":true,"data":{"id":"../x"}}`, KindSiteChanged},
		"a list":     {`{"success":true,"data":[]}`, KindSiteChanged},
		"refused":    {`{"success":false,"data":{"code":"RateLimited","num":1}}`, KindQuota},
		"challenged": {`{"ret":["FAIL_SYS_USER_VALIDATE"]}`, KindChallenge},
		"nothing":    {``, KindSiteChanged},
	} {
		id, err := newChatID("try", reply{Status: 200, Body: c.body})
		if kindOf(err) != c.kind || (id == chatA) != (c.kind == "") {
			t.Errorf("%s: %q, %v", name, id, err)
		}
	}
}
