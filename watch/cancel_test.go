package watch_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"watcher/state"
	"watcher/watch"
	"watcher/watch/watchtest"
)

// Before the send: not sent, not later either, until a person says so.
func TestCancelBeforeTheSend(t *testing.T) {
	for name, do := range map[string]func(r *rig){
		"before the prompt": func(r *rig) { r.write("a.prompt.cancel", ""); r.write("a.prompt", "hello") },
		"at once":           func(r *rig) { r.write("a.prompt", "hello"); r.write("a.prompt.cancel", "") },
		"while it settles":  func(r *rig) { r.write("a.prompt", "hello"); pass(time.Second); r.write("a.prompt.cancel", "") },
		"while it is held": func(r *rig) {
			r.write("a.prompt.hold", "")
			r.write("a.prompt", "hello")
			pass(time.Minute)
			r.write("a.prompt.cancel", "")
			pass(time.Minute)
			r.remove("a.prompt.hold")
		},
		"while the send is held": func(r *rig) {
			r.chat.Script(plan(watchtest.Plan{Takes: 5 * time.Second}))
			r.write("a.prompt", "hello")
			pass(4 * time.Second)
			r.write("a.prompt.cancel", "")
		},
		"while the queue is paused": func(r *rig) {
			r.chat.Break("owner", fault(watch.ClassLogin, false))
			r.write("a.prompt", "hello")
			pass(time.Minute)
			r.write("a.prompt.cancel", "")
			pass(time.Minute)
			r.chat.Break("owner", nil)
		},
		"with a retry": func(r *rig) {
			// In an order in which no program can take up the one without the other.
			r.write("a.prompt.cancel", "")
			r.write("a.prompt.retry", "")
			r.write("a.prompt", "hello")
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.Rescan = time.Second
				r.running()
				do(r)
				pass(5 * time.Minute)
				r.unsent("a")
				if f := r.failed("a", watch.ClassCancelled); f.Prompt != "" || f.Address != "" {
					t.Errorf("failure = %+v", f)
				}
				if r.has("a.prompt.cancel") || r.has("a.prompt.retry") {
					t.Error("it was not acknowledged")
				}
				r.write("a.prompt", "hello, better") // no edit sends what was cancelled
				pass(5 * time.Minute)
				r.unsent("a")
				r.remove("a.md.err")
				pass(2 * time.Minute)
				r.answered("a", "hello, better")
			})
		})
	}
}

// After the send: the site is asked to stop, and polling ends.
func TestCancelAfterTheSend(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = time.Second
		r.chat.Script(first(watchtest.Plan{Think: time.Hour}))
		r.write("a.prompt", "hello")
		r.running()
		pass(10 * time.Minute)
		r.write("a.prompt.cancel", "")
		pass(5 * time.Second)
		f := r.failed("a", watch.ClassCancelled)
		// What the site wrote until it heard of the stop is kept, too.
		whole := watchtest.Answer("hello")
		if least := len(whole) * (10*60 + watchtest.LastWords) / 3600; len(f.Partial) < least || !strings.HasPrefix(whole, f.Partial) {
			t.Errorf("%d bytes of %d are kept, want at least %d", len(f.Partial), len(whole), least)
		}
		if f.Address != r.marker("a").Address || f.Prompt == "" || !strings.Contains(f.Command, ".prompt.retry") {
			t.Errorf("failure = %+v", f)
		}
		if r.has("a.prompt.cancel") || r.chat.Calls("stop") != 1 {
			t.Errorf("%d stops", r.chat.Calls("stop"))
		}
		reads := r.chat.Calls("read")
		pass(time.Hour)
		if r.chat.Calls("read") != reads {
			t.Error("it is still being read")
		}
		r.remove("a.md.err") // the marker stands: no new send
		pass(time.Hour)
		if r.failed("a", watch.ClassGeneration); r.chat.Count("hello") != 1 {
			t.Error("it was sent again")
		}
	})
}

