package qwen

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// chat is the part of GET /api/v2/chats/{id} that says who said what. The
// history holds every message; the flat list is the same in order.
type chat struct {
	ID      string `json:"id"`
	User    string `json:"user_id"`
	Current string `json:"currentId"`
	Chat    *struct {
		Messages []message `json:"messages"`
		History  *struct {
			Messages messages `json:"messages"`
			Current  string   `json:"currentId"`
		} `json:"history"`
	} `json:"chat"`
}

// messages is a map of id to message, or an array: both were seen.
type messages []message

// UnmarshalJSON reads either shape.
func (m *messages) UnmarshalJSON(b []byte) error {
	switch b = bytes.TrimSpace(b); {
	case bytes.Equal(b, []byte("null")):
		return nil
	case bytes.HasPrefix(b, []byte("[")):
		return json.Unmarshal(b, (*[]message)(m))
	}
	var byID map[string]message
	if err := json.Unmarshal(b, &byID); err != nil {
		return err
	}
	*m = messages{}
	for id, one := range byID {
		if one.ID == "" {
			one.ID = id
		}
		*m = append(*m, one)
	}
	slices.SortFunc(*m, func(a, b message) int { return strings.Compare(a.ID, b.ID) })
	return nil
}

// message is one turn of either side.
type message struct {
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Parent    string          `json:"parentId"`
	ParentAlt string          `json:"parent_id"`
	Children  []string        `json:"childrenIds"`
	Parts     []part          `json:"content_list"`
	Reasoning string          `json:"reasoning_content"`
	Done      bool            `json:"done"`
	Stopped   bool            `json:"is_stop"`
	Error     json.RawMessage `json:"error"`
	Time      float64         `json:"timestamp"`
}

// part is one stretch of an answer: thinking, a search, or the answer itself.
type part struct {
	Content string          `json:"content"`
	Phase   string          `json:"phase"`
	Status  string          `json:"status"`
	Extra   json.RawMessage `json:"extra"`
}

func (m message) parent() string { return firstOf(m.Parent, m.ParentAlt) }

// text is a message's plain content; a content that is no string has none.
func (m message) text() string {
	var s string
	_ = json.Unmarshal(m.Content, &s)
	return s
}

// answer is the answer's Markdown: the parts of phase "answer" in order, or
// the content where there are no such parts. Thinking never gets in.
func (m message) answer() string {
	var b strings.Builder
	found := false
	for _, p := range m.Parts {
		if p.Phase == "answer" {
			found = true
			b.WriteString(p.Content)
		}
	}
	if !found && len(m.Parts) == 0 {
		return m.text()
	}
	return b.String()
}

// finished is positive evidence that the answer is whole.
func (m message) finished() bool {
	if !m.Done || m.Stopped || m.failed() || strings.TrimSpace(m.answer()) == "" {
		return false
	}
	for _, p := range m.Parts {
		if p.Phase == "answer" && p.Status != "finished" {
			return false
		}
	}
	return true
}

func (m message) failed() bool {
	return len(m.Error) > 0 && string(m.Error) != "null" && string(m.Error) != "false" && string(m.Error) != `""`
}

// size grows while anything of the message grows.
func (m message) size() int {
	n := len(m.Content) + len(m.Reasoning)
	for _, p := range m.Parts {
		n += len(p.Content) + len(p.Extra) + len(p.Status)
	}
	return n
}

// Turn is what one read of a chat showed of our message and its answer.
// It is an alias of an unnamed struct, so that a caller with the same shape
// needs no conversion.
type Turn = struct {
	Empty       bool
	Message     string
	Asked       int64
	Fingerprint string
	Text        string
	Progress    int
	Done        bool
}

