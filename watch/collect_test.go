package watch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"watcher/state"
	"watcher/watch"
	"watcher/watch/watchtest"
)

func plan(p watchtest.Plan) func(string, int) watchtest.Plan {
	return func(string, int) watchtest.Plan { return p }
}

func TestStalled(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = 10 * time.Minute // hours pass
		r.chat.Script(plan(watchtest.Plan{Stuck: true}))
		r.write("a.prompt", "hello")
		a := r.running()
		pass(25 * time.Minute)
		if r.has("a.md.err") {
			t.Error("it failed too early")
		}
		pass(15 * time.Minute)
		f := r.failed("a", watch.ClassStalled)
		whole := watchtest.Answer("hello")
		if f.Partial != whole[:len(whole)/2] || f.Address != r.marker("a").Address || r.has("a.md") {
			t.Errorf("failure = %+v", f)
		}
		// One more look is one file away.
		if f.Command != "rm -- '"+r.path("a.md.err")+"'" {
			t.Errorf("command %q", f.Command)
		}
		reads := r.chat.Calls("read")
		pass(time.Hour)
		if r.chat.Calls("read") != reads {
			t.Error("a failed chat is still read")
		}
		r.remove("a.md.err")
		a.Kick()
		pass(2 * time.Minute)
		if r.chat.Calls("read") == reads || r.chat.Count("hello") != 1 {
			t.Error("the chat was not looked at again")
		}
	})
}

// An answer that came after the program gave up is one file away, and is not asked
// for again.
func TestLateAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = 10 * time.Minute // hours pass
		r.chat.Script(plan(watchtest.Plan{Stuck: true, Wakes: time.Hour}))
		r.write("a.prompt", "hello")
		a := r.running()
		pass(2 * time.Hour)
		r.failed("a", watch.ClassStalled)
		if r.has("a.md") {
			t.Error("an answer beside a failure")
		}
		r.remove("a.md.err")
		a.Kick()
		pass(2 * time.Minute)
		r.answered("a", "hello")
		if r.has("a.md.err") || r.chat.Calls("send") != 1 {
			t.Errorf("sent %d times\n%s", r.chat.Calls("send"), r.log)
		}
	})
}

func TestSlowAnswersAreNotStalled(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = 10 * time.Minute // hours pass
		r.chat.Script(plan(watchtest.Plan{Think: 5 * time.Hour}))
		r.write("a.prompt", "hello")
		r.running()
		pass(5*time.Hour + 5*time.Minute)
		r.answered("a", "hello")
	})
}

func TestExpired(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = 10 * time.Minute // hours pass
		r.chat.Script(plan(watchtest.Plan{Think: 100 * time.Hour}))
		r.write("a.prompt", "hello")
		r.running()
		pass(23 * time.Hour)
		if r.has("a.md.err") {
			t.Error("it failed too early")
		}
		pass(2 * time.Hour)
		r.failed("a", watch.ClassExpired)
	})
}

// One read precedes the verdict: what became whole meanwhile is an answer.
func TestOldMarkerIsReadBeforeItExpires(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = 10 * time.Minute // hours pass
		r.write("a.prompt", "hello")
		_, stop := r.start()
		pass(5 * time.Second)
		stop()
		pass(100 * time.Hour)
		r.running()
		pass(time.Minute)
		r.answered("a", "hello")
	})
}

func TestGone(t *testing.T) {
	for name, c := range map[string]struct {
		owner string // who is logged in when the chat is gone
		class string
	}{
		"while its owner is logged in": {"0123456789abcdef", watch.ClassGone},
		"another account is":           {"ffff", ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.Rescan = 10 * time.Minute // hours pass
				r.chat.Script(plan(watchtest.Plan{Think: 10 * time.Minute}))
				r.write("a.prompt", "hello")
				r.running()
				pass(10 * time.Second)
				r.chat.Delete(r.marker("a").Address)
				r.chat.Login(c.owner)
				pass(3 * time.Hour)
				r.failed("a", c.class)
				if r.chat.Count("hello") != 1 || !r.has("a.md.url") {
					t.Error("a chat that is gone was asked again")
				}
				if n := r.logged("another account"); n > 1 || (n == 1) != (c.class == "") {
					t.Errorf("%d lines about the other account", n)
				}
			})
		})
	}
}

