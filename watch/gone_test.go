package watch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"watcher/state"
	"watcher/watch"
	"watcher/watch/watchtest"
)

// answeredAll sends and answers n prompts: 0.prompt, …
func (r *rig) answeredAll(n int) {
	r.t.Helper()
	for i := range n {
		r.write(fmt.Sprintf("%d.prompt", i), fmt.Sprint("text ", i))
	}
	pass(2 * time.Minute)
	for i := range n {
		r.answered(fmt.Sprint(i), fmt.Sprint("text ", i))
	}
}

// clean removes what the patterns match, as a tool does.
func (r *rig) clean(patterns ...string) {
	r.t.Helper()
	for _, p := range patterns {
		files, err := filepath.Glob(r.path(p))
		if err != nil {
			r.t.Fatal(err)
		}
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// mirror does what rsync --delete does when the source has the prompts only.
func (r *rig) mirror() { r.clean("*.md*", "watcher.*", ".watcher-*") }

// gone checks whether the folder is paused for its keys.
func (r *rig) gone(want bool) {
	r.t.Helper()
	if got := strings.Contains(r.read("watcher.paused"), "class: keys-gone\n"); got != want {
		r.t.Errorf("paused for its keys: %v, want %v; watcher.paused:\n%s\nlog:\n%s", got, want, r.read("watcher.paused"), r.log)
	}
}

func goneRig(t *testing.T, f func(t *testing.T, r *rig, a *watch.Agent)) {
	t.Helper()
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.SendGap, r.cfg.InFlight = 0, 10
		a := r.running()
		f(t, r, a)
	})
}

// All markers vanish, the prompts stay: nothing is sent until a person deletes
// the notice.
func TestKeysGone(t *testing.T) {
	for name, take := range map[string]func(r *rig){
		"done jobs":     func(r *rig) { r.mirror() },
		"markers first": func(r *rig) { r.clean("*.md.url"); pass(31 * time.Second); r.clean("*.md") },
		"three of them": func(r *rig) { r.clean("[0-2].md*") },
		"in three rescans": func(r *rig) {
			r.clean("0.md*")
			pass(9 * time.Second)
			r.clean("1.md*")
			pass(9 * time.Second)
			r.clean("2.md*")
		},
	} {
		t.Run(name, func(t *testing.T) {
			goneRig(t, func(t *testing.T, r *rig, a *watch.Agent) {
				if name == "in three rescans" {
					go func() { // events make scans more frequent than rescans
						for range 200 {
							time.Sleep(time.Second)
							a.Kick()
						}
					}()
				}
				r.answeredAll(5)
				take(r)
				pass(3 * time.Minute)
				r.gone(true)
				if n := r.logged("folder paused", "keys-gone"); n != 1 || !r.has(state.WitnessFile) {
					t.Errorf("%d lines\n%s", n, r.log)
				}
				got, err := a.Step(t.Context(), r.path("1.prompt"))
				if err != nil {
					t.Fatal(err)
				}
				if r.outcome(got, watch.CannotSend, watch.ClassKeysGone, "markers"); got.Hint == "" || got.Next != 0 {
					t.Errorf("result = %+v", got)
				}
				r.write("new.prompt", "a new one")
				pass(time.Hour)
				if n := len(r.chat.Accepted()); n != 5 {
					t.Errorf("%d sends, want 5\n%s", n, r.log)
				}
				r.remove("watcher.paused")
				pass(10 * time.Minute)
				r.answered("new", "a new one")
				r.gone(false)
				if n := r.chat.Count("text 1"); n != 2 || r.has(state.WitnessFile) {
					t.Errorf("text 1 was taken %d times, want twice, by a person's wish\n%s", n, r.log)
				}
			})
		})
	}
}

