package routertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// Plan is how the server treats one request. The zero Plan answers it whole.
type Plan struct {
	Status   int               // refuse with this status, ...
	Body     string            // ... this body, ...
	Header   map[string]string // ... and these headers
	Drop     bool              // read the request, then hang up without a reply
	Cut      bool              // hang up in the middle of the answer
	Stop     bool              // end the body properly there, with no finish_reason
	NoDone   bool              // leave "[DONE]" out
	Finish   string            // another finish_reason than "stop"
	Content  *string           // another content
	Null     bool              // null for a content, and no part with text
	Refusal  string            // a refusal in place of a content
	Reason   string            // thinking, in its own field, before the content
	Error    string            // this object as an event's error after half the answer; "" for none
	Early    bool              // ... before any of it
	Type     string            // another content type
	JSON     bool              // one object in place of a stream
	Linger   bool              // do not close after the end of the answer
	More     string            // content after the finish_reason
	Comments bool              // keep-alive comments between the parts
	Extra    string            // more fields of each event, as JSON, with a comma before them
	Wait     <-chan struct{}   // hold the reply back until this is closed
	Pause    <-chan struct{}   // hold it back in the middle of the answer
}

// Post is one request that arrived whole.
type Post struct {
	Prompt, Model, Key string
	Path               string
	Stream             bool
	Answered           bool // all of the answer was written
}

// Server is the endpoint.
type Server struct {
	URL string // the base address, with /v1

	http *httptest.Server
	done chan struct{}

	// OnPost, if set before the first request, is called when one has arrived,
	// before it is answered.
	OnPost func(Post)

	mu     sync.Mutex
	script func(prompt string, nth int) Plan
	posts  []*Post
	key    string
}

// New starts a server that answers all. Close ends it.
func New() *Server {
	s := &Server{done: make(chan struct{}), script: func(string, int) Plan { return Plan{} }}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL + "/v1"
	return s
}

// Close ends what is held back, and the server.
func (s *Server) Close() {
	close(s.done)
	s.http.CloseClientConnections()
	s.http.Close()
}

// Script sets how requests are treated; nth counts those of the same prompt, from 1.
func (s *Server) Script(plan func(prompt string, nth int) Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = plan
}

// Require makes the server ask for this key.
func (s *Server) Require(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
}

// Posts lists the requests that arrived, in order.
func (s *Server) Posts() (list []Post) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.posts {
		list = append(list, *p)
	}
	return list
}

// Restore puts another ledger in the place of this one.
func (s *Server) Restore(posts []Post) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts = nil
	for _, p := range posts {
		s.posts = append(s.posts, &p)
	}
}

// Count tells how often a prompt arrived.
func (s *Server) Count(prompt string) (n int) {
	for _, p := range s.Posts() {
		if p.Prompt == prompt {
			n++
		}
	}
	return n
}

// Answer is the server's answer to a prompt: it names the prompt and has an end.
func Answer(prompt string) string {
	return fmt.Sprintf("# Another engine's answer\n\nTo %q, which has %d bytes.\n\n%sThe end.\n", firstLine(prompt), len(prompt),
		strings.Repeat("A line of many, so that a part is not the whole.\n", 20))
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
	}
	b, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(b, &ask) != nil || len(ask.Messages) != 1 || ask.Messages[0].Role != "user" {
		http.Error(w, `{"error":{"message":"not understood"}}`, http.StatusBadRequest)
		return
	}
	post := &Post{Prompt: ask.Messages[0].Content, Model: ask.Model, Stream: ask.Stream, Path: r.URL.Path,
		Key: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}
	plan := s.note(post)
	if s.OnPost != nil {
		s.OnPost(*post)
	}
	if !s.hold(plan.Wait, r) {
		return
	}
	switch {
	case plan.Drop:
		hangUp(w)
	case plan.Status != 0:
		for name, value := range plan.Header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(plan.Status)
		_, _ = io.WriteString(w, plan.Body)
	default:
		s.reply(w, r, post, plan)
	}
}

// note writes a request into the ledger and says how to treat it.
func (s *Server) note(p *Post) Plan {
	s.mu.Lock()
	defer s.mu.Unlock()
	nth := 1
	for _, old := range s.posts {
		if old.Prompt == p.Prompt {
			nth++
		}
	}
	s.posts = append(s.posts, p)
	switch {
	case !strings.HasSuffix(p.Path, "/v1/chat/completions"):
		return Plan{Status: http.StatusNotFound, Body: "404 page not found"}
	case s.key != "" && p.Key != s.key:
		return Plan{Status: http.StatusUnauthorized, Body: `{"error":{"message":"Invalid API key","type":"invalid_request_error"}}`}
	}
	return s.script(p.Prompt, nth)
}

