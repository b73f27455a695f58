package watchtest

import (
	"errors"
	"os"
	"path/filepath"

	"watcher/watch"
)

// follow sends messages into one chat, the same words among them: each has its own
// place and its own answer.
func (s *suite) follow() {
	first := s.send("the first of a chat")
	if first.after != "" {
		s.t.Errorf("a new chat's message follows %q", first.after)
	}
	s.whole(first)
	all := []sent{first}
	for _, prompt := range []string{"the second", "the second", "the last"} {
		c := s.dispatch(watch.Outgoing{Prompt: prompt, Chat: first.address})
		if c.address != first.address || c.after == "" {
			s.t.Fatalf("sent to %q behind %q, want %q and the last answer", c.address, c.after, first.address)
		}
		for _, other := range all {
			if c.after == other.after || c.message != "" && c.message == other.message {
				s.t.Errorf("%+v and %+v have one place", c, other)
			}
		}
		s.whole(c)
		all = append(all, c)
	}
	for _, c := range all {
		if turn := s.whole(c); turn.Text != s.Answer(c.prompt) {
			s.t.Errorf("the answer to %s is %s", short(c.prompt), short(turn.Text))
		}
		c.message = "" // a restart may not know it
		if turn := s.whole(c); turn.Text != s.Answer(c.prompt) {
			s.t.Errorf("without its id the answer to %s is %s", short(c.prompt), short(turn.Text))
		}
	}
	s.taken("the first of a chat", "the second", "the second", "the last")
}

// absent refuses a commit in a continued chat: the place stays empty until a
// message goes there.
func (s *suite) absent() {
	first := s.send("the first of a chat")
	s.whole(first)
	no := errors.New("the folder says no")
	place := sent{prompt: "refused"}
	_, err := s.Chat.Send(s.ctx, watch.Outgoing{Prompt: "refused", Chat: first.address}, func(address, after string) error {
		place.address, place.after = address, after
		return no
	})
	if f := watch.FaultOf(err); !errors.Is(err, no) || f != nil && f.MayHaveLeft() {
		s.t.Fatalf("Send with a refused commit = %v", err)
	}
	if turn := s.read(place); !turn.Empty || turn.Message != "" || turn.Text != "" {
		s.t.Errorf("the place of a refused message reads as %+v, want it empty", turn)
	}
	elsewhere := place
	if elsewhere.after = "00000000-0000-4000-8000-000000000000"; s.read(elsewhere).Empty {
		s.t.Error("the place behind a message that is not there is empty")
	}
	if elsewhere.after = ""; s.read(elsewhere).Empty {
		s.t.Error("the chat is empty")
	}
	s.dispatch(watch.Outgoing{Prompt: "sent", Chat: first.address})
	if s.read(place).Empty {
		s.t.Error("the place is empty after a message went there")
	}
	s.taken("the first of a chat", "sent")
}

// nowhere continues chats that are not there.
func (s *suite) nowhere() {
	for _, address := range []string{s.Unknown, "x", "file:///etc/passwd", "https://elsewhere.example/c/00000000-0000-4000-8000-000000000000"} {
		committed := false
		_, err := s.Chat.Send(s.ctx, watch.Outgoing{Prompt: "to nowhere", Chat: address}, func(string, string) error { committed = true; return nil })
		if f := watch.FaultOf(err); f == nil || f.MayHaveLeft() || committed {
			s.t.Errorf("Send into %q = %v (committed: %v), want a fault", address, err, committed)
		}
	}
	s.taken()
}

// files sends a prompt with files, and one with a file that is not there.
func (s *suite) files() {
	dir := s.t.TempDir()
	var paths []string
	for name, text := range map[string]string{"data.csv": "a,b\n1,2\n", "notes.txt": "some notes"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
		paths = append(paths, path)
	}
	c := s.dispatch(watch.Outgoing{Prompt: "look at these", Files: paths})
	if turn := s.whole(c); turn.Text != s.Answer(c.prompt) {
		s.t.Errorf("answer %s", short(turn.Text))
	}
	committed := false
	_, err := s.Chat.Send(s.ctx, watch.Outgoing{Prompt: "look at nothing", Files: []string{filepath.Join(dir, "none")}},
		func(string, string) error { committed = true; return nil })
	if f := watch.FaultOf(err); err == nil || committed || f != nil && f.MayHaveLeft() {
		s.t.Errorf("Send with a file that is not there = %v (committed: %v)", err, committed)
	}
	s.taken("look at these")
}
