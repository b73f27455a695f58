package qwen

import (
	"strings"
	"time"
)

// noteNewChat reads the reply to the page's call for a new chat: its id is the
// only one that our send may carry. A refusal ends the wait for the send.
func (g *gate) noteNewChat(p paused) {
	const op = "make a new chat"
	if p.Request.Method != "POST" || !g.isAt(p, g.path.NewChat) {
		return
	}
	body, err := g.replyBody(p)
	if err != nil || p.Status == nil {
		g.refuse(fail(KindUnreachable, op, "no reply"))
		return
	}
	id, err := newChatID(op, reply{Status: *p.Status, Body: body})
	if err != nil {
		g.refuse(err)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.chats[id] = true
}

// newChatID is the id that a reply to chats/new names.
func newChatID(op string, answer reply) (string, error) {
	if err := answer.check(op, time.Now()); err != nil {
		return "", notGone(err)
	}
	made, err := decode[struct {
		ID string `json:"id"`
	}](answer, op)
	if err != nil || !uuidPattern.MatchString(made.ID) {
		return "", fail(KindSiteChanged, op, "the reply names no chat")
	}
	return strings.ToLower(made.ID), nil
}

// notGone makes of "not found", said to a send, what it is: the model or the
// chat that was just made are not as the site wants them. No chat is gone.
func notGone(err error) error {
	if err == nil {
		return nil
	}
	if e := asError(err, "", ""); e.Kind == KindGone {
		return fail(KindSiteChanged, e.Op, "%w", e.Err)
	}
	return err
}

// asked reports whether the page asked for a new chat since its send is
// expected: the click had an effect then, and another could make a second send.
func (g *gate) asked() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asking
}

// given are the ids of the chats that this page was given.
func (g *gate) given() map[string]bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	chats := map[string]bool{}
	for id := range g.chats {
		chats[id] = true
	}
	return chats
}
