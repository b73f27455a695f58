package qwen

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// sendBody is what a request must be for the gate to understand it as our
// send. Everything in it that could mean another chat, another place in the
// chat, or another text is looked at.
type sendBody struct {
	Chat      string        `json:"chat_id"`
	ChatAlt   string        `json:"chatId"`
	Parent    place         `json:"parent_id"`
	ParentAlt place         `json:"parentId"`
	Mode      string        `json:"chat_mode"`
	Model     string        `json:"model"`
	Models    []string      `json:"models"`
	Messages  []sendMessage `json:"messages"`
}

type sendMessage struct {
	Role      string            `json:"role"`
	Content   json.RawMessage   `json:"content"`
	Parent    place             `json:"parentId"`
	ParentAlt place             `json:"parent_id"`
	Files     []json.RawMessage `json:"files"`
	Model     string            `json:"model"`
	Models    []string          `json:"models"`
	Type      string            `json:"chat_type"`
	SubType   string            `json:"sub_chat_type"`
	Features  sendFeatures      `json:"feature_config"`
}

// sendFeatures is what the page chose beside the model.
type sendFeatures struct {
	Thinking     *bool  `json:"thinking_enabled"`
	AutoThinking *bool  `json:"auto_thinking"`
	Mode         string `json:"thinking_mode"` // Auto, Thinking or Fast
	Search       *bool  `json:"auto_search"`
}

// place is the id of the message to follow. One that is null is named: it says
// that ours is the first of a chat, or of a new branch of it.
type place struct {
	named bool
	id    string
}

// UnmarshalJSON reads a text or null.
func (p *place) UnmarshalJSON(b []byte) error {
	p.named = true
	return json.Unmarshal(b, &p.id)
}

// wanted is what the held request must be.
type wanted struct {
	prompt string
	chats  map[string]bool // ids that this page's own calls were given
	after  string          // the message to follow; "" in a new chat
	model  string          // "" accepts the page's choice
	choice choice
	files  []enclosure // what goes with it, in order
}

// verify returns the chat's id when the held request is exactly the send that
// was wanted, and what is wrong with it otherwise.
func (w wanted) verify(rawURL string, body []byte) (string, error) {
	const op = "check the request"
	var b sendBody
	if err := json.Unmarshal(body, &b); err != nil {
		return "", fail(KindSiteChanged, op, "its body is not understood: %w", err)
	}
	if key := misspelt(body, bodyKeys); key != "" {
		return "", fail(KindSiteChanged, op, "it says %q, which another reader may take differently", key)
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
	if b.Mode != "" && b.Mode != "normal" {
		return "", fail(KindSiteChanged, op, "the chat would be of the unknown mode %q", oneLine(b.Mode, 40))
	}
	if err := w.verifyModel(b); err != nil {
		return "", err
	}
	if err := w.choice.verify(b); err != nil {
		return "", err
	}
	if err := w.verifyPlace(b); err != nil {
		return "", err
	}
	return w.verifyChat(rawURL, b)
}

// bodyKeys are the names of what verify looks at.
var bodyKeys = []string{"chat_id", "chatId", "parent_id", "parentId", "chat_mode", "model", "models", "messages",
	"role", "content", "files", "chat_type", "sub_chat_type", "feature_config",
	"thinking_enabled", "auto_thinking", "thinking_mode", "auto_search"}

// misspelt returns a key that differs from one of ours by case only: Go reads
// it as ours, the site may not.
func misspelt(body []byte, ours []string) string {
	var whole map[string]json.RawMessage
	_ = json.Unmarshal(body, &whole)
	var list []map[string]json.RawMessage
	_ = json.Unmarshal(whole["messages"], &list)
	for _, message := range list {
		var features map[string]json.RawMessage
		_ = json.Unmarshal(message["feature_config"], &features)
		list = append(list, features)
	}
	for _, object := range append(list, whole) {
		for key := range object {
			folds := func(one string) bool { return strings.EqualFold(key, one) }
			if slices.ContainsFunc(ours, folds) && !slices.Contains(ours, key) {
				return key
			}
		}
	}
	return ""
}

// verifyModel demands the wanted model wherever the body names one.
func (w wanted) verifyModel(b sendBody) error {
	if w.model == "" {
		return nil
	}
	named := []string{b.Model}
	named = append(named, b.Models...)
	named = append(named, b.Messages[0].Models...)
	if one := b.Messages[0].Model; one != "" {
		named = append(named, one)
	}
	for _, model := range named {
		if model != w.model {
			return fail(KindSiteChanged, "check the request", "the page would ask the model %q instead of %q", oneLine(model, 60), w.model)
		}
	}
	return nil
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
	return w.verifyFiles(m.Files)
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
	for _, parent := range []place{b.Parent, b.ParentAlt, m.Parent, m.ParentAlt} {
		if parent.named && parent.id != w.after {
			return fail(KindSiteChanged, "check the request", "it would follow the message %q instead of %q", parent.id, w.after)
		}
	}
	if w.after != "" && !b.Parent.named && !b.ParentAlt.named {
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
	ids := u.Query()["chat_id"]
	if len(ids) != 1 {
		return "", fail(KindSiteChanged, op, "its address names %d chats", len(ids))
	}
	id := ids[0]
	if !uuidPattern.MatchString(id) {
		return "", fail(KindSiteChanged, op, "its chat id %q is none", oneLine(id, 60))
	}
	for _, other := range []string{b.Chat, b.ChatAlt} {
		if other != "" && !strings.EqualFold(other, id) {
			return "", fail(KindSiteChanged, op, "it names two chats, %s and %s", id, other)
		}
	}
	if !w.chats[strings.ToLower(id)] {
		return "", fail(KindSiteChanged, op, "the chat %s is not the one that was just made", id)
	}
	return strings.ToLower(id), nil
}
