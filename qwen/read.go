package qwen

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Read looks at a chat once. It opens no address but a chat of the site. With
// an error about an answer that failed, the turn holds what there is of it.
//
// Done is said of a text that a second look, a moment later, shows unchanged:
// the site was seen to call an answer done before all of its text was there.
func (c *Client) Read(ctx context.Context, address, message, after string) (Turn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const op = "read the chat"
	id, err := c.site.chatID(address)
	if err != nil {
		return Turn{}, err
	}
	p, err := c.current(ctx)
	if err != nil {
		return Turn{}, err
	}
	var turn Turn
	for looks := 0; ; looks++ {
		found, err := p.chat(ctx, op, id)
		if err != nil {
			return Turn{}, c.leave(ctx, err)
		}
		c.options.Profile.noteRead(address)
		before := turn
		turn, err = found.turn(op, message, after)
		turn.Empty = turn.Empty && found.User == p.account
		if err != nil || !turn.Done {
			return turn, err
		}
		if before.Done && before.Text == turn.Text {
			if c.options.Sources {
				turn.Text += found.sourceList(op, message, after)
			}
			c.options.Profile.forgetRead(address)
			return turn, nil
		}
		if looks == looksMost || sleep(ctx, c.options.rereads()) != nil {
			turn.Done = false
			return turn, nil
		}
	}
}

// looksMost is how often a text that goes on changing is looked at again before
// the next poll.
const looksMost = 3

// rereads is how long the text of an answer that is done must stay the same:
// half the age that a page needs, 1.5 s.
func (o *Options) rereads() time.Duration { return o.PageAge / 2 }

// chat fetches one chat and makes sure that it is the one asked for, and of
// the account that is logged in.
func (p *page) chat(ctx context.Context, op, id string) (chat, error) {
	path := p.client.options.Table.Chat + id
	r, err := p.get(ctx, path)
	if err == nil {
		err = r.check(op, time.Now())
	}
	if err != nil {
		return chat{}, p.doubt(ctx, aboutRead(err))
	}
	found, err := decode[chat](r, op)
	switch {
	case err != nil:
		return chat{}, err
	case r.Status != 200 || !strings.EqualFold(r.Path, path):
		return chat{}, fail(KindUnreachable, op, "the site answers from elsewhere: HTTP %d at %q", r.Status, oneLine(r.Path, 80))
	case !strings.EqualFold(found.ID, id):
		return chat{}, fail(KindUnreachable, op, "the site sent another chat, %q", oneLine(found.ID, 60))
	case found.User != "" && found.User != p.account:
		e := fail(KindLogin, op, "%w", errOtherAccount)
		e.Advice = "log in with the account that sent it: 'watcher login'"
		return chat{}, e
	}
	return found, nil
}

var errOtherAccount = errors.New("the chat belongs to another account")

// aboutRead makes of what a reply to a read says what it is. Only what the chat
// itself shows speaks of an answer or a text; a reply that seems to was made for
// another call, and the next may be the chat.
func aboutRead(err error) error {
	e := asError(err, KindUnreachable, "read the chat")
	if e.Kind != KindGeneration && e.Kind != KindInvalid && e.Kind != KindFiltered {
		return err
	}
	return fail(KindUnreachable, e.Op, "%w", e.Err)
}

// doubt looks closer at a failed read: a chat that is gone or a check may mean
// that nobody is logged in any more.
func (p *page) doubt(ctx context.Context, err error) error {
	e := asError(err, KindUnreachable, "read the chat")
	if e.Kind != KindGone && e.Kind != KindChallenge {
		return err
	}
	if who := p.loggedOut(ctx); who != nil {
		return who
	}
	return err
}

// findPages is how much of the account's list Find looks through, and
// findChats how many chats it opens.
const (
	findPages = 2
	findChats = 30
)

// Find returns the addresses of recent chats whose first message is exactly
// the prompt, newest first.
func (c *Client) Find(ctx context.Context, prompt string) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const op = "look through the chats"
	p, err := c.current(ctx)
	if err != nil {
		return nil, err
	}
	ids, err := p.recent(ctx, op)
	if err != nil {
		return nil, c.leave(ctx, err)
	}
	var found []string
	for _, id := range ids {
		one, err := p.chat(ctx, op, id)
		if err != nil {
			return nil, c.leave(ctx, err)
		}
		turn, err := one.turn(op, "", "")
		if err == nil && turn.Message != "" && turn.Fingerprint == fingerprint(prompt) {
			found = append(found, c.site.chatAddress(id))
		}
	}
	return found, nil
}

// recent lists the ids of the account's newest chats.
func (p *page) recent(ctx context.Context, op string) ([]string, error) {
	var ids []string
	for n := 1; n <= findPages && len(ids) < findChats; n++ {
		r, err := p.get(ctx, p.client.options.Table.List+"?page="+string(rune('0'+n)))
		if err == nil {
			err = r.check(op, time.Now())
		}
		if err != nil {
			return nil, err
		}
		list, err := decode[[]struct {
			ID string `json:"id"`
		}](r, op)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			break
		}
		for _, one := range list {
			if uuidPattern.MatchString(one.ID) && len(ids) < findChats {
				ids = append(ids, one.ID)
			}
		}
	}
	return ids, nil
}

// get fetches a path of the site from inside the page.
func (p *page) get(ctx context.Context, path string) (reply, error) {
	tab, cancel := p.within(ctx)
	defer cancel()
	tab, cancelTime := context.WithTimeout(tab, fetchTimeout+commandTimeout)
	defer cancelTime()
	r, err := call[reply](tab, "get", path, p.gate.frontEnd(), replyTimeout.Milliseconds(), fetchTimeout.Milliseconds())
	if err != nil {
		return reply{}, fail(KindUnreachable, "ask the site for "+path, "%w", err)
	}
	return r, nil
}
