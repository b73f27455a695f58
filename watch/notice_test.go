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

// paused checks whether a folder's notice is there and tells of the class.
func (r *rig) paused(file, class string) {
	r.t.Helper()
	text := r.read(file)
	if class == "" && text != "" || class != "" && !strings.Contains(text, "\nclass: "+class+"\n") {
		r.t.Errorf("%s = %q, want class %q\nlog:\n%s", file, text, class, r.log)
	}
}

// Each folder with something to do says why nothing happens, as long as that
// is so.
func TestNotices(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = 10 * time.Second
		r.write("one/a.prompt", "first")
		r.write("two/b.prompt", "second")
		r.write("idle/notes.txt", "nothing to do")
		r.write("asked/c.prompt", "third")
		r.cfg.Roots = []string{r.path("one"), r.path("two"), r.path("idle")}
		r.chat.Break("owner", &watchtest.Fault{Kind: watch.ClassLogin, Text: "nobody is\nlogged in"})
		a := r.running()
		pass(30 * time.Second)
		if _, err := a.Step(t.Context(), r.path("asked/c.prompt")); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{"one", "two", "asked"} {
			r.paused(dir+"/watcher.paused", watch.ClassLogin)
		}
		r.paused("idle/watcher.paused", "")
		text := r.read("one/watcher.paused")
		for _, want := range []string{"Nothing is sent now: nobody is logged in\n", "\nnext try: 2000-01-01T", "delete this file to try now"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q misses %q", text, want)
			}
		}
		r.write("idle/d.prompt", "fourth")
		pass(20 * time.Second)
		r.paused("idle/watcher.paused", watch.ClassLogin)
		r.chat.Break("owner", nil)
		pass(10 * time.Minute)
		for _, dir := range []string{"one", "two", "asked", "idle"} {
			if r.paused(dir+"/watcher.paused", ""); r.has(dir + "/" + state.WitnessFile) {
				t.Errorf("the witness stays in %s", dir)
			}
		}
		r.answered("one/a", "first")
		r.answered("idle/d", "fourth")
		if n := r.logged("was deleted"); n != 0 {
			t.Errorf("the program's own removal was taken for a person's\n%s", r.log)
		}
	})
}

// A person who deletes the notice has it tried now, once.
func TestDeletedNoticeMeansTryNow(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = 5 * time.Second
		r.chat.Break("owner", &watchtest.Fault{Kind: watch.ClassQuota, Text: "no more today", Back: time.Now().Add(20 * time.Hour)})
		r.write("a.prompt", "hello")
		r.running()
		pass(time.Minute)
		r.paused("watcher.paused", watch.ClassQuota)
		if n := r.chat.Calls("owner"); n != 1 {
			t.Fatalf("%d tries", n)
		}
		for tries := 2; tries < 5; tries++ {
			r.remove("watcher.paused")
			pass(10 * time.Minute)
			if n := r.chat.Calls("owner"); n != tries {
				t.Errorf("%d tries, want %d\n%s", n, tries, r.log)
			}
			r.paused("watcher.paused", watch.ClassQuota)
		}
		r.chat.Break("owner", nil)
		r.clean("watcher.*", ".watcher-*") // a tool that clears the folder is no person
		pass(10 * time.Minute)
		r.unsent("a")
		r.paused("watcher.paused", watch.ClassQuota)
		r.remove("watcher.paused")
		pass(2 * time.Minute)
		r.answered("a", "hello")
		r.paused("watcher.paused", "")
	})
}

// Deleting the notice counts also while no program runs: the next one tries at
// once. A folder that never had a notice does not.
func TestNoticeDeletedBetweenRuns(t *testing.T) {
	for _, deleted := range []bool{true, false} {
		bubble(t, func(t *testing.T, r *rig) {
			r.cfg.Rescan = 5 * time.Second
			r.write("a.prompt", "hello")
			r.chat.Break("owner", &watchtest.Fault{Kind: watch.ClassQuota, Text: "no more today", Back: time.Now().Add(20 * time.Hour)})
			r.cfg.OnPause = func(p watch.Pause) { r.cfg.Pause = p }
			_, stop := r.start()
			pass(time.Minute)
			stop()
			r.chat.Break("owner", nil)
			if deleted {
				r.remove("watcher.paused")
			} else {
				r.clean("watcher.*", ".watcher-*")
			}
			r.running()
			pass(5 * time.Minute)
			if deleted {
				r.answered("a", "hello")
			} else {
				r.unsent("a")
			}
		})
	}
}

