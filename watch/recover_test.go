package watch_test

import (
	"testing"
	"time"

	"watcher/state"
	"watcher/watch"
	"watcher/watch/watchtest"
)

// crashed leaves a folder as a program does that died right after its release.
// The plan says what became of the prompt.
func (r *rig) crashed(p watchtest.Plan) {
	r.t.Helper()
	p.After = fault(watch.ClassUnreachable, true)
	r.chat.Script(first(p))
	r.write("a.prompt", "hello")
	_, stop := r.start()
	pass(3 * time.Second)
	stop()
	if m := r.marker("a"); m.Stage != state.StageReleased {
		r.t.Fatalf("marker = %+v", m)
	}
}

func TestRestartOnReleased(t *testing.T) {
	for name, p := range map[string]watchtest.Plan{
		"it arrived": {}, "it arrives late": {Late: 100 * time.Second}, "it was lost": {Lose: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.crashed(p)
				pass(time.Second)
				r.running()
				pass(10 * time.Minute)
				r.answered("a", "hello")
			})
		})
	}
}

// The grace is counted anew by each process: no clock of a dead one counts.
func TestRestartCountsTheGraceAnew(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.crashed(watchtest.Plan{Lose: true})
		for range 5 {
			_, stop := r.start()
			pass(100 * time.Second)
			stop()
		}
		if n := r.chat.Calls("send"); n != 1 {
			t.Errorf("%d sends", n)
		}
	})
}

func TestReleasedBySomebodyElse(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = 10 * time.Minute // hours pass
		r.crashed(watchtest.Plan{Lose: true})
		r.chat.Login("ffff")
		_, stop := r.start()
		pass(3 * time.Hour)
		if r.chat.Calls("send") != 1 || !r.has("a.md.url") || r.has("a.md.err") {
			t.Errorf("another owner's job was touched:\n%s", r.log)
		}
		stop()
		r.chat.Login("0123456789abcdef")
		r.running()
		pass(5 * time.Minute)
		r.answered("a", "hello")
	})
}

func TestReleasedBySomebodyElseIsCollected(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.crashed(watchtest.Plan{})
		r.chat.Login("ffff")
		r.running()
		pass(3 * time.Minute)
		r.answered("a", "hello")
		if m := r.marker("a"); m.Stage != state.StageReleased {
			t.Errorf("another owner's marker was written: %+v", m)
		}
	})
}

// As long as nobody can tell, it is not sent; at last it fails and says so.
func TestAmbiguous(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = 10 * time.Minute // hours pass
		r.crashed(watchtest.Plan{Lose: true})
		r.chat.Delete(r.marker("a").Address)
		r.running()
		pass(23 * time.Hour)
		if r.has("a.md.err") {
			t.Error("it failed too early")
		}
		pass(2 * time.Hour)
		f := r.failed("a", watch.ClassAmbiguous)
		if want := "touch -- '" + r.path("a.prompt.retry") + "'"; f.Command != want || f.Address == "" {
			t.Errorf("failure = %+v, want command %s", f, want)
		}
		if r.chat.Calls("send") != 1 {
			t.Error("it was sent again")
		}
	})
}

func TestUnreadableIsNeverEmpty(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = 10 * time.Minute // hours pass
		r.crashed(watchtest.Plan{Lose: true})
		r.chat.Break("read", fault(watch.ClassUnreachable, true))
		r.running()
		pass(30 * time.Hour)
		if r.chat.Calls("send") != 1 || r.has("a.md.err") || !r.has("a.md.url") {
			t.Errorf("a chat that cannot be read was judged:\n%s", r.log)
		}
		r.chat.Break("read", nil)
		pass(30 * time.Minute)
		if r.answered("a", "hello"); r.chat.Calls("send") != 2 {
			t.Errorf("%d sends: it is proved that the first never arrived", r.chat.Calls("send"))
		}
	})
}

// The machine was off for days, or the clock is wrong: the first read of a
// chat that looks older than --expire is no verdict. What can be proved is.
func TestOldDoubt(t *testing.T) {
	for name, p := range map[string]watchtest.Plan{"taken": {}, "lost": {Lose: true}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.crashed(p)
				pass(72 * time.Hour)
				r.running()
				pass(10 * time.Minute)
				if r.answered("a", "hello"); r.chat.Count("hello") != 1 {
					t.Errorf("taken %d times\n%s", r.chat.Count("hello"), r.log)
				}
			})
		})
	}
}

// A marker without an address: the chat is looked for.
func TestFind(t *testing.T) {
	sent := func(t *testing.T, r *rig, prompts ...string) {
		r.cfg.SendGap = 0
		for i, p := range prompts {
			r.write(string(rune('x'+i))+".prompt", p)
		}
		_, stop := r.start()
		pass(3 * time.Minute)
		stop()
	}
	for name, c := range map[string]struct {
		marker string
		before []string // the first messages of the account's other chats
		prompt string
		class  string
	}{
		"one chat":           {"", []string{"hello", "other"}, "hello", ""},
		"one chat, cut":      {"https://chat.example/c/0000", []string{"hello"}, "hello", ""},
		"no chat":            {"", []string{"other"}, "hello", watch.ClassAmbiguous},
		"two chats":          {"", []string{"hello", "hello"}, "hello", watch.ClassAmbiguous},
		"there is no prompt": {"", []string{"hello"}, "", watch.ClassAmbiguous},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				sent(t, r, c.before...)
				r.write("a.md.url", c.marker)
				if c.prompt != "" {
					r.write("a.prompt", c.prompt)
				}
				r.running()
				pass(10 * time.Minute)
				r.failed("a", c.class)
				if c.class == "" && (r.read("a.md") != watchtest.Answer("hello") || r.marker("a").Address == "") {
					t.Errorf("a.md = %q, marker %+v", r.read("a.md"), r.marker("a"))
				}
				if n := r.chat.Calls("send"); n != len(c.before) {
					t.Errorf("%d sends, want %d", n, len(c.before))
				}
			})
		})
	}
}

// The site has it, but the marker could not be moved on: it is never taken
// back, and moved on later.
func TestConfirmedButNotWritten(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		began := time.Now()
		r.cfg.DirOptions = []state.Option{failAt(state.StepRename, func() bool { return time.Since(began) < time.Minute })}
		r.chat.Script(plan(watchtest.Plan{Think: 20 * time.Minute}))
		r.write("a.prompt", "hello")
		r.running()
		pass(30 * time.Second)
		if m := r.marker("a"); m.Stage != state.StageReleased {
			t.Fatalf("marker = %+v", m)
		}
		pass(5 * time.Minute)
		if m := r.marker("a"); m.Stage != state.StageSent {
			t.Errorf("marker = %+v\n%s", m, r.log)
		}
		pass(20 * time.Minute)
		r.answered("a", "hello")
	})
}