// hold waits for a channel; false when nobody waits for the reply any more.
func (s *Server) hold(c <-chan struct{}, r *http.Request) bool {
	if c == nil {
		return true
	}
	select {
	case <-c:
		return true
	case <-r.Context().Done():
	case <-s.done:
	}
	return false
}

// hangUp breaks the connection.
func hangUp(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func (s *Server) reply(w http.ResponseWriter, r *http.Request, post *Post, plan Plan) {
	text := Answer(post.Prompt)
	if plan.Content != nil {
		text = *plan.Content
	}
	finish := plan.Finish
	if finish == "" {
		finish = "stop"
	}
	if plan.JSON || !post.Stream {
		s.object(w, plan, post, text, finish)
		return
	}
	kind := "text/event-stream; charset=utf-8"
	if plan.Type != "" {
		kind = plan.Type
	}
	w.Header().Set("Content-Type", kind)
	out := &writer{w: w, plan: plan, model: post.Model}
	out.delta(map[string]any{"role": "assistant"}, "")
	if plan.Error != "" && plan.Early {
		out.event(`{"error":` + plan.Error + `}`)
		return
	}
	if plan.Reason != "" {
		out.delta(map[string]any{"reasoning_content": plan.Reason, "content": nil}, "")
	}
	half := len(text) / 2
	for half > 0 && text[half] != '\n' {
		half--
	}
	switch {
	case plan.Null:
		out.delta(map[string]any{"content": nil}, "")
	case plan.Refusal != "":
		out.delta(map[string]any{"refusal": plan.Refusal}, "")
	default:
		out.delta(map[string]any{"content": text[:half]}, "")
		if !s.hold(plan.Pause, r) {
			return
		}
		switch {
		case plan.Cut:
			panic(http.ErrAbortHandler)
		case plan.Stop:
			return
		case plan.Error != "":
			out.event(`{"error":` + plan.Error + `}`)
			return
		}
		out.delta(map[string]any{"content": text[half:]}, "")
	}
	out.delta(map[string]any{}, finish)
	if plan.More != "" {
		out.delta(map[string]any{"content": plan.More}, "")
	}
	if !plan.NoDone {
		out.event("[DONE]")
	}
	s.mu.Lock()
	post.Answered = true
	s.mu.Unlock()
	if plan.Linger {
		s.hold(make(chan struct{}), r)
	}
}

// object replies without a stream.
func (s *Server) object(w http.ResponseWriter, plan Plan, post *Post, text, finish string) {
	w.Header().Set("Content-Type", "application/json")
	if plan.Type != "" {
		w.Header().Set("Content-Type", plan.Type)
	}
	if plan.Error != "" {
		_, _ = fmt.Fprintf(w, `{"error":%s}`, plan.Error)
		return
	}
	message := map[string]any{"role": "assistant", "content": text}
	if plan.Null {
		message["content"] = nil
	}
	b, _ := json.Marshal(map[string]any{"id": "c-1", "object": "chat.completion", "model": post.Model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}})
	if plan.Cut {
		_, _ = w.Write(b[:len(b)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(b)
	s.mu.Lock()
	post.Answered = true
	s.mu.Unlock()
}

// writer writes one stream.
type writer struct {
	w     http.ResponseWriter
	plan  Plan
	model string
}

func (o *writer) delta(delta map[string]any, finish string) {
	var reason any
	if finish != "" {
		reason = finish
	}
	b, _ := json.Marshal(map[string]any{"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": o.model,
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}}})
	o.event(strings.TrimSuffix(string(b), "}") + o.plan.Extra + "}")
}

func (o *writer) event(data string) {
	if o.plan.Comments {
		_, _ = io.WriteString(o.w, ": keep-alive\n\n")
	}
	_, _ = fmt.Fprintf(o.w, "data: %s\n\n", data)
	_ = http.NewResponseController(o.w).Flush()
}

// Twice lists the prompts that arrived more than once.
func (s *Server) Twice() (list []string) {
	seen := map[string]int{}
	for _, p := range s.Posts() {
		if seen[p.Prompt]++; seen[p.Prompt] == 2 {
			list = append(list, p.Prompt)
		}
	}
	slices.Sort(list)
	return list
}
