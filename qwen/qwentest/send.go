package qwentest

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// sendBody is what the completions endpoint reads.
type sendBody struct {
	ChatID      string  `json:"chat_id"`
	ParentID    *string `json:"parent_id"`
	ParentCamel *string `json:"parentId"`
	Mode        string  `json:"chat_mode"`
	Model       string  `json:"model"`
	Messages    []struct {
		FID           string `json:"fid"`
		Role          string `json:"role"`
		Content       string `json:"content"`
		FeatureConfig struct {
			Thinking *bool `json:"thinking_enabled"`
		} `json:"feature_config"`
	} `json:"messages"`
}

func (b *sendBody) parent() string {
	for _, p := range []*string{b.ParentID, b.ParentCamel} {
		if p != nil && *p != "" {
			return *p
		}
	}
	return ""
}

// send is POST /api/v2/chat/completions.
func (c *call) send() {
	s := c.site
	if early := s.take(OnSend, "", c.reused(), true); len(early) > 0 {
		c.meets(early)
		c.cutEarly(early[0])
	}
	raw, err := io.ReadAll(c.r.Body)
	texts := s.notePost(c.r, raw, err != nil)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	text := strings.Join(texts, "\n")
	c.meets(append(s.take(OnSend, text, c.reused(), false), s.wished(OnSend, text, c.reused())...))
	if c.refusesHeaders() {
		return
	}
	var body sendBody
	if err := json.Unmarshal(raw, &body); err != nil {
		c.refuse(http.StatusBadRequest, "RequestValidationError", []string{"Invalid JSON: " + err.Error()})
		return
	}
	if c.lost() && c.strike() {
		return
	}
	turn, ok := c.accept(&body)
	if !ok || c.strike() {
		return
	}
	c.stream(turn)
}

// lost tells whether a fault takes the place of acceptance.
func (c *call) lost() bool {
	for _, f := range c.faults {
		switch f.Kind {
		case LoseRST, LoseFIN:
			return true
		case Hang, Status, Quota, TokenQuota, Challenge, ChallengeHTML, Busy, ServerBusy, Unauthorized, Internal, Garbage, NotFound:
			if !f.Take {
				return true
			}
		}
	}
	return false
}

// cutEarly ends the connection before the whole body is read.
func (c *call) cutEarly(f Fault) {
	reset := f.Kind == UnreadRST || f.Kind == PartialRST
	if f.Kind == PartialRST || f.Kind == PartialFIN {
		part := make([]byte, f.n(int(max(c.r.ContentLength/2, 1))))
		n, _ := io.ReadFull(c.r.Body, part)
		c.site.notePost(c.r, part[:n], true)
	} else {
		c.site.mu.Lock()
		c.site.ledger.unread++
		c.site.mu.Unlock()
	}
	cut(c.r, reset, true)
}

// refusesHeaders makes the checks of the site's edge, each with the reply that
// was measured for it.
func (c *call) refusesHeaders() bool {
	h := c.r.Header
	switch {
	case !strings.HasPrefix(h.Get("Content-Type"), "application/json"):
		c.refuse(http.StatusUnprocessableEntity, "RequestValidationError", []string{"Input should be a valid dictionary"})
	case h.Get("Version") == "":
		c.refuse(http.StatusBadRequest, "Bad_Request", "Internal error...")
	case h.Get("Source") == "":
		c.captcha()
	case h.Get("X-Request-Id") == "":
		c.html(http.StatusOK, wafPage(-1))
	case c.r.URL.Query().Get("chat_id") == "":
		c.refuse(http.StatusUnprocessableEntity, "RequestValidationError", []string{"Field 'query -> chat_id': Field required"})
	case c.options.StrictCookies && !hasCookies(c.r, "cna", "acw_tc", "x-ap"):
		c.refuse(http.StatusBadRequest, "Bad_Request", "Internal error...")
	default:
		return c.options.Unsigned == "" && c.unsigned()
	}
	return true
}

func hasCookies(r *http.Request, names ...string) bool {
	for _, n := range names {
		if _, err := r.Cookie(n); err != nil {
			return false
		}
	}
	return true
}