// turn finds our message and its answer in the chat. ours is our message's id
// if known; after is the assistant message that it follows in a continued
// chat. Trouble that the site noted at the answer is an error beside the turn.
func (c chat) turn(op, ours, after string) (Turn, error) {
	all, current, err := c.all(op)
	if err != nil {
		return Turn{}, err
	}
	asked, ok := findOurs(all, current, ours, after)
	if !ok {
		return Turn{Empty: c.complete() && isEmpty(all, current, after)}, nil
	}
	t := Turn{Message: asked.ID, Asked: int64(asked.Time), Fingerprint: fingerprint(asked.text())}
	answer, ok := findAnswer(all, current, asked)
	if !ok {
		return t, nil
	}
	t.Text, t.Progress, t.Done = answer.answer(), answer.size(), answer.finished()
	switch {
	case answer.failed():
		var e trouble
		if json.Unmarshal(answer.Error, &e) != nil {
			e.Message = string(answer.Error)
		}
		return t, generationError(op, e)
	case answer.Stopped:
		return t, fail(KindGeneration, op, "the answer was stopped before its end")
	}
	return t, nil
}

// generationError is what the site noted at an answer: the text was refused,
// or the answer failed.
func generationError(op string, e trouble) error {
	if strings.EqualFold(e.Code, "data_inspection_failed") {
		return fail(KindFiltered, op, "the site refuses the text: %s", e.text())
	}
	return fail(KindGeneration, op, "the site failed to answer: %s", e.text())
}

// complete reports whether the reply holds a history at all; one without
// proves nothing about what is absent.
func (c chat) complete() bool {
	return c.Chat != nil && c.Chat.History != nil && c.Chat.History.Messages != nil
}

// all returns every message and the id of the current one.
func (c chat) all(op string) (map[string]message, string, error) {
	if !c.complete() && (c.Chat == nil || len(c.Chat.Messages) == 0) {
		return nil, "", fail(KindSiteChanged, op, "the chat came without its history")
	}
	all := map[string]message{}
	for _, m := range c.Chat.Messages {
		all[m.ID] = m
	}
	current := c.Current
	if h := c.Chat.History; h != nil {
		for _, m := range h.Messages {
			all[m.ID] = m
		}
		current = firstOf(h.Current, current)
	}
	return all, current, nil
}

// isEmpty is positive evidence that our message isn't there.
func isEmpty(all map[string]message, current, after string) bool {
	if after == "" {
		return len(all) == 0 && current == ""
	}
	last, ok := all[after]
	if !ok || current != after || len(last.Children) > 0 {
		return false
	}
	for _, m := range all {
		if m.parent() == after {
			return false
		}
	}
	return true
}

// findOurs returns our message: by its id, or as the one that follows after,
// or as the first of a chat that we made.
func findOurs(all map[string]message, current, ours, after string) (message, bool) {
	if m, ok := all[ours]; ok && ours != "" {
		return m, true
	}
	var candidates []message
	for _, m := range all {
		if m.Role == "user" && m.parent() == after {
			candidates = append(candidates, m)
		}
	}
	if len(candidates) == 0 {
		return message{}, false
	}
	return slices.MinFunc(candidates, func(a, b message) int {
		return cmp.Or(
			active(all, a.ID, current)-active(all, b.ID, current),
			cmp.Compare(a.Time, b.Time),
			strings.Compare(a.ID, b.ID))
	}), true
}

// active sorts what is on the active branch before what is not.
func active(all map[string]message, id, current string) int {
	if isAbove(all, id, current) {
		return 0
	}
	return 1
}

// findAnswer returns the answer to our message: the one on the active branch,
// else the first.
func findAnswer(all map[string]message, current string, asked message) (message, bool) {
	var answers []message
	for _, m := range all {
		if m.Role == "assistant" && m.parent() == asked.ID {
			answers = append(answers, m)
		}
	}
	if len(answers) == 0 {
		return message{}, false
	}
	return slices.MinFunc(answers, func(a, b message) int {
		return cmp.Or(
			active(all, a.ID, current)-active(all, b.ID, current),
			slices.Index(asked.Children, a.ID)-slices.Index(asked.Children, b.ID),
			strings.Compare(a.ID, b.ID))
	}), true
}

// isAbove reports whether id is current or one of its ancestors.
func isAbove(all map[string]message, id, current string) bool {
	for range len(all) + 1 {
		if current == "" {
			return false
		}
		if current == id {
			return true
		}
		current = all[current].parent()
	}
	return false
}

// fingerprint is the first 16 hex digits of a text's sha256.
func fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
