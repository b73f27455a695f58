package watch_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"testing"
	"time"

	"watcher/watch"
	"watcher/watch/watchtest"
)

func TestSlowWriters(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		a := r.running()
		r.write("a.prompt", "")
		a.Kick()
		pass(time.Minute)
		r.unsent("a")
		f, err := os.OpenFile(r.path("a.prompt"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for i, part := range []string{"part one ", "part two"} {
			fmt.Fprint(f, part)
			a.Kick()
			pass(time.Duration(i+1) * time.Minute) // it looks stable, but it is open
			r.unsent("a")
		}
		if n := r.logged("waiting", "open for writing"); n != 1 {
			t.Errorf("%d lines about the open file, want 1\n%s", n, r.log)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Minute)
		r.answered("a", "part one part two")
	})
}

func TestAnEditRestartsTheSettling(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		a := r.running()
		for i := range 10 {
			r.write("a.prompt", fmt.Sprint("version ", i))
			a.Kick()
			pass(1900 * time.Millisecond)
			r.unsent("a")
		}
		pass(2 * time.Minute)
		r.answered("a", "version 9")
	})
}

func TestAnEditWhileItWaitsForItsTurn(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.SendGap = 5 * time.Minute
		r.write("a.prompt", "first")
		r.write("b.prompt", "old")
		r.running()
		pass(2 * time.Minute)
		r.write("b.prompt", "new")
		pass(10 * time.Minute)
		r.answered("a", "first")
		r.answered("b", "new")
		if r.chat.Count("old") != 0 {
			t.Error("the old text was sent")
		}
	})
}

// Somebody opens it for writing while the send is prepared: what was read may
// be of two versions, though no time of the file says so.
func TestOpenedAtTheLastMoment(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(plan(watchtest.Plan{Takes: 5 * time.Second}))
		r.write("a.prompt", "hello")
		r.running()
		pass(4 * time.Second)
		f, err := os.OpenFile(r.path("a.prompt"), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		pass(2 * time.Minute)
		r.unsent("a")
		if r.logged("waiting", "last moment: the prompt is open") != 1 {
			t.Errorf("log:\n%s", r.log)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Minute)
		r.answered("a", "hello")
	})
}

// The file that settled long ago is being rewritten when its turn comes.
func TestRewrittenWhenItsTurnComes(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.write("a.prompt", "first")
		r.write("b.prompt", "old")
		r.running()
		pass(20 * time.Second)
		f, err := os.Create(r.path("b.prompt"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		fmt.Fprint(f, "half ")
		pass(5 * time.Minute)
		if n := len(r.chat.Accepted()); n != 1 {
			t.Fatalf("half a prompt was sent: %v", r.chat.Accepted())
		}
		fmt.Fprint(f, "and half")
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Minute)
		r.answered("b", "half and half")
	})
}

func TestReplacedByRenameOrLink(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		a := r.running()
		r.write(".a.prompt.Xy12Za", "by rename")
		r.write("a.prompt", "before")
		pass(time.Second)
		if err := os.Rename(r.path(".a.prompt.Xy12Za"), r.path("a.prompt")); err != nil {
			t.Fatal(err)
		}
		r.write("source", "by link")
		if err := os.Link(r.path("source"), r.path("b.prompt")); err != nil {
			t.Fatal(err)
		}
		r.write("..T1/c.prompt", "by symlink")
		if err := os.Symlink("..T1/c.prompt", r.path("c.prompt")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("user@host.123:456", r.path(".#d.prompt")); err != nil {
			t.Fatal(err)
		}
		a.Kick()
		pass(5 * time.Minute)
		r.answered("a", "by rename")
		r.answered("b", "by link")
		r.answered("c", "by symlink")
		if n := len(r.chat.Accepted()); n != 3 {
			t.Errorf("%d prompts were sent, want 3: %v", n, r.chat.Accepted())
		}
	})
}

func TestOnlyWhiteSpaceIsWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = 10 * time.Minute // hours pass
		r.write("a.prompt", " \n\t\n")
		r.running()
		pass(2 * time.Hour)
		r.unsent("a")
		if n := r.logged("waiting"); n != 1 || r.logged("empty so far") != 1 {
			t.Errorf("%d lines about an empty prompt, want 1:\n%s", n, r.log)
		}
		r.write("a.prompt", "at last")
		pass(2 * time.Minute)
		r.answered("a", "at last")
	})
}

func TestTimesOfFilesAreNoAge(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for name, when := range map[string]time.Time{
			"a": time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC), "b": time.Unix(0, 0),
		} {
			r.write(name+".prompt", "prompt "+name)
			if err := os.Chtimes(r.path(name+".prompt"), when, when); err != nil {
				t.Fatal(err)
			}
		}
		r.running()
		pass(3 * time.Minute)
		r.answered("a", "prompt a")
		r.answered("b", "prompt b")
	})
}

