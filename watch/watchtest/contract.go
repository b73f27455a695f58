package watchtest

import (
	"context"
	"errors"
	"slices"
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
	_, err := s.Chat.Send(s.ctx, "hello", func(string) error {
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
	_, err := s.Chat.Send(s.ctx, prompt, func(address string) error {
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

func (s *suite) unknown() {
	turn, err := s.Chat.Read(s.ctx, s.Unknown, "", "")
	if err == nil && (turn.Empty || turn.Done || turn.Message != "") {
		s.t.Errorf("Read of a chat that is not there = %+v, want an error or nothing at all", turn)
	}
	if f := watch.FaultOf(err); err != nil && f == nil {
		s.t.Errorf("Read of a chat that is not there = %v, which has no class", err)
	}
}

func (s *suite) foreign() {
	for _, address := range []string{"", "x", "file:///etc/passwd", "https://elsewhere.example/c/00000000-0000-4000-8000-000000000000"} {
		if turn, err := s.Chat.Read(s.ctx, address, "", ""); err == nil {
			s.t.Errorf("Read(%q) = %+v, want an error", address, turn)
		}
	}
}

func (s *suite) find() {
	one := s.send("find me")
	s.whole(one)
	s.whole(s.send("find me not"))
	s.refuse("never sent")
	for prompt, want := range map[string][]string{
		"find me": {one.address}, "find": nil, "never sent": nil,
	} {
		got, err := s.Chat.Find(s.ctx, prompt)
		if err != nil || !slices.Equal(got, want) {
			s.t.Errorf("Find(%q) = %v, %v, want %v", prompt, got, err, want)
		}
	}
	two := s.send("find me")
	s.whole(two)
	if got, err := s.Chat.Find(s.ctx, "find me"); err != nil || !slices.Equal(got, []string{two.address, one.address}) {
		s.t.Errorf("Find = %v, %v, want the newest first: %v", got, err, []string{two.address, one.address})
	}
}

func (s *suite) owner() {
	first, err := s.Chat.Owner(s.ctx)
	if err != nil || first == "" {
		s.t.Fatalf("Owner = %q, %v", first, err)
	}
	s.taken()
	s.whole(s.send("hello"))
	if again, err := s.Chat.Owner(s.ctx); err != nil || again != first {
		s.t.Errorf("Owner = %q, %v, was %q", again, err, first)
	}
}

func (s *suite) cancelled() {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	committed := false
	_, err := s.Chat.Send(ctx, "too late", func(string) error { committed = true; return ctx.Err() })
	if err == nil {
		s.t.Error("Send with an ended context succeeded")
	}
	if f := watch.FaultOf(err); f != nil && f.MayHaveLeft() {
		s.t.Errorf("Send with an ended context (commit asked for: %v) says that the prompt may have left: %v", committed, err)
	}
	s.taken()
	// The chat is none the worse for it.
	s.whole(s.send("in time"))
	s.taken("in time")
}

func (s *suite) stop() {
	c := s.send("stop me too late")
	want := s.whole(c).Text
	// Whether the site minds being asked is its own affair.
	if err := s.Chat.Stop(s.ctx, c.address, c.message); err != nil && watch.FaultOf(err) == nil {
		s.t.Errorf("Stop = %v, which has no class", err)
	}
	if turn := s.whole(c); turn.Text != want {
		s.t.Errorf("after a stop the answer is %s, was %s", short(turn.Text), short(want))
	}
	for _, address := range []string{"", "x", "https://elsewhere.example/c/00000000-0000-4000-8000-000000000000"} {
		if err := s.Chat.Stop(s.ctx, address, ""); err == nil {
			s.t.Errorf("Stop(%q) succeeded", address)
		}
	}
	s.taken("stop me too late")
}
