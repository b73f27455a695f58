package qwentest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// goOn is what the Continue button asks for: the rest of an answer that was cut
// at its length limit. Nobody knows what the site's own page sends then; the two
// ways that a message can go on are both here.
func (c *call) goOn(chatID, responseID, parent string) {
	s := c.site
	text := s.promptsOf(c.r)
	s.mu.Lock()
	s.ledger.goneOn = append(s.ledger.goneOn, text)
	s.mu.Unlock()
	if c.r.Method == http.MethodGet {
		c.meets(append(c.faults, s.wished(OnSend, text, c.reused())...))
	}
	if c.lost() && c.strike() {
		return
	}
	s.mu.Lock()
	t, refusal := c.extend(chatID, responseID, parent)
	s.mu.Unlock()
	if refusal != nil {
		refusal()
		return
	}
	if !c.strike() {
		c.stream(t)
	}
}

// extend lets a cut answer go on: by a message under it where the request names it
// as the parent alone, else by a part of its own. s.mu is held.
func (c *call) extend(chatID, responseID, parent string) (turn, func()) {
	s := c.site
	owner, refusal := c.owner()
	if refusal != nil {
		return turn{}, refusal
	}
	ch := s.live(chatID)
	if ch == nil || ch.owner != owner || chatID != c.r.URL.Query().Get("chat_id") {
		return turn{}, func() { c.notFound("chat " + chatID) }
	}
	id := responseID
	if id == "" {
		id = parent
	}
	m := ch.find(id)
	switch {
	case m == nil || m.response == nil:
		return turn{}, func() { c.notFound("response " + id) }
	case ch.running(s.now()) != nil:
		return turn{}, func() { c.refuse(400, "Bad_Request", "The chat is in progress!") }
	case len(m.response.plan.rest) == 0:
		return turn{}, c.ended
	}
	now := s.now()
	b := planner{pace: c.options.ChunkDelay, at: c.options.FirstByte}
	if f, ok := c.faults.get(Pace); ok {
		b.pace = f.Delay
	}
	for _, f := range m.response.plan.rest {
		b.add(f)
	}
	if f, ok := c.faults.get(Continue); ok {
		b.end(f.n(10))
	}
	if responseID == "" {
		child := &message{id: uuid.NewString(), role: "assistant", parent: m.id, model: m.model, turn: uuid.NewString(), at: now}
		child.response = &response{id: child.id, chat: ch.id, plan: b.plan, start: now, changed: make(chan struct{})}
		m.children = append(m.children, child.id)
		done := *m.response
		done.plan.rest = nil
		m.response = &done
		ch.messages = append(ch.messages, child)
		return turn{chat: ch, user: m, answers: []*message{child}}, nil
	}
	b.plan.frames[0].apart = true
	old := m.response
	since := now.Sub(old.start)
	whole := plan{frames: slices.Clone(old.plan.frames), rest: b.plan.rest}
	for _, f := range b.plan.frames {
		f.at += since
		whole.frames = append(whole.frames, f)
	}
	m.response = &response{id: old.id, chat: old.chat, index: old.index, plan: whole, start: old.start, changed: make(chan struct{})}
	return turn{chat: ch, user: ch.find(m.parent), answers: []*message{m}, from: len(old.plan.frames)}, nil
}

// GoneOn counts the requests to go on with an answer that reached the site, of
// chats in which a prompt was sent.
func (s *Site) GoneOn(prompt string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range s.ledger.goneOn {
		if strings.Contains(text, prompt) {
			n++
		}
	}
	return n
}
