package qwentest

import (
	"time"

	"github.com/google/uuid"
)

type obj = map[string]any

// chat is a conversation. Its owner is an account's id or a guest's cookie.
type chat struct {
	id, owner, title, model, mode, kind string
	created, updated                    time.Time
	gone                                time.Time // from then on it does not exist; zero: it stays
	messages                            []*message
}

type message struct {
	id, role, parent, text, model, turn string
	children                            []string
	at                                  time.Time
	visible                             time.Time // hidden from readers until then
	response                            *response // of an assistant's message
	hidden                              bool      // in no list of children
}

func (c *chat) find(id string) *message {
	for _, m := range c.messages {
		if m.id == id {
			return m
		}
	}
	return nil
}

// running returns the response that is being generated, if any.
func (c *chat) running(now time.Time) *response {
	for _, m := range c.messages {
		if m.response != nil && m.response.state(now).running {
			return m.response
		}
	}
	return nil
}

// shown are the messages a reader sees at a moment.
func (c *chat) shown(now time.Time) []*message {
	var out []*message
	for _, m := range c.messages {
		if !now.Before(m.visible) {
			out = append(out, m)
		}
	}
	return out
}

// current returns the ids of the last turn's answers.
func current(messages []*message) []string {
	ids := []string{}
	for _, m := range messages {
		if m.role == "assistant" && m.turn == messages[len(messages)-1].turn {
			ids = append(ids, m.id)
		}
	}
	return ids
}

// add appends a turn: the user's message and one answer for each plan.
func (c *chat) add(now time.Time, id, parent, text, model string, plans ...plan) (user *message, answers []*message) {
	if id == "" {
		id = uuid.NewString()
	}
	user = &message{id: id, role: "user", parent: parent, text: text, model: model, turn: uuid.NewString(), at: now}
	if p := c.find(parent); p != nil {
		p.children = append(p.children, user.id)
	}
	c.messages = append(c.messages, user)
	for i, p := range plans {
		m := &message{id: uuid.NewString(), role: "assistant", parent: user.id, model: model, turn: user.turn, at: now, hidden: p.unlisted}
		m.response = &response{id: m.id, chat: c.id, index: i, plan: p, start: now, changed: make(chan struct{})}
		if !m.hidden {
			user.children = append(user.children, m.id)
		}
		c.messages = append(c.messages, m)
		answers = append(answers, m)
	}
	c.updated = now
	return user, answers
}

func unix(t time.Time) int64 { return t.Unix() }

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func list[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}

// view is a chat as the API shows it at a moment.
func (c *chat) view(now time.Time, o Options) obj {
	shown := c.shown(now)
	if n := o.HistoryPagesLimit; n > 0 && len(shown) > n {
		shown = shown[len(shown)-n:]
	}
	flat, byID := []any{}, obj{}
	for _, m := range shown {
		v := m.view(now, o)
		flat = append(flat, v)
		byID[m.id] = v
	}
	var messages, currentID any = byID, nil
	if o.HistoryArray {
		messages = flat
	}
	ids := current(shown)
	if len(ids) > 0 {
		currentID = ids[0]
	}
	return obj{
		"id": c.id, "user_id": c.owner, "title": c.title, "share_id": nil, "archived": false, "pinned": false,
		"meta": obj{"timestamp": c.created.UnixMilli()}, "folder_id": nil, "created_at": unix(c.created), "updated_at": unix(c.updated),
		"chat_type": c.kind, "models": []string{c.model}, "currentId": currentID, "currentResponseIds": ids,
		"chat": obj{
			"models": []string{c.model}, "messages": flat,
			"history": obj{"messages": messages, "currentId": currentID, "currentResponseIds": ids},
		},
	}
}

func (m *message) view(now time.Time, o Options) obj {
	v := obj{
		"id": m.id, "role": m.role, "parentId": nullable(m.parent), "childrenIds": list(m.children), "turn_id": m.turn,
		"chat_type": "t2t", "sub_chat_type": "t2t", "edited": false, "error": nil, "timestamp": unix(m.at),
		"feature_config": obj{"thinking_enabled": true, "output_schema": "phase", "thinking_format": "summary"},
		"extra":          obj{"meta": obj{"subChatType": "t2t"}},
	}
	if m.role == "user" {
		v["content"], v["models"], v["files"] = m.text, []string{m.model}, []any{}
		return v
	}
	m.response.describe(v, now, o)
	v["model"], v["modelName"], v["modelIdx"] = m.model, displayName(m.model), m.response.index
	v["feedbackId"], v["annotation"], v["meta"], v["info"] = nil, nil, obj{}, obj{"suggest": []any{}}
	return v
}
