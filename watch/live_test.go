package watch_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"watcher/watch"
	"watcher/watch/watchtest"
)

// These tests run on the real clock with real events.

// live is a rig with short times and fsnotify.
func live(t *testing.T) *rig {
	r := newRig(t)
	r.cfg.Events = nil
	r.cfg.Settle, r.cfg.SendGap, r.cfg.Poll = 20*time.Millisecond, 0, 20*time.Millisecond
	r.cfg.Rescan = time.Hour // events alone must do
	return r
}

// eventually waits for a condition, with a deadline.
func (r *rig) eventually(what string, ok func() bool) {
	r.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			r.t.Fatalf("not within 20s: %s\nlog:\n%s", what, r.log)
		}
	}
}

func TestLiveEvents(t *testing.T) {
	r := live(t)
	r.running()
	r.eventually("the start", func() bool { return r.chatReady() })
	r.write("a.prompt", "hello")
	r.eventually("the answer", func() bool { return r.has("a.md") })
	r.write("sub/deep/b.prompt", "in a new folder")
	r.eventually("the answer in the new folder", func() bool { return r.has("sub/deep/b.md") })
	r.answered("a", "hello")
	r.answered("sub/deep/b", "in a new folder")
}

// chatReady primes the agent: the first prompt may come before the first scan,
// so it proves that the loop runs.
func (r *rig) chatReady() bool {
	if !r.has("ready.prompt") {
		r.write("ready.prompt", "ready?")
	}
	return r.has("ready.md")
}

// A folder that is made and filled at once, many times: nothing is missed.
func TestLiveNewFoldersAreNotMissed(t *testing.T) {
	r := live(t)
	r.running()
	r.eventually("the start", func() bool { return r.chatReady() })
	for i := range 30 {
		r.write(filepath.Join(string(rune('A'+i)), "a.prompt"), "prompt "+string(rune('A'+i)))
	}
	for i := range 30 {
		name := string(rune('A' + i))
		r.eventually(name+"/a.md", func() bool { return r.has(name + "/a.md") })
		r.answered(name+"/a", "prompt "+name)
	}
}

// Without any event source the rescan does all, and one line says so.
func TestLiveWithoutEvents(t *testing.T) {
	r := live(t)
	var asked atomic.Int32
	r.cfg.Events = func(func(_, _ string)) (watch.Source, error) {
		asked.Add(1)
		return nil, errors.New("too many open files")
	}
	r.cfg.Rescan = 10 * time.Millisecond
	r.running()
	for _, name := range []string{"a", "sub/b"} {
		r.write(name+".prompt", "prompt "+name)
		r.eventually(name, func() bool { return r.has(name + ".md") })
		r.answered(name, "prompt "+name)
	}
	if n := r.logged("no file events"); n != 1 || asked.Load() < 2 {
		t.Errorf("%d lines, asked %d times", n, asked.Load())
	}
}

// An overflow, or any error of the source, is one kick for all folders.
func TestLiveKickFindsAll(t *testing.T) {
	r := live(t)
	kick := make(chan func(dir, file string), 1)
	r.cfg.Events = func(k func(dir, file string)) (watch.Source, error) {
		kick <- k
		return watchtest.NoEvents(k)
	}
	r.running()
	lost := <-kick
	r.write("a.prompt", "hello")
	r.eventually("the answer", func() bool { lost("", ""); return r.has("a.md") })
	r.answered("a", "hello")
}

func TestLiveRootReplaced(t *testing.T) {
	r := live(t)
	r.cfg.Rescan = 20 * time.Millisecond
	r.running()
	r.eventually("the start", func() bool { return r.chatReady() })
	for i := range 3 {
		// As a person does it: until it is gone, since the agent may just write.
		r.eventually("the folder's end", func() bool { return os.RemoveAll(r.dir) == nil })
		text := "round " + string(rune('1'+i))
		r.write("a.prompt", text)
		r.eventually(text, func() bool { return r.has("a.md") })
		r.answered("a", text)
	}
}
