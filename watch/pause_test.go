package watch_test

import (
	"fmt"
	"testing"
	"time"

	"watcher/watch"
	"watcher/watch/watchtest"
)

// drained is a rig with an owner who cannot be had, and many files waiting.
func drained(r *rig, class string) {
	r.chat.Break("owner", fault(class, false))
	for i := range 50 {
		r.write(fmt.Sprintf("%02d.prompt", i), fmt.Sprint("prompt ", i))
	}
}

func TestProbesGrowRare(t *testing.T) {
	for class, most := range map[string]int{
		watch.ClassLogin: 32, watch.ClassUnreachable: 32, watch.ClassBrowser: 32, watch.ClassChallenge: 12, watch.ClassQuota: 7,
	} {
		t.Run(class, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.Rescan = 10 * time.Minute // hours pass
				drained(r, class)
				var heard []watch.Pause
				r.cfg.OnPause = func(p watch.Pause) { heard = append(heard, p) }
				r.running()
				pass(6 * time.Hour)
				if n := r.chat.Calls("owner"); n > most || n < 6 {
					t.Errorf("%d probes in 6 hours, want 6 to %d", n, most)
				}
				if n := r.logged("paused"); n > most || r.logged("waiting") > 0 {
					t.Errorf("%d lines about the pause", n)
				}
				if len(heard) == 0 || heard[0].Class != class || heard[0].Until.Before(heard[0].Since) {
					t.Errorf("heard %v", heard)
				}
				r.chat.Break("owner", nil)
				pass(2 * time.Hour)
				r.answered("00", "prompt 0")
				r.answered("49", "prompt 49")
				if last := heard[len(heard)-1]; last != (watch.Pause{}) {
					t.Errorf("the end of the pause was not told: %+v", last)
				}
			})
		})
	}
}

func TestQuotaUntil(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = 10 * time.Minute // hours pass
		back := time.Now().Add(5 * time.Hour)
		r.chat.Script(func(string, int) watchtest.Plan {
			if time.Now().Before(back) {
				return watchtest.Plan{Before: &watchtest.Fault{Kind: watch.ClassQuota, Back: back}}
			}
			return watchtest.Plan{}
		})
		r.write("a.prompt", "hello")
		r.running()
		pass(5*time.Hour - time.Minute)
		if n := r.chat.Calls("send"); n != 1 {
			t.Errorf("%d sends before the time that the site gave", n)
		}
		pass(3 * time.Minute)
		r.answered("a", "hello")
	})
}

// A quota stops sends; the answers come all the same.
func TestQuotaDoesNotStopReading(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(func(p string, _ int) watchtest.Plan {
			if p == "b" {
				return watchtest.Plan{Before: fault(watch.ClassQuota, false)}
			}
			return watchtest.Plan{Think: 2 * time.Minute}
		})
		r.write("a.prompt", "a")
		r.write("b.prompt", "b")
		r.running()
		pass(5 * time.Minute)
		r.answered("a", "a")
		if r.chat.Calls("send") != 2 {
			t.Errorf("%d sends", r.chat.Calls("send"))
		}
	})
}

func TestResume(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(first(watchtest.Plan{Before: fault(watch.ClassQuota, false)}))
		r.write("a.prompt", "hello")
		a := r.running()
		pass(10 * time.Second)
		a.Resume()
		pass(2 * time.Minute)
		r.answered("a", "hello")
	})
}

// A prompt that the page cannot bear does not hold up the others for ever.
func TestPoisonedPrompt(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = 10 * time.Minute // hours pass
		r.chat.Script(func(p string, _ int) watchtest.Plan {
			if p == "poison" {
				return watchtest.Plan{Before: fault(watch.ClassBrowser, false)}
			}
			return watchtest.Plan{}
		})
		r.write("a.prompt", "poison")
		r.write("b.prompt", "fine")
		r.write("c.prompt", "fine too")
		r.running()
		pass(time.Hour)
		r.answered("b", "fine")
		r.answered("c", "fine too")
	})
}

// A login that is lost after the release does not lead to a send per read.
func TestReadsDoNotEndAPauseOfSends(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = 10 * time.Minute // hours pass
		r.chat.Script(plan(watchtest.Plan{After: fault(watch.ClassLogin, true), Lose: true}))
		r.write("a.prompt", "hello")
		r.running()
		pass(6 * time.Hour)
		if n := r.chat.Calls("send"); n > 32 || n < 6 {
			t.Errorf("%d sends in 6 hours", n)
		}
	})
}

// A pause that an earlier run met is kept, with its back-off.
func TestPauseFromBefore(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(plan(watchtest.Plan{Before: fault(watch.ClassLogin, false)}))
		r.cfg.Pause = watch.Pause{Class: watch.ClassLogin, Reason: "log in", Since: time.Now(),
			Until: time.Now().Add(10 * time.Minute), Fails: 4}
		var last watch.Pause
		r.cfg.OnPause = func(p watch.Pause) { last = p }
		r.write("a.prompt", "hello")
		r.outcome(r.generate()[0], watch.CannotSend, watch.ClassLogin, "log in")
		r.running()
		pass(9 * time.Minute)
		if n := r.chat.Calls("owner"); n != 0 {
			t.Errorf("%d calls during the pause", n)
		}
		pass(2 * time.Minute)
		if wait := time.Until(last.Until); last.Fails != 5 || !last.Person || wait < 10*time.Minute {
			t.Errorf("pause = %+v, next attempt in %v", last, wait)
		}
	})
}

// An error of Owner speaks of no job, whatever class it claims.
func TestOwnerFailsNoJob(t *testing.T) {
	for _, class := range jobClasses {
		t.Run(class, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.chat.Break("owner", fault(class, false))
				r.write("a.prompt", "hello")
				r.running()
				pass(10 * time.Minute)
				if n := r.chat.Calls("owner"); n < 2 || n > 8 || r.has("a.md.err") {
					t.Errorf("%d calls in 10 minutes, .md.err %v", n, r.has("a.md.err"))
				}
				r.chat.Break("owner", nil)
				pass(20 * time.Minute)
				r.answered("a", "hello")
			})
		})
	}
}