// What a dead program left is corrected at the start; what is not the
// program's own is never touched.
func TestNoticeFromBefore(t *testing.T) {
	old := "Nothing is sent now: long ago\nclass: login\nby: 00112233\n\nWhat to do: x\n"
	login := watch.Pause{Class: watch.ClassLogin, Reason: "log in", Since: time.Unix(0, 0), Until: time.Now().Add(100 * 365 * 24 * time.Hour)}
	for name, c := range map[string]struct {
		pause watch.Pause
		text  string
		want  string // "" for none, else what it begins with
	}{
		"ours, over":          {text: old},
		"ours, another class": {watch.Pause{Class: watch.ClassQuota, Reason: "quota", Until: login.Until}, old, "Nothing is sent now: quota"},
		"ours, goes on":       {login, old, "Nothing is sent now: log in"},
		"theirs, over":        {text: strings.Replace(old, "00112233", "99887766", 1), want: "Nothing is sent now: long ago"},
		"theirs, ours, too":   {login, strings.Replace(old, "00112233", "99887766", 1), "Nothing is sent now: long ago"},
		"a person's":          {login, "on holiday", "on holiday"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.Pause = c.pause
				r.write("a.prompt", "hello")
				r.write("watcher.paused", c.text)
				r.running()
				pass(10 * time.Minute)
				if got := r.read("watcher.paused"); c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
					t.Errorf("watcher.paused = %q, want …%s", got, c.want)
				}
				if c.pause.Class == "" {
					r.answered("a", "hello")
				}
				if n := r.logged("was deleted"); n != 0 {
					t.Errorf("log:\n%s", r.log)
				}
			})
		})
	}
}

// Two profiles on one folder: the end of the one's pause is no person's wish
// to the other.
func TestNoticesOfTwoProfiles(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = 5 * time.Second
		r.chat.Break("owner", fault(watch.ClassLogin, false))
		r.write("a.prompt", "hello")
		r.running()
		pass(30 * time.Second)
		other := watchtest.NewFake()
		other.Break("owner", fault(watch.ClassQuota, false))
		r.cfg.ID, r.cfg.Chat = "99887766", other
		b, stop := r.start()
		pass(time.Minute)
		r.paused("watcher.paused", watch.ClassLogin)
		b.Resume()
		pass(time.Minute)
		if n := r.logged("was deleted"); n != 0 {
			t.Errorf("log:\n%s", r.log)
		}
		r.chat.Break("owner", nil)
		pass(20 * time.Minute)
		r.answered("a", "hello")
		stop()
		if n := r.logged("was deleted"); n != 0 {
			t.Errorf("log:\n%s", r.log)
		}
	})
}

// A folder that cannot be written gets no notice, and nobody hears of it.
func TestNoticeNotWritable(t *testing.T) {
	for name, spoil := range map[string]func(r *rig){
		"every write fails": func(r *rig) {
			r.cfg.DirOptions = []state.Option{failAt(state.StepTemp, func() bool { return true })}
		},
		"a folder of that name": func(r *rig) {
			if err := os.Mkdir(r.path("watcher.paused"), 0o777); err != nil {
				r.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.Rescan = 5 * time.Second
				spoil(r)
				r.cfg.Pause = watch.Pause{Class: watch.ClassLogin, Reason: "log in", Until: time.Now().Add(time.Hour)}
				r.write("a.prompt", "hello")
				r.running()
				pass(30 * time.Minute)
				if n := r.logged("watcher.paused"); n != 0 || strings.Count(r.log.String(), "\n") > 2 {
					t.Errorf("log:\n%s", r.log)
				}
			})
		})
	}
}

// A one-shot call leaves the notice, and the next one corrects it.
func TestNoticeOfGenerate(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Break("owner", fault(watch.ClassLogin, false))
		r.write("a.prompt", "hello")
		r.outcome(r.generate()[0], watch.CannotSend, watch.ClassLogin, "")
		r.paused("watcher.paused", watch.ClassLogin)
		r.chat.Break("owner", nil)
		r.outcome(r.generate()[0], watch.SentNow, "", "")
		r.paused("watcher.paused", "")
	})
}
