package qwentest

import (
	"encoding/json"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// endpoint runs a handler of the API after the faults that are put on it.
func (c *call) endpoint(on string, handle func()) {
	if c.r.Method == http.MethodPost || c.r.Method == http.MethodPut {
		raw, err := io.ReadAll(c.r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		c.site.noteElsewhere(c.r.URL.Path, raw)
		c.r.Body = io.NopCloser(strings.NewReader(string(raw)))
	}
	text := c.site.promptsOf(c.r)
	c.meets(append(c.site.take(on, text, c.reused(), false), c.site.wished(on, text, c.reused())...))
	if !c.strike() {
		handle()
	}
}

// promptsOf returns the prompts of the chat that a request is about.
func (s *Site) promptsOf(r *http.Request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.URL.Query().Get("chat_id")
	if id == "" {
		id = path.Base(r.URL.Path)
	}
	ch := s.chats[id]
	if ch == nil {
		return ""
	}
	var texts []string
	for _, m := range ch.messages {
		if m.role == "user" {
			texts = append(texts, m.text)
		}
	}
	return strings.Join(texts, "\n")
}

// newChat is POST /api/v2/chats/new.
func (c *call) newChat() {
	var body struct {
		Models []string `json:"models"`
		Kind   string   `json:"chat_type"`
		Mode   string   `json:"chat_mode"`
	}
	if err := json.NewDecoder(c.r.Body).Decode(&body); err != nil {
		c.refuse(http.StatusUnprocessableEntity, "RequestValidationError", []string{"Input should be a valid dictionary"})
		return
	}
	if c.unsigned() {
		return
	}
	c.site.mu.Lock()
	owner, refusal := c.owner()
	var id string
	switch {
	case refusal != nil:
	case len(body.Models) == 0 || !slices.Contains(c.options.Models, body.Models[0]):
		refusal = func() { c.refuse(http.StatusNotFound, "Not_Found", "Model not found") }
	default:
		now := c.site.now()
		id = uuid.NewString()
		c.site.chats[id] = &chat{id: id, owner: owner, title: "New Chat", model: body.Models[0], mode: body.Mode, kind: body.Kind, created: now, updated: now}
	}
	c.site.mu.Unlock()
	if refusal != nil {
		refusal()
		return
	}
	c.ok(obj{"id": id})
}

// withChat runs do, under s.mu, on the chat that the path names, when the
// caller may see it. do returns the reply.
func (c *call) withChat(id string, do func(ch *chat) func()) {
	c.site.mu.Lock()
	owner, reply := c.owner()
	if reply == nil {
		if ch := c.site.live(id); ch != nil && ch.owner == owner {
			reply = do(ch)
		} else {
			reply = func() { c.notFound("chat " + id) }
		}
	}
	c.site.mu.Unlock()
	reply()
}

// getChat is GET /api/v2/chats/{id}.
func (c *call) getChat() {
	if c.unsigned() {
		return
	}
	c.withChat(strings.TrimPrefix(c.r.URL.Path, "/api/v2/chats/"), func(ch *chat) func() {
		now := c.site.now()
		if c.faults.has(WrongChat) {
			ch = c.site.decoy(ch)
		}
		data := ch.view(now, c.options)
		return func() { c.ok(data) }
	})
}

// decoy is another chat of the same account with a finished turn.
func (s *Site) decoy(ch *chat) *chat {
	past := s.now().Add(-s.options.TokenLife)
	other := &chat{id: uuid.NewString(), owner: ch.owner, title: "Another chat", model: ch.model, kind: ch.kind, created: past, updated: past}
	other.add(past, "", "", decoyPrompt, ch.model, planFor(decoyPrompt, nil, s.options))
	return other
}

const decoyPrompt = "What was asked in another chat?"

// list is GET /api/v2/chats/?page=N, newest first.
func (c *call) list() {
	if c.unsigned() {
		return
	}
	page, _ := strconv.Atoi(c.r.URL.Query().Get("page"))
	c.site.mu.Lock()
	a, offered := c.site.who(c.r)
	rows := []obj{}
	for _, ch := range c.site.owned(a) {
		if c.site.now().Sub(ch.created) < c.options.ListLag {
			continue
		}
		rows = append(rows, obj{"id": ch.id, "title": ch.title, "updated_at": unix(ch.updated), "created_at": unix(ch.created), "chat_type": ch.kind})
	}
	c.site.mu.Unlock()
	switch {
	case a == nil && offered:
		c.captcha()
	case a == nil:
		c.unauthorized()
	default:
		from := min(len(rows), max(page-1, 0)*c.options.PageSize)
		c.ok(rows[from:min(len(rows), from+c.options.PageSize)])
	}
}

// owned returns an account's chats, newest first; s.mu is held.
func (s *Site) owned(a *account) []*chat {
	var out []*chat
	for id := range s.chats {
		if ch := s.live(id); ch != nil && a != nil && ch.owner == a.id {
			out = append(out, ch)
		}
	}
	slices.SortFunc(out, func(x, y *chat) int {
		if n := y.updated.Compare(x.updated); n != 0 {
			return n
		}
		return strings.Compare(x.id, y.id)
	})
	return out
}

// deleteChat is DELETE /api/v2/chats/{id}.
func (c *call) deleteChat() {
	c.withChat(strings.TrimPrefix(c.r.URL.Path, "/api/v2/chats/"), func(ch *chat) func() {
		delete(c.site.chats, ch.id)
		return func() { c.ok(obj{"status": true}) }
	})
}

// deleteAll is DELETE without an id: it wipes the account, as on the site.
func (c *call) deleteAll() {
	s := c.site
	s.mu.Lock()
	a, _ := s.who(c.r)
	for _, ch := range s.owned(a) {
		delete(s.chats, ch.id)
	}
	s.ledger.violations = append(s.ledger.violations, "DELETE "+c.r.URL.Path+" without an id: all chats are gone")
	s.mu.Unlock()
	c.ok(obj{"status": true})
}

// stop is POST /api/v2/chat/completions/stop.
func (c *call) stop() {
	var body struct {
		ChatID string `json:"chat_id"`
	}
	_ = json.NewDecoder(c.r.Body).Decode(&body) // the query has the id as well
	if body.ChatID == "" {
		body.ChatID = c.r.URL.Query().Get("chat_id")
	}
	c.withChat(body.ChatID, func(ch *chat) func() {
		now, stopped := c.site.now(), false
		for _, m := range ch.messages {
			stopped = m.response != nil && m.response.stop(now) || stopped
		}
		return func() { c.ok(obj{"status": stopped}) }
	})
}
