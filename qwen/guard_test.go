package qwen

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/rs/zerolog"
	"golang.org/x/net/websocket"
)

// trickSite is a page that has every means to carry a text past the gate, and
// a server that notes what came through.
type trickSite struct {
	*httptest.Server
	mu       sync.Mutex
	received []string
}

func newTrickSite(t *testing.T) *trickSite {
	s := &trickSite{}
	scripts := map[string]string{
		"/shared.js":    `onconnect = (e) => { const p = e.ports[0]; p.onmessage = (m) => fetch("/from-shared", {method: "POST", body: m.data}); };`,
		"/dedicated.js": `onmessage = (m) => fetch("/from-dedicated", {method: "POST", body: m.data});`,
		"/sw.js": `oninstall = () => skipWaiting(); onactivate = (e) => e.waitUntil(clients.claim());
			onmessage = (m) => { for (const path of ["/from-worker", "/api/v2/chat/completions"]) fetch(path, {method: "POST", body: m.data}); };`,
	}
	mux := http.NewServeMux()
	mux.Handle("/ws", websocket.Handler(func(c *websocket.Conn) {
		s.note("/ws opened")
		b, _ := io.ReadAll(c)
		s.note("/ws " + string(b))
	}))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if script, ok := scripts[r.URL.Path]; ok {
			w.Header().Set("Content-Type", "text/javascript")
			io.WriteString(w, script)
			return
		}
		b, _ := io.ReadAll(r.Body)
		s.note(r.URL.RequestURI() + " " + string(b))
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<body style="margin:0"><button style="width:400px;height:400px">press</button></body>`)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *trickSite) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = append(s.received, what)
}

// with returns what came in that has the text in it.
func (s *trickSite) with(text string) (found []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.received {
		if strings.Contains(one, text) {
			found = append(found, one)
		}
	}
	return found
}

// TestNothingPassesTheGate: a page with the prompt in it tries every way out
// that a page has. The prompt stays.
func TestNothingPassesTheGate(t *testing.T) {
	t.Parallel()
	site := newTrickSite(t)
	profile := openTestProfile(t, t.TempDir())
	c, err := New(Options{Site: site.URL, Table: DefaultSite(), Profile: profile, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name, trick := range map[string]struct {
		prepare, press string // JavaScript; text is the prompt
		spoils         bool   // the send must not be let go after it
	}{
		"fetch":           {"", `fetch("/t", {method: "POST", body: text})`, false},
		"keepalive":       {"", `fetch("/t", {method: "POST", body: text, keepalive: true})`, false},
		"beacon":          {"", `navigator.sendBeacon("/t", text)`, false},
		"XHR":             {"", `const x = new XMLHttpRequest(); x.open("POST", "/t"); x.send(JSON.stringify({a: [text]}))`, false},
		"image":           {"", `new Image().src = "/t?" + encodeURIComponent(text)`, false},
		"form":            {"", `const f = document.createElement("form"); f.method = "POST"; f.action = "/t"; f.target = "frame"; f.innerHTML = "<textarea name=x></textarea>"; f.x.value = text; const i = document.createElement("iframe"); i.name = "frame"; document.body.append(i, f); f.submit()`, false},
		"multipart":       {"", `const f = new FormData(); f.append("x", text); fetch("/t", {method: "POST", body: f})`, false},
		"file":            {"", `fetch("/t", {method: "POST", body: new Blob([text])})`, false},
		"navigation":      {"", `location.href = "/t?q=" + encodeURIComponent(text)`, false},
		"blank iframe":    {"", `const f = document.createElement("iframe"); document.body.append(f); f.contentWindow.fetch("/t", {method: "POST", body: text})`, false},
		"worker":          {`window.w = new Worker("/dedicated.js")`, `w.postMessage(text)`, false},
		"blob worker":     {"", `new Worker(URL.createObjectURL(new Blob(["fetch('" + location.origin + "/t', {method: 'POST', body: " + JSON.stringify(text) + "})"])))`, false},
		"shared worker":   {`window.s = new SharedWorker("/shared.js"); s.port.start()`, `s.port.postMessage(text)`, false},
		"service worker":  {`navigator.serviceWorker.register("/sw.js").then(() => navigator.serviceWorker.ready)`, `navigator.serviceWorker.ready.then((r) => r.active.postMessage(text))`, false},
		"window":          {"", `window.open("/t?q=" + encodeURIComponent(text))`, true},
		"blank window":    {"", `const w = window.open("about:blank"); w.fetch("/t", {method: "POST", body: text}); w.navigator.sendBeacon("/t", text)`, true},
		"separate window": {"", `window.open("/t?q=" + encodeURIComponent(text), "_blank", "noopener")`, true},
		"link":            {"", `const a = document.createElement("a"); a.target = "_blank"; a.href = "/t?q=" + encodeURIComponent(text); document.body.append(a); a.click()`, true},
		"new web socket":  {"", `const w = new WebSocket("ws://" + location.host + "/ws"); w.onopen = () => w.send(text)`, true},
	} {
		t.Run(name, func(t *testing.T) {
			text := "The prompt of the trick " + name + ",\nwhich must stay here."
			p := openTrick(t, c, trick.prepare)
			p.gate.lookFor(text)
			p.gate.expect()
			listen := fmt.Sprintf(`document.querySelector("button").onclick = () => { const text = %q; %s }; ""`, text, trick.press)
			if _, err := evaluate(p, listen); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(p.live, 10*time.Second)
			defer cancel()
			if err := click(ctx, 50, 50); err != nil {
				t.Logf("click: %v", err)
			}
			time.Sleep(400 * time.Millisecond)
			spoiled := p.gate.let(func() {}) != nil
			if spoiled != trick.spoils {
				t.Errorf("spoiled: %v, want %v (strangers %v)", spoiled, trick.spoils, p.gate.strangers())
			}
			c.discard(p)
			if found := append(site.with("must stay here"), site.with("must%20stay")...); len(found) > 0 && !p.gate.leak() {
				t.Errorf("the site received %q, unseen", found)
			} else if len(found) > 0 {
				t.Logf("the site received %q; the driver saw it leave", found)
			}
			site.mu.Lock()
			site.received = nil
			site.mu.Unlock()
		})
	}
}

// openTrick opens the page and prepares a trick in it.
func openTrick(t *testing.T, c *Client, prepare string) *page {
	t.Helper()
	p, err := c.openPage(t.Context(), "/page")
	if err != nil {
		t.Fatal(err)
	}
	c.page = p
	if _, err := p.until(t.Context(), loadTimeout, func(s pageState) (bool, error) { return !s.Loading && c.site.at(s.Href), nil },
		func(_ pageState, err error) error { return err }); err != nil {
		t.Fatal(err)
	}
	if prepare != "" {
		if _, err := evaluate(p, fmt.Sprintf(`(async () => { %s; await new Promise((d) => setTimeout(d, 300)); return ""; })()`, strings.Replace(prepare, "navigator", "await navigator", 1))); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func evaluate(p *page, expression string) (string, error) {
	ctx, cancel := context.WithTimeout(p.live, 10*time.Second)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[string](expression, chromedp.EvalAwaitPromise))
}

// TestOpenSocketCarriesThePrompt: a web socket that was there before. The
// prompt leaves, and the driver says so.
func TestOpenSocketCarriesThePrompt(t *testing.T) {
	t.Parallel()
	site := newTrickSite(t)
	profile := openTestProfile(t, t.TempDir())
	c, err := New(Options{Site: site.URL, Table: DefaultSite(), Profile: profile, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p := openTrick(t, c, `window.w = new WebSocket("ws://" + location.host + "/ws")`)
	p.gate.lookFor(thePrompt)
	p.gate.expect()
	if _, err := evaluate(p, fmt.Sprintf(`w.send(%q); ""`, thePrompt)); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); !p.gate.leak(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nobody saw the prompt leave")
		}
	}
	if p.gate.let(func() {}) == nil {
		t.Error("the send could still be let go")
	}
}
