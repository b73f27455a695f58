// Package watchtest has what tests of a chat and of the agent share: a suite
// that every [watch.Chat] must pass, and [Fake], a chat in memory that can be
// told to go wrong.
package watchtest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"watcher/watch"
)

// Subject is a chat under test with a view of what its site received. Each
// test gets its own; the site is empty at first.
type Subject struct {
	Chat watch.Chat
	// Taken lists the texts that the site took as prompts so far, each as it
	// arrived, oldest first.
	Taken func() []string
	// Answer is the site's whole answer to a prompt.
	Answer func(prompt string) string
	// Unknown is a well-formed address of the site where there is no chat.
	Unknown string
	// Limit bounds each test; 0 means a minute. Every is the time between two
	// reads of a chat; 0 means 20 ms.
	Limit, Every time.Duration
}

// Run tests that a chat keeps the contract of [watch.Chat].
func Run(t *testing.T, open func(t *testing.T) Subject) {
	for _, c := range []struct {
		name string
		test func(s *suite)
	}{
		{"send, then read the whole answer", (*suite).roundTrip},
		{"commit comes once, before the site has it", (*suite).commitFirst},
		{"a refused commit sends nothing", (*suite).refused},
		{"a refused chat reads as empty", (*suite).empty},
		{"two sends make two chats", (*suite).twoChats},
		{"every byte arrives", (*suite).fidelity},
		{"a chat that is not there is not empty", (*suite).unknown},
		{"a foreign address is not opened", (*suite).foreign},
		{"find is exact", (*suite).find},
		{"the owner is stable", (*suite).owner},
		{"an ended context sends nothing", (*suite).cancelled},
		{"a stop leaves a whole answer whole", (*suite).stop},
		{"a message follows in its chat", (*suite).follow},
		{"a refused message is absent from its place", (*suite).absent},
		{"a chat that is not there is not continued", (*suite).nowhere},
		{"files come with a prompt", (*suite).files},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &suite{t: t, Subject: open(t)}
			if s.Limit == 0 {
				s.Limit = time.Minute
			}
			if s.Every == 0 {
				s.Every = 20 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(context.Background(), s.Limit)
			defer cancel()
			s.ctx = ctx
			c.test(s)
		})
	}
}

// suite is one test with its subject.
type suite struct {
	Subject
	t   *testing.T
	ctx context.Context
}

// sent is a prompt that was sent.
type sent struct{ prompt, address, message, after string }

func (s *suite) send(prompt string) sent {
	s.t.Helper()
	return s.dispatch(watch.Outgoing{Prompt: prompt})
}

func (s *suite) dispatch(what watch.Outgoing) sent {
	s.t.Helper()
	prompt := what.Prompt
	out := sent{prompt: prompt}
	var err error
	out.message, err = s.Chat.Send(s.ctx, what, func(address, after string) error {
		out.address, out.after = address, after
		return nil
	})
	if err != nil {
		s.t.Fatalf("Send(%s) = %v", short(prompt), err)
	}
	if out.address == "" {
		s.t.Fatalf("Send(%s) succeeded without a commit", short(prompt))
	}
	return out
}

func (s *suite) read(c sent) watch.Turn {
	s.t.Helper()
	turn, err := s.Chat.Read(s.ctx, c.address, c.message, c.after)
	if err != nil {
		s.t.Fatalf("Read(%s) = %v", c.address, err)
	}
	return turn
}

// whole reads until the answer is done.
func (s *suite) whole(c sent) watch.Turn {
	s.t.Helper()
	last := -1
	for {
		turn := s.read(c)
		switch {
		case turn.Empty:
			s.t.Fatalf("Read(%s) = empty after a send that succeeded", c.address)
		case turn.Progress < last:
			s.t.Fatalf("progress fell from %d to %d", last, turn.Progress)
		case turn.Done:
			return turn
		case turn.Text == s.Answer(c.prompt) && turn.Text != "":
			// Whole, but the site has not said so yet: that is its right.
		}
		last = turn.Progress
		select {
		case <-time.After(s.Every):
		case <-s.ctx.Done():
			s.t.Fatalf("no whole answer within %v; the last read: %d characters", s.Limit, len(turn.Text))
		}
	}
}

func short(s string) string {
	if len(s) > 40 {
		return fmt.Sprintf("%q… (%d bytes)", s[:40], len(s))
	}
	return fmt.Sprintf("%q", s)
}

func (s *suite) taken(want ...string) {
	s.t.Helper()
	if got := s.Taken(); !slices.Equal(got, want) {
		var list []string
		for _, g := range got {
			list = append(list, short(g))
		}
		s.t.Errorf("the site took %d prompts %v, want %d", len(got), list, len(want))
	}
}
