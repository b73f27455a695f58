package qwentest

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// wire is a client that speaks the site's protocol without a browser.
type wire struct {
	*testing.T
	site   *Site
	server *Server
	client *http.Client
	skip   string // a header left out
}

func dial(t *testing.T, options Options) *wire {
	t.Helper()
	return dialMode(t, options, ModeHTTP)
}

// dialMode trusts the server's own certificate and no other.
func dialMode(t *testing.T, options Options, mode Mode) *wire {
	t.Helper()
	if options.ChunkDelay == 0 {
		options.ChunkDelay, options.FirstByte = -1, -1
	}
	site := New(options)
	server, err := site.Start(mode)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if mode != ModeHTTP && !pool.AppendCertsFromPEM(server.CertPEM) {
		t.Fatal("CertPEM holds no certificate")
	}
	jar, _ := cookiejar.New(nil) // never fails
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	w := &wire{T: t, site: site, server: server, client: &http.Client{Jar: jar, Transport: transport, Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	w.login(site.Token())
	return w
}

func (w *wire) login(token string) {
	u, err := url.Parse(w.server.URL)
	if err != nil {
		w.Fatal(err)
	}
	w.client.Jar.SetCookies(u, []*http.Cookie{{Name: "token", Value: token, Path: "/"}, {Name: "cnaui", Value: "visitor", Path: "/"}})
}

// do sends a request with all the page's headers and reads the whole reply.
func (w *wire) do(method, path, body string) (*http.Response, string, error) {
	w.Helper()
	r, err := http.NewRequest(method, w.server.URL+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Version": frontEnd, "source": "web", "X-Request-Id": uuid.NewString(),
		"bx-ua": "231!wire", "bx-umidtoken": "wire", "bx-v": "2.5.37", "Accept": "application/json",
	} {
		if key != w.skip {
			r.Header.Set(key, value)
		}
	}
	reply, err := w.client.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer reply.Body.Close()
	raw, err := io.ReadAll(reply.Body)
	return reply, string(raw), err
}

// get and post are do for what must not fail on the network.
func (w *wire) get(path string) (*http.Response, string)        { return w.must("GET", path, "") }
func (w *wire) post(path, body string) (*http.Response, string) { return w.must("POST", path, body) }

func (w *wire) must(method, path, body string) (*http.Response, string) {
	w.Helper()
	reply, text, err := w.do(method, path, body)
	if err != nil {
		w.Fatalf("%s %s: %v", method, path, err)
	}
	return reply, text
}

// stream opens a stream; each call of what it returns gives the next frame,
// nil at the end.
func (w *wire) stream(path string) func() any {
	w.Helper()
	r, err := http.NewRequest("GET", w.server.URL+path, nil)
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("bx-ua", "231!wire")
	r.Header.Set("bx-umidtoken", "wire")
	reply, err := w.client.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = reply.Body.Close() })
	scanner := bufio.NewScanner(reply.Body)
	return func() any {
		for scanner.Scan() {
			if data, ok := strings.CutPrefix(scanner.Text(), "data: "); ok {
				return decode(w.T, data)
			}
		}
		return nil
	}
}

func (w *wire) newChat() string {
	w.Helper()
	_, text := w.post("/api/v2/chats/new", `{"chatId":"","models":["qwen3.8-max"],"project_id":"","timestamp":1,"chat_type":"t2t","chat_mode":"normal"}`)
	id, _ := decode(w.T, text)["data"].(obj)["id"].(string)
	if uuid.Validate(id) != nil {
		w.Fatalf("chats/new: %s", text)
	}
	return id
}

func body(chat, parent, text string) string {
	message := obj{"id": nil, "fid": uuid.NewString(), "role": "user", "content": text, "parentId": nullable(parent), "models": []string{"qwen3.8-max"},
		"feature_config": obj{"thinking_enabled": true, "output_schema": "phase"}}
	return string(encode(obj{"stream": true, "chat_id": chat, "chatId": chat, "parent_id": nullable(parent), "chat_mode": "normal",
		"model": "qwen3.8-max", "messages": []obj{message}, "timestamp": 1}))
}

func sendPath(chat string) string { return "/api/v2/chat/completions?chat_id=" + chat }

// ask sends a prompt into a new chat and reads the stream to its end.
func (w *wire) ask(text string) (chat string, frames []obj) {
	w.Helper()
	chat = w.newChat()
	reply, stream := w.post(sendPath(chat), body(chat, "", text))
	if got := reply.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
		w.Fatalf("content type %q, body %s", got, stream)
	}
	return chat, events(w.T, stream)
}

func events(t *testing.T, stream string) []obj {
	t.Helper()
	var out []obj
	scanner := bufio.NewScanner(strings.NewReader(stream))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		if data, ok := strings.CutPrefix(scanner.Text(), "data: "); ok && data != "[DONE]" {
			out = append(out, decode(t, data))
		}
	}
	return out
}

func decode(t *testing.T, text string) obj {
	t.Helper()
	var v obj
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("decode %q: %v", text, err)
	}
	return v
}

// at walks into nested objects and arrays: at(v, "data", "chat", "messages", 0).
func at(v any, path ...any) any {
	for _, p := range path {
		switch key := p.(type) {
		case string:
			m, _ := v.(obj)
			v = m[key]
		case int:
			list, _ := v.([]any)
			if key < 0 {
				key += len(list)
			}
			if key < 0 || key >= len(list) {
				return nil
			}
			v = list[key]
		}
	}
	return v
}

// read returns a chat's data, nil when it is not there.
func (w *wire) read(chat string) any {
	w.Helper()
	_, text := w.get("/api/v2/chats/" + chat)
	v := decode(w.T, text)
	if v["success"] != true {
		return nil
	}
	return v["data"]
}

// answerIn joins the answer parts of a chat's last message.
func answerIn(data any) string {
	var b strings.Builder
	parts, _ := at(data, "chat", "messages", -1, "content_list").([]any)
	for _, p := range parts {
		if at(p, "phase") == "answer" {
			text, _ := at(p, "content").(string)
			b.WriteString(text)
		}
	}
	return b.String()
}

// manualClock is a clock that stands until it is moved. Whoever waits for a
// later moment waits for ever unless it is moved on.
type manualClock struct{ now chan time.Time }

func newManualClock() *manualClock {
	c := &manualClock{now: make(chan time.Time, 1)}
	c.now <- time.Unix(1_790_000_000, 0)
	return c
}

func (c *manualClock) Now() time.Time {
	t := <-c.now
	c.now <- t
	return t
}

func (c *manualClock) After(time.Duration) <-chan time.Time { return nil }

func (c *manualClock) move(d time.Duration) { c.now <- (<-c.now).Add(d) }

// jumpingClock passes every wait at once, by moving on.
type jumpingClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *jumpingClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *jumpingClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	due := make(chan time.Time, 1)
	due <- c.now
	return due
}
