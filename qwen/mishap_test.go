package qwen_test

import (
	"fmt"
	"testing"
	"time"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

// later is a clock that is ahead of the system's.
type later time.Duration

func (l later) Now() time.Time                       { return time.Now().Add(time.Duration(l)) }
func (later) After(d time.Duration) <-chan time.Time { return time.After(d) }

// TestShownLate: the connection breaks, and the chat shows the prompt only much
// later. It is empty until then, has our message and its answer from then on,
// and the prompt is there once.
func TestShownLate(t *testing.T) {
	t.Parallel()
	s := onLight(t, "h1", brisk)
	prompt := "Taken, and not shown for an hour."
	s.site.Fault(qwentest.Fault{Kind: qwentest.Late, Match: prompt, Delay: time.Hour})
	s.site.Fault(qwentest.Fault{Kind: qwentest.DropFIN, Match: prompt})
	address, _, err := s.send(t.Context(), prompt)
	outcome{qwen.KindUnreachable, true, 1, 1}.check(t, s, prompt, err)
	if turn, err := s.client.Read(t.Context(), address, "", ""); err != nil || !turn.Empty || turn.Message != "" || turn.Text != "" {
		t.Errorf("before it shows: %+v, %v", turn, err)
	}
	o := brisk
	o.Clock = later(2 * time.Hour)
	s.configure(o)
	if turn := s.answer(t, address, ""); turn.Empty || turn.Message == "" || turn.Text != qwentest.Answer(prompt) {
		t.Errorf("when it shows: %+v", turn)
	}
	if got := s.site.Find(prompt); got.Posted != 1 || got.Accepted != 1 {
		t.Errorf("posted %d, accepted %d", got.Posted, got.Accepted)
	}
}

// TestDoubtIsNoProof: after a break before the site's answer, what the chat
// shows by mistake is taken neither for an empty chat nor for our answer; so
// nobody sends again for it.
func TestDoubtIsNoProof(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault qwentest.Fault
		want  qwen.Kind
		back  bool // the chat can be read when the fault is over
	}{
		"deleted":       {qwentest.Fault{Kind: qwentest.Gone, Delay: time.Nanosecond}, qwen.KindGone, false},
		"not found":     {qwentest.Fault{Kind: qwentest.NotFound, On: qwentest.OnChat, Times: qwentest.Always}, qwen.KindGone, true},
		"another chat":  {qwentest.Fault{Kind: qwentest.WrongChat, Times: qwentest.Always}, qwen.KindUnreachable, true},
		"a server page": {qwentest.Fault{Kind: qwentest.Garbage, On: qwentest.OnChat, Times: qwentest.Always}, qwen.KindSiteChanged, true},
	} {
		if leftOut(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := onLight(t, "h2", brisk)
			s.mustSend(t, "An ordinary chat, for the mishap "+name+".")
			prompt := "A break, and then the mishap " + name + "."
			s.site.Fault(qwentest.Fault{Kind: qwentest.DropRST, Match: prompt})
			s.site.Fault(c.fault)
			address, _, err := s.send(t.Context(), prompt)
			outcome{qwen.KindUnreachable, true, 1, 1}.check(t, s, prompt, err)
			turn, err := s.client.Read(t.Context(), address, "", "")
			if kind(err) != c.want || turn.Empty || turn.Done || turn.Message != "" || turn.Text != "" {
				t.Errorf("%+v, %v (%s); want %s", turn, err, kind(err), c.want)
			}
			s.site.Clear()
			if c.back && s.answer(t, address, "").Text != qwentest.Answer(prompt) {
				t.Error("the answer differs")
			}
		})
	}
}

// TestWrongChatAfterTheHeaders: the site answers, its stream says nothing, and
// the chat that is asked instead is another. Its message is not ours.
func TestWrongChatAfterTheHeaders(t *testing.T) {
	if leftOut("the wrong chat") {
		return
	}
	t.Parallel()
	s := onLight(t, "h1", brisk)
	s.mustSend(t, "The chat that is shown by mistake.")
	prompt := "The chat that should be shown."
	s.site.Fault(qwentest.Fault{Kind: qwentest.HeadersFIN, Match: prompt})
	s.site.Fault(qwentest.Fault{Kind: qwentest.WrongChat, Times: qwentest.Always})
	address, message, err := s.send(t.Context(), prompt)
	s.site.Clear()
	outcome{qwen.KindUnreachable, true, 1, 1}.check(t, s, prompt, err)
	if message != "" {
		t.Errorf("our message is %q", message)
	}
	if got := s.answer(t, address, "").Text; got != qwentest.Answer(prompt) {
		t.Errorf("the answer differs: %q", got)
	}
}

// TestSameTextAgain: a text that was sent before is a prompt of its own. Each
// chat has its message, and whoever looks for the text finds all.
func TestSameTextAgain(t *testing.T) {
	if leftOut("the same text") {
		return
	}
	t.Parallel()
	s := onLight(t, "h2", brisk)
	prompt := "The very same text."
	chats := map[string]bool{}
	for i := range 3 {
		if i == 1 { // a break: what is in the first chat says nothing about the second
			s.site.Fault(qwentest.Fault{Kind: qwentest.DropRST, Match: prompt})
		}
		address, message, err := s.send(t.Context(), prompt)
		if (err == nil) != (i != 1) {
			t.Fatal(err)
		}
		chats[address] = true
		if turn := s.answer(t, address, message); turn.Text != qwentest.Answer(prompt) || (message != "" && turn.Message != message) {
			t.Errorf("%d: %+v", i, turn)
		}
		if e := s.site.Find(prompt); e.Posted != i+1 || e.Accepted != i+1 {
			t.Errorf("%d: posted %d, accepted %d", i, e.Posted, e.Accepted)
		}
	}
	found, err := s.client.Find(t.Context(), prompt)
	if err != nil || len(found) != 3 || len(chats) != 3 {
		t.Errorf("found %v, %v; sent to %v", found, err, fmt.Sprint(chats))
	}
}