func TestSettleZero(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Settle = 0
		a := r.running()
		pass(time.Second)
		r.write("a.prompt", "hello")
		a.Kick()
		pass(50 * time.Millisecond)
		if r.chat.Count("hello") != 1 {
			t.Errorf("not sent at once:\n%s", r.log)
		}
	})
}

func TestReady(t *testing.T) {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("hello")))
	for name, c := range map[string]struct {
		ready string
		sent  bool
	}{
		"empty": {"", true}, "its sum": {sum + "  a.prompt\n", true}, "another sum": {fmt.Sprintf("%064d", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.RequireReady = true
				r.write("a.prompt", "hello")
				r.running()
				pass(10 * time.Minute)
				r.unsent("a")
				r.write("a.prompt.ready", c.ready)
				pass(2 * time.Minute)
				if !c.sent {
					r.unsent("a")
					if n := r.logged("waiting", "another text"); n != 1 {
						t.Errorf("%d lines, want 1:\n%s", n, r.log)
					}
					r.write("a.prompt.ready", sum)
					pass(3 * time.Minute)
				}
				r.answered("a", "hello")
			})
		})
	}
}

// What the .ready says counts up to the last moment, and only where it is asked
// for.
func TestReadyAtTheLastMoment(t *testing.T) {
	for name, c := range map[string]struct {
		needed bool
		do     func(r *rig)
		sent   bool
		reason string
	}{
		"taken away":         {true, func(r *rig) { r.remove("a.prompt.ready") }, false, ".prompt.ready"},
		"for another text":   {true, func(r *rig) { r.write("a.prompt.ready", fmt.Sprintf("%064d", 1)) }, false, "another text"},
		"not a sum":          {true, func(r *rig) { r.write("a.prompt.ready", "yes") }, false, "neither empty nor a sha256"},
		"in capital letters": {true, func(r *rig) { r.write("a.prompt.ready", fmt.Sprintf("%X", sha256.Sum256([]byte("hello")))) }, true, ""},
		"nobody needs it":    {false, func(r *rig) { r.write("a.prompt.ready", "yes") }, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.RequireReady = c.needed
				r.chat.Script(plan(watchtest.Plan{Takes: 5 * time.Second}))
				r.write("a.prompt", "hello")
				r.write("a.prompt.ready", "")
				r.running()
				pass(4 * time.Second)
				c.do(r)
				pass(2 * time.Minute)
				if c.sent {
					r.answered("a", "hello")
				} else if r.unsent("a"); r.logged("waiting", c.reason) == 0 {
					t.Errorf("log:\n%s", r.log)
				}
			})
		})
	}
}

func TestInvalidTextNeverReachesTheChat(t *testing.T) {
	for name, text := range map[string]string{
		"NUL": "a\x00b", "not UTF-8": "a\xffb", "UTF-16 without mark": "h\x00i\x00",
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.write("a.prompt", text)
				r.write("b.prompt", "fine")
				r.running()
				pass(2 * time.Minute)
				f := r.failed("a", watch.ClassInvalid)
				if f.Command != "rm -- '"+r.path("a.md.err")+"'" || f.Sentence == "" || r.has("a.md.url") {
					t.Errorf("failure = %+v", f)
				}
				r.answered("b", "fine")
			})
		})
	}
}

func TestUTF16(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.write("a.prompt", "\xff\xfeh\x00i\x00\r\x00\n\x00")
		r.running()
		pass(2 * time.Minute)
		r.answered("a", "hi")
	})
}

// A .ready has to settle as well: 'sha256sum x > x.prompt.ready' makes an empty
// one first, which would say that all is there.
func TestReadyIsBeingWritten(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.RequireReady = true
		r.write("a.prompt", "half ")
		a := r.running()
		pass(time.Minute)
		f, err := os.Create(r.path("a.prompt.ready"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		a.Kick()
		pass(10 * time.Minute)
		r.unsent("a")
		if r.logged("waiting", "open for writing") != 1 {
			t.Errorf("log:\n%s", r.log)
		}
		fmt.Fprintf(f, "%x", sha256.Sum256([]byte("half and half")))
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Minute)
		r.unsent("a")
		r.write("a.prompt", "half and half")
		pass(3 * time.Minute)
		r.answered("a", "half and half")
	})
}

// One that is made empty again, by the next upload, is looked at anew.
func TestReadyIsReplaced(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.RequireReady, r.cfg.SendGap = true, 5*time.Minute
		for _, name := range []string{"a", "b"} {
			r.write(name+".prompt", name)
			r.write(name+".prompt.ready", fmt.Sprintf("%x", sha256.Sum256([]byte(name))))
		}
		r.running()
		pass(2 * time.Minute)
		r.answered("a", "a")
		f, err := os.Create(r.path("b.prompt.ready")) // it waits for the gap only
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		pass(20 * time.Minute)
		if n := len(r.chat.Accepted()); n != 1 {
			t.Errorf("sent while its .ready was written: %v", r.chat.Accepted())
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Minute)
		r.answered("b", "b")
	})
}
