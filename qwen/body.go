package qwen

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"
)

// sendBody is what a request must be for the gate to understand it as our
// send. Everything in it that could mean another chat, another place in the
// chat, or another text is looked at.
type sendBody struct {
	Chat      string        `json:"chat_id"`
	ChatAlt   string        `json:"chatId"`
	Parent    *string       `json:"parent_id"`
	ParentAlt *string       `json:"parentId"`
	Mode      string        `json:"chat_mode"`
	Model     string        `json:"model"`
	Messages  []sendMessage `json:"messages"`
}

type sendMessage struct {
	Role      string            `json:"role"`
	Content   json.RawMessage   `json:"content"`
	Parent    *string           `json:"parentId"`
	ParentAlt *string           `json:"parent_id"`
	Files     []json.RawMessage `json:"files"`
}

// wanted is what the held request must be.
type wanted struct {
	prompt string
	chats  map[string]bool // ids that this page's own calls were given
	after  string          // the message to follow; "" in a new chat
	model  string          // "" accepts the page's choice
}

// verify returns the chat's id when the held request is exactly the send that
// was wanted, and what is wrong with it otherwise.
func (w wanted) verify(rawURL string, body []byte) (string, error) {
	const op = "check the request"
	var b sendBody
	if err := json.Unmarshal(body, &b); err != nil {
		return "", fail(KindSiteChanged, op, "its body is not understood: %w", err)
	}
	if len(b.Messages) != 1 || b.Messages[0].Role != "user" {
		return "", fail(KindSiteChanged, op, "it carries %d messages instead of one of the user", len(b.Messages))
	}
	if err := w.verifyText(b.Messages[0]); err != nil {
		return "", err
	}
	if b.Mode == "guest" {
		return "", fail(KindLogin, op, "the page is in guest mode")
	}
	if w.model != "" && b.Model != w.model {
		return "", fail(KindSiteChanged, op, "the page would ask the model %q instead of %q", b.Model, w.model)
	}
	if err := w.verifyPlace(b); err != nil {
		return "", err
	}
	return w.verifyChat(rawURL, b)
}

// verifyText demands the prompt, byte for byte, and nothing beside it.
func (w wanted) verifyText(m sendMessage) error {
	var text string
	if err := json.Unmarshal(m.Content, &text); err != nil {
		return fail(KindSiteChanged, "check the request", "its text is not understood: %w", err)
	}
	if text != w.prompt {
		return altered(w.prompt, text)
	}
	if len(m.Files) > 0 {
		return fail(KindAltered, "check the request", "the page attaches %d files that nobody asked for", len(m.Files))
	}
	return nil
}

// altered says where the page's text differs from the prompt.
func altered(want, got string) error {
	at := 0
	for i, r := range want {
		other, _ := utf8.DecodeRuneInString(got[min(i, len(got)):])
		if i >= len(got) || other != r {
			break
		}
		at++
	}
	return fail(KindAltered, "check the request",
		"the page changes this text; first difference at character %d (%d characters became %d)",
		at+1, utf8.RuneCountInString(want), utf8.RuneCountInString(got))
}

// verifyPlace demands the wanted parent wherever the body names one.
func (w wanted) verifyPlace(b sendBody) error {
	m := b.Messages[0]
	for _, parent := range []*string{b.Parent, b.ParentAlt, m.Parent, m.ParentAlt} {
		if parent != nil && *parent != w.after {
			return fail(KindSiteChanged, "check the request", "it would follow the message %q instead of %q", *parent, w.after)
		}
	}
	if w.after != "" && b.Parent == nil && b.ParentAlt == nil {
		return fail(KindSiteChanged, "check the request", "it does not say which message it follows")
	}
	return nil
}

// verifyChat demands one chat id everywhere, one that this page was given.
func (w wanted) verifyChat(rawURL string, b sendBody) (string, error) {
	const op = "check the request"
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", fail(KindSiteChanged, op, "its address: %w", err)
	}
	id := u.Query().Get("chat_id")
	if !uuidPattern.MatchString(id) {
		return "", fail(KindSiteChanged, op, "its chat id %q is none", id)
	}
	for _, other := range []string{b.Chat, b.ChatAlt} {
		if other != "" && !strings.EqualFold(other, id) {
			return "", fail(KindSiteChanged, op, "it names two chats, %s and %s", id, other)
		}
	}
	if !w.chats[strings.ToLower(id)] {
		return "", fail(KindSiteChanged, op, "the chat %s is not the one that was just made", id)
	}
	return id, nil
}

// needle finds the prompt's text in requests that are not the send.
type needle struct {
	whole string
	forms [][]byte // a start of the text as requests may spell it
}

// A text shorter than this can stand in a request by chance; then only a whole
// JSON value counts. A longer one is looked for by its start.
const (
	needleMin = 16
	needleMax = 200
)

func newNeedle(prompt string) needle {
	n := needle{whole: prompt}
	start := prompt
	for len(start) > needleMax || !utf8.ValidString(start) {
		start = start[:min(len(start)-1, needleMax)]
	}
	if len(start) < needleMin {
		return n
	}
	var escaped bytes.Buffer
	enc := json.NewEncoder(&escaped)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(start) // a string can't fail
	html, _ := json.Marshal(start)
	inner := func(quoted string) string { return quoted[1 : len(quoted)-1] }
	for _, form := range []string{
		start,
		inner(strings.TrimSpace(escaped.String())),
		inner(string(html)),
		url.QueryEscape(start),
		url.PathEscape(start),
	} {
		n.forms = append(n.forms, []byte(form))
	}
	return n
}

// in reports whether a request's address or body carries the text.
func (n needle) in(rawURL string, body []byte) bool {
	for _, form := range n.forms {
		if bytes.Contains(body, form) || strings.Contains(rawURL, string(form)) {
			return true
		}
	}
	var value any
	return len(body) > 0 && json.Unmarshal(body, &value) == nil && n.isValue(value)
}

// isValue reports whether any string in a JSON value is the whole text or, for
// a text that is long enough, contains its start.
func (n needle) isValue(value any) bool {
	switch v := value.(type) {
	case string:
		return v == n.whole || (len(n.forms) > 0 && strings.Contains(v, string(n.forms[0])))
	case []any:
		for _, one := range v {
			if n.isValue(one) {
				return true
			}
		}
	case map[string]any:
		for _, one := range v {
			if n.isValue(one) {
				return true
			}
		}
	}
	return false
}
