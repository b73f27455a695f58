package qwen_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

// TestBrowserLife follows one driver through what months bring: quiet times,
// replacements, and a page that nobody opened.
func TestBrowserLife(t *testing.T) {
	t.Parallel()
	idle := qwen.Life{Idle: 5 * time.Minute}
	s := newStage(t, qwentest.ModeHTTP, brisk, func(o *qwen.Options) { o.Life = idle })
	s.login(t)
	address, message := s.mustSend(t, "Who looks after you?")
	s.answer(t, address, message)
	starts := 1
	read := func(what string, started bool) {
		t.Helper()
		if started {
			starts++
		}
		if turn, err := s.client.Read(t.Context(), address, message, ""); err != nil || !turn.Done {
			t.Fatalf("%s: %+v, %v", what, turn, err)
		}
		if h := s.client.Health(); h.Starts != starts || !h.Running || h.Memory < 10<<20 {
			t.Fatalf("%s: %+v; want %d starts", what, h, starts)
		}
	}
	for _, wait := range []time.Duration{0, time.Second} { // at once, and when it has been frozen already
		if !s.client.Quiet(time.Minute + wait) {
			t.Fatal("a page that is not used isn't frozen")
		}
	}
	read("after a freeze", false)
	if !s.client.Quiet(time.Minute) {
		t.Fatal("it isn't frozen again")
	}
	s.mustSend(t, "From a page that was frozen nothing is sent.")
	s.client.Quiet(time.Minute)
	s.client.Forget() // a frozen page ends as others do, and the browser stays
	read("after the end of a frozen page", false)

	if s.client.Quiet(idle.Idle); s.client.Health().Running || running(t, s.profile.Dir()) > 0 {
		t.Fatalf("not closed: %+v", s.client.Health())
	}
	read("after a close", true)

	if *every { // a start costs the machine a second; TestWorn has them all
		s.client.Bound(qwen.Life{Memory: 1})
		read("over its memory", true)
		s.client.Bound(qwen.Life{Age: 1})
		read("over its age", true)
	}
	s.client.Bound(qwen.Life{Jobs: 1})
	s.mustSend(t, "This is the one that fills it.")
	recycled := s.client.Health().Recycled
	for end := time.Now().Add(time.Minute); s.client.Health().Recycled == recycled; { // not before its answer's stream ends
		if _, err := s.client.Read(t.Context(), address, message, ""); err != nil || time.Now().After(end) {
			t.Fatalf("after its jobs: %+v, %v", s.client.Health(), err)
		}
	}
	starts = s.client.Health().Starts
	s.client.Bound(idle)
	read("within its bounds", false)

	if err := s.client.Stray(); err != nil {
		t.Fatal(err)
	}
	s.client.Bound(idle)
	read("with a page that nobody opened", false)
	s.client.Forget()
	s.mustSend(t, "It is gone, or this would not be let go.")

}

// TestDeaths: browsers that keep dying are followed by others more and more
// slowly.
func TestDeaths(t *testing.T) {
	if !*every {
		return // six starts; TestDeathsModel is their model
	}
	t.Parallel()
	s := newStage(t, qwentest.ModeHTTP, brisk, nil)
	s.login(t)
	s.client.Close() // which keeps the login; a browser that is killed may not
	address, message := s.mustSend(t, "The first of many.")
	s.answer(t, address, message)
	for row := 1; row <= 6; row++ {
		syscall.Kill(s.browserPid(t), syscall.SIGKILL)
		_, err := s.client.Read(t.Context(), address, message, "")
		if e := fault(err); e != nil && e.When.IsZero() { // it was met dying
			_, err = s.client.Read(t.Context(), address, message, "")
		}
		if row < 6 && err != nil || row == 6 && (kind(err) != qwen.KindBrowser || !strings.Contains(err.Error(), "6 times in a row")) {
			t.Fatalf("death %d: %v", row, err)
		}
	}
}

// TestUpgradedUnderneath: the browser's files are replaced while it runs, as by
// apt. What runs goes on, and the next look starts the new one.
func TestUpgradedUnderneath(t *testing.T) {
	if !*every {
		return // it copies half a gigabyte
	}
	t.Parallel()
	from := lightPath()
	if from == "" {
		t.Fatal("this needs chromium-headless-shell")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(from))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, filepath.Base(from))
	s := newStage(t, qwentest.ModeHTTP, brisk, func(o *qwen.Options) { o.Browser = path })
	s.login(t)
	s.mustSend(t, "Before the upgrade.")
	copyFile(t, from, path)
	s.mustSend(t, "During the upgrade.")
	if h := s.client.Health(); h.Starts != 1 {
		t.Fatalf("it was replaced before it was looked at: %+v", h)
	}
	s.client.Bound(qwen.Life{})
	s.mustSend(t, "After the upgrade.")
	if h := s.client.Health(); h.Starts != 2 || h.Recycled != 1 {
		t.Errorf("%+v", h)
	}
}

// TestStopped: the browser is stopped for a while and goes on, as by a suspend of
// its group alone. A call meanwhile ends in time, with an error that promises
// nothing wrong; the next ones work.
func TestStopped(t *testing.T) {
	if !*every {
		return // a browser that does nothing is waited for
	}
	t.Parallel()
	s := newStage(t, qwentest.ModeHTTP, brisk, nil)
	s.login(t)
	s.client.Close() // which keeps the login; a browser that is killed may not
	address, message := s.mustSend(t, "Before it stops.")
	s.answer(t, address, message)
	group := -s.browserPid(t)
	if err := syscall.Kill(group, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.Read(t.Context(), address, message, ""); err == nil {
		t.Error("a browser that is stopped answers")
	}
	_ = syscall.Kill(group, syscall.SIGCONT) // it may have been ended
	s.answer(t, address, message)
	s.mustSend(t, "After it went on.")
}