// What there is of an answer that failed is kept, and never called an answer.
func TestFailedAnswers(t *testing.T) {
	for name, command := range map[string]string{
		watch.ClassGeneration: "touch -- ", watch.ClassFiltered: "touch -- ", watch.ClassInvalid: "rm -- ",
		watch.ClassGeneration + ", goes on": "rm -- ",
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				class, _, more := strings.Cut(name, ",")
				fails := fault(class, true)
				fails.More = more
				r.chat.Script(plan(watchtest.Plan{Fails: fails}))
				r.write("a.prompt", "hello")
				r.running()
				pass(3 * time.Minute)
				whole := watchtest.Answer("hello")
				if f := r.failed("a", class); f.Partial != whole[:len(whole)/2] || r.has("a.md") {
					t.Errorf("partial %q of %q", f.Partial, whole)
				}
				if f := r.failed("a", class); f.Address != r.marker("a").Address || !strings.HasPrefix(f.Command, command) {
					t.Errorf("failure = %+v", f)
				}
			})
		})
	}
}

// Whatever goes wrong with the queue while collecting, no job fails for it.
func TestReadsThatFail(t *testing.T) {
	for _, class := range queueClasses {
		t.Run(class, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.Rescan = 10 * time.Minute // hours pass
				r.write("a.prompt", "hello")
				r.running()
				pass(10 * time.Second)
				r.chat.Break("read", fault(class, true))
				pass(30 * time.Hour) // longer than Expire and Stall
				if r.has("a.md.err") || r.has("a.md") {
					t.Fatalf("the job failed for a reason of the queue's:\n%s", r.log)
				}
				if n := r.logged("cannot read the chat"); n > 140 {
					t.Errorf("%d lines in 30 hours", n)
				}
				r.chat.Break("read", nil)
				pass(20 * time.Minute)
				r.answered("a", "hello")
				if r.logged("recovered", `"count"`) == 0 {
					t.Error("no line about the recovery")
				}
			})
		})
	}
}

func TestPoke(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(plan(watchtest.Plan{Think: 10 * time.Second}))
		r.write("a.prompt", "hello")
		a := r.running()
		pass(13 * time.Second)
		if r.has("a.md") {
			t.Fatal("collected before the poke")
		}
		a.Poke("https://chat.example/c/not-ours")
		a.Poke(r.marker("a").Address)
		pass(time.Millisecond)
		r.answered("a", "hello")
	})
}

func TestWarnsOfAnotherText(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(plan(watchtest.Plan{Rename: "not what was sent", Think: 10 * time.Minute}))
		r.write("a.prompt", "hello")
		r.running()
		pass(15 * time.Minute)
		r.answered("a", "hello")
		if n := r.logged("another text"); n != 1 {
			t.Errorf("%d warnings, want 1", n)
		}
	})
}

// A marker that is replaced while it is collected: the one in the folder counts.
func TestMarkerReplacedWhileCollecting(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.write("b.prompt", "other")
		r.running()
		pass(2 * time.Minute)
		r.answered("b", "other")
		r.chat.Script(plan(watchtest.Plan{Think: time.Hour}))
		r.write("a.prompt", "hello")
		pass(50 * time.Second)
		m := r.marker("b")
		m.By, m.Stage = "ffff", state.StageReleased
		r.write("a.md.url", m.String())
		pass(3 * time.Minute)
		if got := r.read("a.md"); got != watchtest.Answer("other") {
			t.Errorf("a.md = %q\n%s", got, r.log)
		}
		if n := r.logged("marker was replaced"); n != 1 || r.chat.Calls("send") != 2 {
			t.Errorf("%d lines, %d sends", n, r.chat.Calls("send"))
		}
	})
}

func TestProgress(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var got []string
		r.cfg.Progress = func(p watch.Progress) {
			got = append(got, fmt.Sprintf("%s %.0fs %d", p.Phase, p.Elapsed.Seconds(), p.Characters))
			if p.Job != r.path("a") {
				t.Errorf("job %q", p.Job)
			}
		}
		r.chat.Script(plan(watchtest.Plan{Think: 90 * time.Second}))
		r.write("a.prompt", "hello")
		r.running()
		pass(3 * time.Minute)
		n := len(watchtest.Answer("hello"))
		if len(got) != 4 || got[0] != "sending 2s 0" || got[1] != "waiting 2s 0" ||
			!strings.HasPrefix(got[3], "done ") || !strings.HasSuffix(got[3], fmt.Sprint(" ", n)) {
			t.Errorf("progress %q", got)
		}
	})
}
