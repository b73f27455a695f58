package qwen

import (
	"encoding/json"
	"net/url"
	"strings"
)

// goOnBody is what a request to go on may say of where and what.
type goOnBody struct {
	Chat        string          `json:"chat_id"`
	ChatAlt     string          `json:"chatId"`
	Parent      *string         `json:"parent_id"`
	ParentAlt   *string         `json:"parentId"`
	Response    *string         `json:"response_id"`
	ResponseAlt *string         `json:"responseId"`
	Mode        string          `json:"chat_mode"`
	Action      string          `json:"user_action"`
	Messages    []goOnMessage   `json:"messages"`
	Files       json.RawMessage `json:"files"`
}

type goOnMessage struct {
	Content   json.RawMessage `json:"content"`
	Parent    *string         `json:"parent_id"`
	ParentAlt *string         `json:"parentId"`
	Files     json.RawMessage `json:"files"`
	Action    string          `json:"user_action"`
}

// goOnKeys are the names of what verifyGoOn looks at.
var goOnKeys = []string{"chat_id", "chatId", "parent_id", "parentId", "response_id", "responseId", "chat_mode", "user_action",
	"messages", "content", "files"}

// verify is nil when the held request asks the site to go on with this very
// answer and says nothing else: its chat's id, the answer's id as the parent or
// as the response, and no text of any kind. What the page really sends is not
// publicly known, so whatever else it is, it is refused.
func (k cut) verify(method, rawURL string, body []byte) error {
	const op = "check the request"
	u, err := url.Parse(rawURL)
	if err != nil {
		return fail(KindSiteChanged, op, "its address: %w", err)
	}
	q := u.Query()
	if ids := q["chat_id"]; len(ids) != 1 || !strings.EqualFold(ids[0], k.chat) {
		return fail(KindSiteChanged, op, "its address does not name the chat %s", k.chat)
	}
	if ids := q["response_id"]; len(ids) > 1 || len(ids) == 1 && ids[0] != k.answer {
		return fail(KindSiteChanged, op, "its address names another answer")
	}
	if newNeedle(k.prompt).in(rawURL, body) {
		return fail(KindSiteChanged, op, "it carries the prompt again")
	}
	if method == "GET" {
		if len(body) > 0 || len(q["response_id"]) != 1 {
			return fail(KindSiteChanged, op, "it does not say which answer goes on")
		}
		return nil
	}
	var b goOnBody
	if err := json.Unmarshal(body, &b); err != nil {
		return fail(KindSiteChanged, op, "its body is not understood: %w", err)
	}
	if key := misspelt(body, goOnKeys); key != "" {
		return fail(KindSiteChanged, op, "it says %q, which another reader may take differently", key)
	}
	if err := k.verifyPlace(b, len(q["response_id"]) == 1); err != nil {
		return err
	}
	return b.saysNothing()
}

// verifyPlace demands the chat and the answer wherever the body names one.
func (k cut) verifyPlace(b goOnBody, named bool) error {
	const op = "check the request"
	for _, id := range []string{b.Chat, b.ChatAlt} {
		if id != "" && !strings.EqualFold(id, k.chat) {
			return fail(KindSiteChanged, op, "it names another chat, %q", oneLine(id, 60))
		}
	}
	if b.Mode != "" && b.Mode != "normal" {
		return fail(KindSiteChanged, op, "the chat would be of the mode %q", oneLine(b.Mode, 40))
	}
	places := []*string{b.Parent, b.ParentAlt, b.Response, b.ResponseAlt}
	for _, m := range b.Messages {
		places = append(places, m.Parent, m.ParentAlt)
	}
	for _, id := range places {
		switch {
		case id == nil || *id == "":
		case *id != k.answer:
			return fail(KindSiteChanged, op, "it speaks of the message %q instead of %q", oneLine(*id, 60), k.answer)
		default:
			named = true
		}
	}
	if !named {
		return fail(KindSiteChanged, op, "it does not say which answer goes on")
	}
	return nil
}

// saysNothing demands that no text, file or other action comes with the request.
func (b goOnBody) saysNothing() error {
	const op = "check the request"
	action := func(said string) bool {
		low := strings.ToLower(said)
		return said == "" || strings.HasPrefix(low, "continue") || strings.HasPrefix(low, "resume")
	}
	if !action(b.Action) {
		return fail(KindSiteChanged, op, "it asks for %q", oneLine(b.Action, 40))
	}
	if len(b.Messages) > 1 || says(b.Files) {
		return fail(KindSiteChanged, op, "it carries %d messages, or files", len(b.Messages))
	}
	for _, m := range b.Messages {
		if says(m.Content) || says(m.Files) || !action(m.Action) {
			return fail(KindSiteChanged, op, "it carries a message of its own")
		}
	}
	return nil
}

// isGoOn reports whether a request is the one that goes on with an answer; only
// while one is expected. The lock is held.
func (g *gate) isGoOn(p paused) bool {
	return g.cut != nil && g.phase == gateArmed && p.Request.Method == "GET" && g.isAt(p, g.path.Completions) &&
		strings.Contains(p.Request.URL, "response_id=")
}

// expectGoOn arms the gate for one request that goes on with an answer.
func (g *gate) expectGoOn(k cut) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cut, g.phase = &k, gateArmed
}

// goesElsewhere reports whether a request speaks, while one is expected to go on
// with an answer, of that answer or its chat in another way. The lock is held.
func (g *gate) goesElsewhere(p paused, body []byte) bool {
	return g.cut != nil && g.phase == gateArmed && p.Request.Method != "GET" && g.site.hosts(p.Request.URL) && g.cut.in(p.Request.URL, body)
}
