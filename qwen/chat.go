package qwen

import (
	"bytes"
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
	// Answers are the ids of the answers that are current; more than one while
	// the site asks which is better.
	Answers []string `json:"currentResponseIds"`
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
	Extra     json.RawMessage `json:"extra"`
	Meta      json.RawMessage `json:"meta"`
	Reason    word            `json:"finish_reason"`
	Time      float64         `json:"timestamp"`

	last string // of an answer in several messages: the last one's id
}

// end is the id of the message in which an answer ends.
func (m message) end() string { return firstOf(m.last, m.ID) }

// part is one stretch of an answer: thinking, a search, an image, or the answer
// itself.
type part struct {
	Content string          `json:"content"`
	Phase   string          `json:"phase"`
	Status  string          `json:"status"`
	Extra   json.RawMessage `json:"extra"`
	Usage   json.RawMessage `json:"usage"`
	Reason  word            `json:"finish_reason"`
}

func (m message) parent() string { return firstOf(m.Parent, m.ParentAlt) }

// text is a message's plain content; a content that is no string has none.
func (m message) text() string {
	var s string
	_ = json.Unmarshal(m.Content, &s)
	return s
}

// finished is positive evidence that the answer is whole.
func (m message) finished() bool {
	if !m.Done || m.Stopped || m.failed() || m.cutShort() || strings.TrimSpace(m.answer()) == "" {
		return false
	}
	for _, p := range m.Parts {
		if p.shown() && p.Status != "finished" {
			return false
		}
	}
	return true
}

// failed reports whether the site noted trouble at the message.
func (m message) failed() bool {
	return says(m.Error)
}

// size grows while anything of the message grows.
func (m message) size() int {
	n := len(m.Content) + len(m.Reasoning)
	for _, p := range m.Parts {
		n += len(p.Content) + len(p.Extra) + len(p.Status)
	}
	return n
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
