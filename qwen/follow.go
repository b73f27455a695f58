package qwen

import (
	"context"
	"errors"
	"slices"
)

const opFollow = "continue the chat"

// toFollow opens the chat at an address in a page of its own, for a message that
// follows its last answer, which must be whole. after is that answer's id.
//
// An error of KindBusy says that the chat is not at rest: that one message has to
// wait, and no other. KindGone and KindInvalid say that nothing will come of it.
func (c *Client) toFollow(ctx context.Context, address string) (p *page, chat, after string, err error) {
	id, err := c.site.chatID(address)
	if err != nil {
		return nil, "", "", err
	}
	p, err = c.current(ctx)
	if err != nil {
		return nil, "", "", err
	}
	// A look first: a chat that is busy needs no page of its own.
	if after, err = p.lastAnswer(ctx, id); err != nil {
		return nil, "", "", c.leave(ctx, err)
	}
	if p, err = c.freshAt(ctx, "/c/"+id); err != nil {
		return nil, "", "", err
	}
	if err = p.rendered(ctx, opFollow, id, after); err != nil {
		err = c.evidence(ctx, p, err)
		c.discard(p)
		return nil, "", "", err
	}
	return p, id, after, nil
}

// lastAnswer is the id of the answer with which a chat of this account ends.
func (p *page) lastAnswer(ctx context.Context, id string) (string, error) {
	found, err := p.chat(ctx, opFollow, id)
	switch {
	case errors.Is(err, errOtherAccount):
		e := fail(KindGone, opFollow, "%w", errOtherAccount)
		e.Advice = "continue a chat of the account that is logged in, or log in with the other one: 'watcher login'"
		return "", e
	case err != nil:
		return "", err
	case found.User != p.account:
		return "", fail(KindSiteChanged, opFollow, "the chat does not say whose it is")
	}
	return found.lastAnswer()
}

// lastAnswer is the id of the answer with which the chat ends; it is whole, and
// nothing follows it.
func (c chat) lastAnswer() (string, error) {
	all, current, err := c.all(opFollow)
	if err != nil {
		return "", err
	}
	last := all[current]
	busy := func(why string) (string, error) {
		e := fail(KindBusy, opFollow, "%s", why)
		e.Advice = "nothing is to be done: the program tries again by itself"
		return "", e
	}
	switch {
	case !c.complete():
		return "", fail(KindSiteChanged, opFollow, "the chat came without its history")
	case len(all) == 0:
		return "", dead("it holds no answer that could be followed")
	case last.ID == "":
		return "", fail(KindSiteChanged, opFollow, "the chat does not say where it ends")
	case last.Role != "assistant":
		return busy("its last message is not answered yet")
	case len(c.Answers) > 1:
		return busy("the site asks which of two answers is better")
	case len(c.Answers) == 1 && c.Answers[0] != current:
		return busy("it changes just now")
	case last.failed() || last.Stopped:
		return "", dead("its last answer failed or was stopped")
	case !last.Done || !isLast(all, current):
		return busy("its last answer is not whole yet")
	case last.cutShort():
		return busy("its last answer was cut at the length limit and has to go on first")
	case !last.finished():
		return busy("its last answer has no whole text")
	}
	return current, nil
}

// dead is the error of a chat that nothing can follow as it is.
func dead(why string) *Error {
	e := fail(KindInvalid, opFollow, "%s", why)
	e.Advice = "look at the chat in a browser; continue another one, or send the prompt into a new one"
	return e
}

// isLast reports whether no message follows one.
func isLast(all map[string]message, id string) bool {
	for _, m := range all {
		if m.parent() == id {
			return false
		}
	}
	return len(all[id].Children) == 0
}

// unmoved makes sure, right before the send, that the chat still ends where the
// message is to follow. In a new chat there is nothing to look at.
func (s *sending) unmoved(ctx context.Context) error {
	if s.after == "" {
		return nil
	}
	now, err := s.page.lastAnswer(ctx, s.chat)
	if err == nil && now != s.after {
		err = fail(KindBusy, opFollow, "it went on while the text was put in")
	}
	return err
}

// chats are the ids that the send may carry: of the chat to continue, else those
// that its page was given.
func (s *sending) chats() map[string]bool {
	if s.after != "" {
		return map[string]bool{s.chat: true}
	}
	return s.page.gate.given()
}

// stays demands that a page which continues a chat is still at its address.
func (s *sending) stays(ctx context.Context) error {
	if s.after == "" {
		return nil
	}
	state, err := s.page.look(ctx)
	if err != nil {
		return fail(KindBrowser, opFollow, "%w", err)
	}
	if id, err := s.page.client.site.chatID(state.Href); err != nil || id != s.chat {
		return fail(KindSiteChanged, opFollow, "the page left its address for %q", oneLine(state.Href, 80))
	}
	return nil
}

// nothingElse reports whether the ids of the chat's current answers, if it names
// any, are no others than the one to follow.
func nothingElse(answers []string, after string) bool {
	return !slices.ContainsFunc(answers, func(id string) bool { return id != after })
}
