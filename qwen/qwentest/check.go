package qwentest

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

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