// unsigned refuses a request that the page's anti-bot script did not sign.
func (c *call) unsigned() bool {
	ua, token := c.r.Header.Get("Bx-Ua"), c.r.Header.Get("Bx-Umidtoken")
	if c.options.Unsigned != "all" && (ua == "" || token == "" || strings.HasPrefix(token, "placeholder")) {
		c.captcha()
		return true
	}
	return false
}

// turn is a message that was accepted.
type turn struct {
	chat    *chat
	user    *message
	answers []*message
}

// accept checks a message and puts it into its chat.
func (c *call) accept(body *sendBody) (turn, bool) {
	s := c.site
	s.mu.Lock()
	refusal := c.check(body)
	if refusal != nil {
		s.mu.Unlock()
		refusal()
		return turn{}, false
	}
	defer s.mu.Unlock()
	now := s.now()
	ch, m := s.chats[body.ChatID], body.Messages[0]
	id := ""
	if c.options.KeepFID {
		id = m.FID
	}
	plans := []plan{planFor(m.Content, c.faults, c.options)}
	if c.faults.has(Dual) {
		second := planFor(m.Content, nil, c.options)
		second.unlisted = c.options.DualAsList
		plans = append(plans, second)
	}
	user, answers := ch.add(now, id, body.parent(), m.Content, body.Model, plans...)
	if f, ok := c.faults.get(Late); ok {
		for _, m := range append([]*message{user}, answers...) {
			m.visible = now.Add(f.Delay)
		}
	}
	if f, ok := c.faults.get(Gone); ok {
		ch.gone = now.Add(f.Delay)
	}
	if ch.title == "New Chat" {
		ch.title = titleOf(m.Content)
	}
	if s.ledger.accepted == nil {
		s.ledger.accepted = map[string]int{}
	}
	s.ledger.accepted[m.Content]++
	return turn{ch, user, answers}, true
}

func titleOf(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(first); len(runes) > 40 {
		first = string(runes[:40])
	}
	return first
}

// check returns the refusal a message meets, nil when it is accepted. s.mu is
// held, the refusal is to be called without it.
func (c *call) check(b *sendBody) func() {
	bad := func(actual int, code string, details any) func() { return func() { c.refuse(actual, code, details) } }
	s := c.site
	owner, refusal := c.owner()
	if refusal != nil {
		return refusal
	}
	if len(b.Messages) > 1 {
		return bad(400, "Bad_Request", "Invalid input too many messages.")
	}
	if len(b.Messages) == 0 {
		return bad(422, "RequestValidationError", []string{"Field 'body -> messages': Field required"})
	}
	m := b.Messages[0]
	if n := c.options.MaxPrompt; n > 0 && utf8.RuneCountInString(m.Content) > n {
		return c.captcha
	}
	if b.ChatID != c.r.URL.Query().Get("chat_id") || m.Role != "user" || m.Content == "" {
		return bad(422, "RequestValidationError", []string{"Field 'body -> messages -> 0': Value error"})
	}
	ch := s.live(b.ChatID)
	if ch == nil || ch.owner != owner {
		return func() { c.notFound("chat " + b.ChatID) }
	}
	if !slices.Contains(c.options.Models, b.Model) {
		return bad(404, "Not_Found", "Model not found")
	}
	if t := m.FeatureConfig.Thinking; t != nil && !*t && strings.HasPrefix(b.Model, "qwen3.8-max") {
		return bad(400, "invalid_input", "thinking_enabled must be true for this model")
	}
	if p := b.parent(); p != "" && ch.find(p) == nil {
		return func() { c.notFound("message " + p) }
	}
	if ch.running(s.now()) != nil {
		return bad(400, "Bad_Request", "The chat is in progress!")
	}
	return nil
}

// live finds a chat that exists now; s.mu is held.
func (s *Site) live(id string) *chat {
	ch := s.chats[id]
	if ch == nil || !ch.gone.IsZero() && !s.now().Before(ch.gone) {
		return nil
	}
	return ch
}

// owner tells whose chats a call may see: the account's, else the guest's. The
// refusal is for a token that is no longer good. s.mu is held.
func (c *call) owner() (string, func()) {
	a, offered := c.site.who(c.r)
	if a != nil {
		return a.id, nil
	}
	if offered {
		return "", c.captcha // the site has no honest 401 here
	}
	if guest, err := c.r.Cookie("cnaui"); err == nil {
		return "guest:" + guest.Value, nil
	}
	return "", c.unauthorized
}