// An answer that is whole is worth more than a cancellation.
func TestCancelTooLate(t *testing.T) {
	for name, think := range map[string]time.Duration{"whole, not read yet": 30 * time.Second, "done": 0} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.Rescan, r.cfg.Poll = time.Second, 10*time.Minute
				r.chat.Script(plan(watchtest.Plan{Think: think}))
				r.write("a.prompt", "hello")
				r.running()
				pass(2 * time.Minute)
				r.write("a.prompt.cancel", "")
				pass(10 * time.Second)
				r.answered("a", "hello")
				if r.has("a.md.err") || r.has("a.prompt.cancel") || r.chat.Calls("stop") != 0 {
					t.Errorf("error %v, %d stops", r.has("a.md.err"), r.chat.Calls("stop"))
				}
			})
		})
	}
}

// Nothing that is wrong with the chat keeps a job going that its user gave up.
func TestCancelInTrouble(t *testing.T) {
	for name, do := range map[string]func(r *rig){
		"no stop": func(r *rig) { r.chat.Break("stop", fault(watch.ClassUnreachable, true)) },
		"no read": func(r *rig) { r.chat.Break("read", fault(watch.ClassLogin, true)) },
		"paused": func(r *rig) {
			r.chat.Break("read", fault(watch.ClassUnreachable, true))
			pass(5 * time.Minute)
		},
		"no chat":   func(r *rig) { r.chat.Delete(r.marker("a").Address) },
		"no answer": func(*rig) {},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.Rescan = time.Second
				r.chat.Script(plan(watchtest.Plan{Think: time.Hour}))
				r.write("a.prompt", "hello")
				r.running()
				pass(10 * time.Second)
				do(r)
				r.write("a.prompt.cancel", "")
				pass(5 * time.Second)
				f := r.failed("a", watch.ClassCancelled)
				if again := strings.HasPrefix(f.Command, "touch"); again != (name == "no answer") || r.has("a.prompt.cancel") {
					t.Errorf("failure = %+v", f)
				}
			})
		})
	}
}

// In doubt whether it left: cancelled all the same, and never sent by that.
func TestCancelReleased(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = time.Minute
		r.crashed(watchtest.Plan{Lose: true})
		r.write("a.prompt.cancel", "")
		r.running()
		pass(time.Hour)
		if r.failed("a", watch.ClassCancelled); r.chat.Calls("send") != 1 {
			t.Error("it was sent again")
		}
		r.remove("a.md.err")
		pass(10 * time.Minute)
		r.answered("a", "hello")
	})
}

// Another program's job is left to that program for a while.
func TestCancelTheirs(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = time.Second
		r.chat.Script(plan(watchtest.Plan{Think: time.Hour}))
		r.write("b.prompt", "so that the owner is known")
		r.running()
		pass(10 * time.Second)
		r.write("a.md.url", state.Marker{Address: r.marker("b").Address, Prompt: state.Fingerprint("x"), By: "another", Stage: state.StageSent}.String())
		r.write("a.prompt", "x")
		pass(5 * time.Second)
		r.write("a.prompt.cancel", "")
		pass(100 * time.Second)
		if r.has("a.md.err") || r.logged("left to its owner") != 1 {
			t.Errorf("it was taken from its owner\n%s", r.log)
		}
		pass(30 * time.Second)
		r.failed("a", watch.ClassCancelled)
	})
}

// A control file that cannot be removed stops nothing but its job.
func TestControlThatStays(t *testing.T) {
	for _, kind := range []string{".cancel", ".retry"} {
		t.Run(kind, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.Rescan = time.Second
				if err := os.Mkdir(r.path("a.prompt"+kind), 0o777); err != nil {
					t.Fatal(err)
				}
				r.write("a.prompt", "hello")
				r.write("b.prompt", "another")
				r.running()
				pass(2 * time.Minute)
				r.answered("b", "another")
				if r.chat.Count("hello") != 0 || strings.Count(r.log.String(), "\n") > 30 {
					t.Errorf("sent %d times\n%s", r.chat.Count("hello"), r.log)
				}
			})
		})
	}
}