// Nothing of this is a tool gone wild.
func TestKeysNotGone(t *testing.T) {
	for name, do := range map[string]func(r *rig){
		"two markers":  func(r *rig) { r.clean("[0-1].md*") },
		"answers only": func(r *rig) { r.clean("*.md") },
		"markers only": func(r *rig) { r.clean("*.md.url") },
		"whole jobs":   func(r *rig) { r.clean("*.md*", "*.prompt") },
		"another branch": func(r *rig) {
			r.clean("*.md*", "*.prompt")
			r.write("x.prompt", "x")
			r.write("y.prompt", "y")
			r.write("z.prompt", "z")
		},
		"whole jobs, slowly": func(r *rig) { r.clean("*.md*"); pass(time.Second); r.clean("*.prompt") },
		"retries": func(r *rig) {
			r.write("0.prompt.retry", "")
			r.write("1.prompt.retry", "")
			r.write("2.prompt.retry", "")
		},
		"one now, one later": func(r *rig) {
			r.clean("0.md*")
			pass(time.Minute)
			r.clean("1.md*")
			pass(time.Minute)
			r.clean("2.md*")
		},
		"two that come back":   func(r *rig) { r.swapped("[0-1].md*") },
		"the folder is new":    func(r *rig) { r.away(); os.Mkdir(r.dir, 0o777) },
		"failed ones cleaned":  func(r *rig) { r.clean("*.md"); r.clean("*.md.err") },
		"markers and prompts":  func(r *rig) { r.clean("*.md.url", "*.prompt") },
		"prompts first, later": func(r *rig) { r.clean("*.prompt"); pass(40 * time.Second); r.clean("*.md*") },
	} {
		t.Run(name, func(t *testing.T) {
			goneRig(t, func(t *testing.T, r *rig, _ *watch.Agent) {
				r.answeredAll(5)
				do(r)
				pass(5 * time.Minute)
				if r.gone(false); r.logged("folder paused") > 0 {
					t.Errorf("log:\n%s", r.log)
				}
				for _, p := range r.chat.Accepted() {
					if n := r.chat.Count(p.Prompt); n > 1 && (name == "two that come back" || name == "markers only") {
						t.Errorf("%q was taken %d times", p.Prompt, n)
					}
				}
			})
		})
	}
}

// swapped takes files away and puts them back a moment later, as some sync
// tools replace them.
func (r *rig) swapped(pattern string) {
	r.t.Helper()
	files, err := filepath.Glob(r.path(pattern))
	if err != nil {
		r.t.Fatal(err)
	}
	kept := map[string]string{}
	for _, f := range files {
		kept[filepath.Base(f)] = r.read(filepath.Base(f))
	}
	r.clean(pattern)
	r.last.Kick()
	pass(5 * time.Second)
	for f, text := range kept {
		r.write(f, text)
	}
}

// The pause is the folder's: it survives the program, binds other profiles and
// one-shot calls, and a tool that clears the folder again does not end it.
func TestKeysGoneStays(t *testing.T) {
	prepare := func(r *rig) {
		_, stop := r.start()
		r.answeredAll(5)
		r.mirror()
		pass(time.Minute)
		stop()
		r.gone(true)
	}
	none := func(t *testing.T, r *rig) {
		t.Helper()
		if n := len(r.chat.Accepted()); n != 5 {
			t.Errorf("%d sends, want 5\n%s", n, r.log)
		}
		r.gone(true)
	}
	for name, do := range map[string]func(t *testing.T, r *rig){
		"over a restart": func(t *testing.T, r *rig) { r.running(); pass(time.Hour); none(t, r) },
		"for generate": func(t *testing.T, r *rig) {
			r.outcome(r.generate("1.prompt")[0], watch.CannotSend, watch.ClassKeysGone, "markers")
			none(t, r)
		},
		"for another profile": func(t *testing.T, r *rig) {
			r.cfg.ID = "99887766"
			_, stop := r.start()
			pass(time.Hour)
			none(t, r)
			r.remove("watcher.paused")
			pass(10 * time.Minute)
			stop()
			if r.gone(false); len(r.chat.Accepted()) != 10 {
				t.Errorf("%d sends, want all again", len(r.chat.Accepted()))
			}
		},
		"mirrored again": func(t *testing.T, r *rig) {
			r.running()
			for range 3 {
				pass(time.Minute)
				r.mirror()
			}
			pass(time.Minute)
			none(t, r)
		},
		"deleted while nothing ran": func(t *testing.T, r *rig) {
			r.remove("watcher.paused")
			r.running()
			pass(10 * time.Minute)
			if r.gone(false); len(r.chat.Accepted()) != 10 || r.has(state.WitnessFile) {
				t.Errorf("%d sends, want all again", len(r.chat.Accepted()))
			}
		},
		"through a resume": func(t *testing.T, r *rig) { r.running().Resume(); pass(time.Hour); none(t, r) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.SendGap, r.cfg.InFlight = 0, 10
				prepare(r)
				do(t, r)
			})
		})
	}
}

// The last look before the commit sees it, too.
func TestKeysGoneAtTheLastMoment(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(plan(watchtest.Plan{Takes: 5 * time.Second}))
		r.write("a.prompt", "hello")
		r.running()
		pass(4 * time.Second)
		r.write("watcher.paused", "Nothing is sent from this folder: x\nclass: keys-gone\n")
		pass(10 * time.Minute)
		r.unsent("a")
	})
}
