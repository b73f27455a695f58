package watchtest

import (
	"errors"
	"strings"

	"watcher/watch"
)

// The tests of the suite, one promise of watch.Chat each.

func (s *suite) roundTrip() {
	const prompt = "What is the sum of 2 and 3?"
	c := s.send(prompt)
	turn := s.whole(c)
	if turn.Text != s.Answer(prompt) {
		s.t.Errorf("answer %s, want %s", short(turn.Text), short(s.Answer(prompt)))
	}
	if turn.Message == "" || c.message != "" && turn.Message != c.message {
		s.t.Errorf("our message is %q in the chat, Send said %q", turn.Message, c.message)
	}
	if turn.Fingerprint != "" && turn.Fingerprint != fingerprint(prompt) {
		s.t.Errorf("fingerprint %q, want %q", turn.Fingerprint, fingerprint(prompt))
	}
	// Without the message's id, which a restart may not know, too.
	c.message = ""
	if again := s.read(c); again.Text != turn.Text || !again.Done {
		s.t.Errorf("a read without the message's id shows %s, done %v", short(again.Text), again.Done)
	}
	s.taken(prompt)
}

func (s *suite) commitFirst() {
	calls, before := 0, 0
	_, err := s.Chat.Send(s.ctx, watch.Outgoing{Prompt: "hello"}, func(string, string) error {
		calls++
		before = len(s.Taken())
		return nil
	})
	if err != nil {
		s.t.Fatalf("Send = %v", err)
	}
	if calls != 1 || before != 0 {
		s.t.Errorf("%d commits, want 1; the site had taken %d prompts then, want none", calls, before)
	}
	s.taken("hello")
}

// refuse sends a prompt whose commit says no, and returns the chat.
func (s *suite) refuse(prompt string) sent {
	s.t.Helper()
	no := errors.New("the folder says no")
	c := sent{prompt: prompt}
	_, err := s.Chat.Send(s.ctx, watch.Outgoing{Prompt: prompt}, func(address, _ string) error {
		c.address = address
		return no
	})
	if !errors.Is(err, no) {
		s.t.Fatalf("Send with a refused commit = %v, want it to wrap the commit's error", err)
	}
	if f := watch.FaultOf(err); f != nil && f.MayHaveLeft() {
		s.t.Errorf("Send with a refused commit says that the prompt may have left: %v", err)
	}
	return c
}

func (s *suite) refused() {
	s.refuse("not to be sent")
	s.taken()
	// Nothing of it comes with the next one, and none is left in the page.
	c := s.send("to be sent")
	if turn := s.whole(c); turn.Text != s.Answer("to be sent") {
		s.t.Errorf("answer %s", short(turn.Text))
	}
	s.taken("to be sent")
}

func (s *suite) empty() {
	c := s.refuse("not to be sent")
	turn := s.read(c)
	if !turn.Empty || turn.Message != "" || turn.Text != "" || turn.Done {
		s.t.Errorf("Read of a chat without a message = %+v, want it empty", turn)
	}
	c = s.send("sent")
	if turn := s.read(c); turn.Empty {
		s.t.Error("Read of a chat with a message = empty")
	}
}

func (s *suite) twoChats() {
	a, b := s.send("the same words"), s.send("the same words")
	if a.address == b.address {
		s.t.Errorf("two sends made one chat, %s", a.address)
	}
	for _, c := range []sent{a, b} {
		if turn := s.whole(c); turn.Text != s.Answer(c.prompt) {
			s.t.Errorf("answer %s", short(turn.Text))
		}
	}
	s.taken("the same words", "the same words")
}

// texts is what pages, editors and protocols like to change.
var texts = []string{
	"line one\nline two\n\n\nline five",
	"  leading and trailing spaces  ",
	"\ttabs\tand \u00a0no-break spaces\u2028and separators",
	"ąčiū, ÅÄÖ, and A\u030a (a letter and a combining ring)",
	"日本語, עברית, العربية, 👨‍👩‍👧, 🇱🇻",
	"# heading\n\n- list\n  - nested\n\n```go\nfunc main() {}\n```\n\\x \\\\ `tick` <b>&amp;</b> {{x}} ${y} %s",
	"quotes \" ' ` and a \\n that is no newline",
	strings.Repeat("0123456789abcdef and some words\n", 1000) + "end",
}

func (s *suite) fidelity() {
	for _, text := range texts {
		c := s.send(text)
		if turn := s.whole(c); turn.Text != s.Answer(text) {
			s.t.Errorf("answer to %s is %s", short(text), short(turn.Text))
		}
	}
	s.taken(texts...)
}
