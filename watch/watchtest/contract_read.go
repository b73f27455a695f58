package watchtest

import (
	"context"
	"slices"

	"watcher/watch"
)

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
	_, err := s.Chat.Send(ctx, watch.Outgoing{Prompt: "too late"}, func(string, string) error { committed = true; return ctx.Err() })
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
