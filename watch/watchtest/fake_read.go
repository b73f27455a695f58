package watchtest

import (
	"context"
	"errors"
	"slices"
	"time"

	"watcher/watch"
)

// Read shows a chat as it is now.
func (f *Fake) Read(ctx context.Context, address, message, after string) (watch.Turn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call(ctx, "read"); err != nil {
		return watch.Turn{}, err
	}
	f.arrive()
	turns := f.in(address)
	if len(turns) == 0 || turns[0].gone {
		return watch.Turn{}, &Fault{Kind: watch.ClassGone, Text: "fake chat: there is no such chat", Left: true}
	}
	c := place(turns, message, after)
	switch {
	case c == nil && message != "":
		return watch.Turn{}, errors.New("fake chat: the message is not in this chat")
	case c == nil:
		last := f.last(address)
		return watch.Turn{Empty: last == nil && after == "" || last != nil && last.answer() == after}, nil
	}
	if c.plan.Fails != nil {
		t := c.turn()
		t.Text, t.Done = t.Text[:len(t.Text)/2], false
		return t, c.plan.Fails
	}
	t := c.turn()
	if !c.stopped.IsZero() && !t.Done {
		return t, &Fault{Kind: watch.ClassGeneration, Text: "fake chat: the answer was stopped", Left: true}
	}
	return t, nil
}

// place is the turn that has a message, or the first one behind an answer.
func place(turns []*turn, message, after string) *turn {
	for _, c := range turns {
		if c.message != "" && (message == "" && c.after == after || message != "" && c.message == message) {
			return c
		}
	}
	return nil
}

func (c *turn) turn() watch.Turn {
	t := watch.Turn{Message: c.message, Asked: c.due.Unix(), Fingerprint: fingerprint(c.shown)}
	whole := Answer(c.prompt)
	grown := time.Since(c.due)
	if !c.stopped.IsZero() {
		grown = c.stopped.Sub(c.due)
	}
	switch {
	case c.plan.Stuck && (c.plan.Wakes == 0 || grown < c.plan.Wakes):
		t.Text, t.Progress = whole[:len(whole)/2], 1
	case grown < c.plan.Think:
		t.Text = whole[:int(int64(len(whole))*int64(grown)/int64(c.plan.Think))]
		t.Progress = 1 + int(grown/time.Second)
	default:
		t.Text, t.Progress, t.Done = whole, 1<<30, true
	}
	return t
}

// Find lists the chats that begin with the prompt, newest first.
func (f *Fake) Find(ctx context.Context, prompt string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call(ctx, "find"); err != nil {
		return nil, err
	}
	f.arrive()
	var found []*turn
	for _, c := range f.turns {
		if c.message != "" && !c.gone && c.after == "" && c.shown == prompt {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b *turn) int { return b.made - a.made })
	var list []string
	for _, c := range found {
		list = append(list, c.chat)
	}
	return list, nil
}

// LastWords is for how many seconds more an answer grows that is stopped; all of
// it shows at once.
const LastWords = 600

// Stop ends an answer that is not whole yet: it grows no more.
func (f *Fake) Stop(ctx context.Context, address, message string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call(ctx, "stop"); err != nil {
		return err
	}
	turns := f.in(address)
	if len(turns) == 0 || turns[0].gone {
		return &Fault{Kind: watch.ClassGone, Text: "fake chat: there is no such chat", Left: true}
	}
	c := f.last(address)
	if message != "" {
		c = place(turns, message, "")
	}
	if c != nil && c.stopped.IsZero() {
		c.stopped = time.Now().Add(LastWords * time.Second)
	}
	return nil
}
