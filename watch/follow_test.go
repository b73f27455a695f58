package watch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"watcher/state"
	"watcher/watch"
	"watcher/watch/watchtest"
)

// follower writes a prompt that continues a chat.
func (r *rig) follower(name, ref, text string) {
	r.t.Helper()
	r.write(name+".prompt", "---\nchat: "+ref+"\n---\n"+text)
}

// follows checks that a job was answered in the chat of another one, behind the
// message of a third.
func (r *rig) follows(name, text, first, before string) {
	r.t.Helper()
	r.answered(name, text)
	var post, last watchtest.Post
	for _, p := range r.chat.Accepted() {
		switch p.Prompt {
		case text:
			post = p
		case before:
			last = p
		}
	}
	m := r.marker(name)
	if m.Address != r.marker(first).Address || m.Address != post.Address || post.Address != last.Address {
		r.t.Errorf("%s went to %s (marker %s), and %s is in %s", name, post.Address, m.Address, before, last.Address)
	}
	if want := strings.Replace(r.message(before), "message", "answer", 1); m.After != want || post.After != want {
		r.t.Errorf("%s follows %q (marker %q), want %q", name, post.After, m.After, want)
	}
}

// message is the site's id of a prompt that it took.
func (r *rig) message(prompt string) string {
	r.t.Helper()
	for _, file := range []string{"intro", "b", "c", "d", "sub/intro"} {
		if m := r.marker(file); m.Prompt == state.Fingerprint(prompt) {
			return m.Message
		}
	}
	r.t.Fatalf("no marker speaks of %q", prompt)
	return ""
}

func TestFollower(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(plan(watchtest.Plan{Think: 10 * time.Minute}))
		r.follower("b", "intro", "and then?")
		r.write("intro.prompt", "first")
		r.write("x.prompt", "another chat")
		r.running()
		pass(5 * time.Minute)
		if r.has("b.md.url") || !r.has("x.md.url") || r.logged("b", "waits for intro, whose answer is not there yet") != 1 {
			t.Errorf("b must wait, x not\n%s", r.log)
		}
		pass(30 * time.Minute)
		r.answered("intro", "first")
		r.answered("x", "another chat")
		r.follows("b", "and then?", "intro", "first")
	})
}

// TestFollowersQueue: in one chat one question is open at a time, and those
// that wait go in the order of their names.
func TestFollowersQueue(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(plan(watchtest.Plan{Think: 4 * time.Minute}))
		r.cfg.InFlight = 10
		r.write("intro.prompt", "first")
		for _, name := range []string{"d", "b", "c"} {
			r.follower(name, "intro", "question "+name)
		}
		r.running()
		for range 240 {
			pass(10 * time.Second)
			open := 0
			for _, name := range []string{"intro", "b", "c", "d"} {
				if r.has(name+".md.url") && !r.has(name+".md") {
					open++
				}
			}
			if open > 1 {
				t.Fatalf("%d questions are open in one chat\n%s", open, r.log)
			}
		}
		r.follows("b", "question b", "intro", "first")
		r.follows("c", "question c", "intro", "question b")
		r.follows("d", "question d", "intro", "question c")
		if n := r.logged("d", "which is being answered in the same chat"); n == 0 {
			t.Errorf("nobody says why d waits\n%s", r.log)
		}
	})
}

func TestFollowerOfAFollower(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.follower("d", "c.prompt", "third")
		r.follower("c", "sub/intro", "second")
		r.write("sub/intro.prompt", "first")
		r.running()
		pass(20 * time.Minute)
		r.answered("sub/intro", "first")
		r.follows("c", "second", "sub/intro", "first")
		r.follows("d", "third", "c", "second")
	})
}

// TestByAddress: a chat's address, or a whole marker's line, will do.
func TestByAddress(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.write("intro.prompt", "first")
		_, stop := r.start()
		pass(3 * time.Minute)
		r.answered("intro", "first")
		r.follower("b", r.marker("intro").Address, "by address")
		r.follower("c", "'"+strings.TrimSpace(r.read("intro.md.url"))+"'", "by line")
		pass(20 * time.Minute)
		stop()
		r.follows("b", "by address", "intro", "first")
		r.follows("c", "by line", "intro", "by address")
	})
}

// TestParentThatIsNotReady: the follower waits, says why, and goes when that is
// mended.
func TestParentThatIsNotReady(t *testing.T) {
	for _, c := range []struct {
		name, why   string
		begin, mend func(r *rig)
	}{
		{"none", "there is no such prompt", func(*rig) {}, func(r *rig) { r.write("intro.prompt", "first") }},
		{"held", "is held by its .prompt.hold", func(r *rig) {
			r.write("intro.prompt", "first")
			r.write("intro.prompt.hold", "")
		}, func(r *rig) { r.remove("intro.prompt.hold") }},
		{"failed", "which failed: ", func(r *rig) {
			r.chat.Script(func(prompt string, nth int) watchtest.Plan {
				if prompt == "first" && nth == 1 {
					return watchtest.Plan{Before: fault(watch.ClassAltered, false)}
				}
				return watchtest.Plan{}
			})
			r.write("intro.prompt", "first")
		}, func(r *rig) { r.remove("intro.md.err") }},
		{"its chat is not known", `there is no "intro.md.url"`, func(r *rig) { r.write("intro.md", "by hand") },
			func(r *rig) { r.remove("intro.md"); r.write("intro.prompt", "first") }},
		{"theirs", "belongs to another account", func(r *rig) {
			r.chat.Login("feedfeedfeedfeed")
			r.write("intro.prompt", "first")
			r.generate("intro.prompt")
			r.generate("intro.prompt")
			r.chat.Login("0123456789abcdef")
		}, func(r *rig) { r.chat.Login("feedfeedfeedfeed"); r.write("x.prompt", "who is there?") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				c.begin(r)
				r.follower("b", "intro", "second")
				r.running()
				pass(20 * time.Minute)
				if r.has("b.md.url") || r.has("b.md.err") || r.logged(`"reason":"waits for`, c.why[:10]) == 0 {
					t.Fatalf("b must wait: %s\n%s", c.why, r.log)
				}
				c.mend(r)
				pass(20 * time.Minute)
				r.follows("b", "second", "intro", "first")
			})
		})
	}
}

// TestBadReference: what can never be fails, sends nothing, and is given up when
// the options are mended.
func TestBadReference(t *testing.T) {
	for ref, why := range map[string]string{
		"b": "names the prompt itself", "b.prompt": "names the prompt itself", "./b": "names the prompt itself",
		"c": "which waits for it", "/etc/intro": "absolute path", "../elsewhere/intro": "outside the folders",
		"sub/": "not the name of a job", ".": "", "..": "", ".hidden": "not the name of a job",
	} {
		t.Run(strings.ReplaceAll(ref, "/", "_"), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.write("c.prompt.hold", "")
				r.follower("c", "d", "in a circle")
				r.follower("d", "sub/../b", "in a circle, too")
				r.write("d.prompt.hold", "")
				r.follower("b", ref, "second")
				r.running()
				pass(time.Minute)
				if f := r.failed("b", watch.ClassInvalid); !strings.Contains(f.Sentence, why) {
					t.Errorf("%q, want %q", f.Sentence, why)
				}
				if r.chat.Calls("send") > 0 || r.has("b.md.url") {
					t.Error("it was tried")
				}
				r.write("b.prompt", "---\nmodel: m\n---\nsecond")
				pass(3 * time.Minute)
				r.answered("b", "second")
			})
		})
	}
}

func TestBusyChat(t *testing.T) {
	for name, p := range map[string]watchtest.Plan{
		"before the commit": {Before: fault(watch.ClassBusy, false)},
		"after the commit":  {After: fault(watch.ClassBusy, false)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.chat.Script(func(prompt string, nth int) watchtest.Plan {
					if prompt == "second" && nth <= 3 {
						return p
					}
					return watchtest.Plan{}
				})
				r.write("intro.prompt", "first")
				r.follower("b", "intro", "second")
				r.write("x.prompt", "another")
				r.write("y.prompt", "one more")
				r.running()
				pass(5 * time.Minute)
				r.answered("x", "another")
				r.answered("y", "one more")
				if r.has("watcher.paused") || r.has("b.md.err") || r.logged("b", "its chat is busy") != 1 || r.chat.Calls("send") > 8 {
					t.Errorf("%d sends\n%s", r.chat.Calls("send"), r.log)
				}
				pass(10 * time.Minute)
				r.follows("b", "second", "intro", "first")
			})
		})
	}
}

// TestFollowerInDoubt: a follower whose connection broke is never sent twice,
// and not lost: the answer that it follows must be childless, twice.
func TestFollowerInDoubt(t *testing.T) {
	for name, p := range map[string]watchtest.Plan{
		"taken": {After: fault(watch.ClassUnreachable, true)},
		"late":  {After: fault(watch.ClassUnreachable, true), Late: 110 * time.Second},
		"lost":  {After: fault(watch.ClassUnreachable, true), Lose: true},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T, r *rig) {
					r.chat.Script(func(prompt string, nth int) watchtest.Plan {
						if prompt == "second" && nth == 1 {
							return p
						}
						return watchtest.Plan{}
					})
					r.write("intro.prompt", "first")
					_, stop := r.start()
					pass(3 * time.Minute)
					r.follower("b", "intro", "second")
					r.follower("c", "intro", "third")
					pass(40 * time.Second)
					if m := r.marker("b"); m.Stage != state.StageReleased || m.After == "" {
						t.Fatalf("%+v\n%s", m, r.log)
					}
					if restart {
						stop()
						_, stop = r.start()
					}
					pass(20 * time.Minute)
					stop()
					if p.Lose { // c was ready, while b had to settle anew
						r.follows("c", "third", "intro", "first")
						r.follows("b", "second", "intro", "third")
					} else {
						r.follows("b", "second", "intro", "first")
						r.follows("c", "third", "intro", "second")
					}
					if kept := r.has("b.md.url.1"); kept != p.Lose {
						t.Errorf("a retired marker: %v", kept)
					}
				})
			})
		}
	}
}

func TestRetryInOneChat(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.write("intro.prompt", "first")
		r.follower("b", "intro", "second")
		r.running()
		pass(5 * time.Minute)
		r.follows("b", "second", "intro", "first")
		old := r.marker("intro").Address
		// The follower: once more, behind its own answer.
		was := r.marker("b")
		r.write("b.prompt.retry", "")
		pass(5 * time.Minute)
		if m := r.marker("b"); m.Address != old || m.After != strings.Replace(was.Message, "message", "answer", 1) || r.chat.Count("second") != 2 || !r.has("b.md") {
			t.Errorf("%+v, was %+v\n%s", m, was, r.log)
		}
		// The parent: in a new chat. Those that followed keep theirs, a new one
		// follows it there.
		r.write("intro.prompt.retry", "")
		r.follower("c", "intro", "third")
		pass(10 * time.Minute)
		if r.marker("intro").Address == old || r.marker("b").Address != old {
			t.Errorf("parent %s, follower %s, was %s", r.marker("intro").Address, r.marker("b").Address, old)
		}
		if m := r.marker("c"); m.Address != r.marker("intro").Address || !r.has("c.md") {
			t.Errorf("%+v\n%s", m, r.log)
		}
	})
}

// TestCancelInASharedChat: one job's end must not stop the other's answer.
func TestCancelInASharedChat(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(func(prompt string, _ int) watchtest.Plan {
			if prompt == "second" {
				return watchtest.Plan{Think: 20 * time.Minute}
			}
			return watchtest.Plan{}
		})
		r.write("intro.prompt", "first")
		r.follower("b", "intro", "second")
		chat := &forgetful{Fake: r.chat}
		r.cfg.Chat = chat
		r.running()
		pass(5 * time.Minute)
		if !r.has("b.md.url") || r.has("b.md") {
			t.Fatalf("b must be open\n%s", r.log)
		}
		chat.forgets.Store(true)
		r.remove("intro.md")
		r.write("intro.prompt.cancel", "")
		pass(5 * time.Minute)
		r.failed("intro", watch.ClassCancelled)
		if n := r.chat.Calls("stop"); n != 0 {
			t.Errorf("the site was asked to stop %d times", n)
		}
		pass(30 * time.Minute)
		r.follows("b", "second", "intro", "first")
	})
}

// forgetful is a chat that shows the first answer as unfinished, if it forgets.
type forgetful struct {
	*watchtest.Fake
	forgets atomic.Bool
}

func (f *forgetful) Read(ctx context.Context, address, message, after string) (watch.Turn, error) {
	turn, err := f.Fake.Read(ctx, address, message, after)
	if after == "" && f.forgets.Load() {
		turn.Done, turn.Text = false, turn.Text[:1]
	}
	return turn, err
}

// TestEmptyMarkerOfAFollower: the chat of somebody else that begins with its
// text is not its own.
func TestEmptyMarkerOfAFollower(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.write("x.prompt", "the same words")
		r.write("intro.prompt", "first")
		r.write("b.md.url", "")
		r.follower("b", "intro", "the same words")
		r.running()
		pass(10 * time.Minute)
		r.answered("x", "the same words")
		r.failed("b", watch.ClassAmbiguous)
		if r.read("b.md.url") != "" || r.has("b.md") {
			t.Errorf("marker %q", r.read("b.md.url"))
		}
	})
}

// astray is a driver that goes to another place than it was told.
type astray struct {
	*watchtest.Fake
	address, after string
}

func (a astray) Send(ctx context.Context, out watch.Outgoing, commit func(string, string) error) (string, error) {
	return a.Fake.Send(ctx, out, func(address, after string) error {
		if a.address != "" {
			address = a.address
		}
		if a.after == "none" {
			after = ""
		} else if a.after != "" {
			after = a.after
		}
		return commit(address, after)
	})
}

func TestDriverThatGoesAstray(t *testing.T) {
	for name, c := range map[string]astray{
		"another chat":         {address: "https://chat.example/c/ffffffff-0000-4000-8000-ffffffffffff"},
		"no place in the chat": {after: "none"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.write("intro.prompt", "first")
				_, stop := r.start()
				pass(3 * time.Minute)
				stop()
				c.Fake = r.chat
				r.cfg.Chat = c
				r.follower("b", "intro", "second")
				r.running()
				pass(30 * time.Second)
				if r.has("b.md.url") || r.chat.Count("second") != 0 || !strings.Contains(r.read("watcher.paused"), watch.ClassSiteChanged) {
					t.Errorf("%s\n%s", r.read("watcher.paused"), r.log)
				}
			})
		})
	}
	t.Run("a place in a new chat", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig) {
			r.cfg.Chat = astray{Fake: r.chat, after: "answer-9"}
			r.write("a.prompt", "new")
			r.running()
			pass(30 * time.Second)
			r.unsent("a")
		})
	})
}

// TestGenerateOfAFollower: one call at a time, by programs that watch nothing.
func TestGenerateOfAFollower(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Roots = nil
		r.chat.Script(plan(watchtest.Plan{Think: 2 * time.Minute}))
		r.write("intro.prompt", "first")
		r.follower("b", "intro", "second")
		r.follower("c", "intro", "third")
		r.outcome(r.generate("b.prompt")[0], watch.InProgress, "", "waits for intro, which is not sent yet")
		r.outcome(r.generate("intro.prompt")[0], watch.SentNow, "", "")
		r.outcome(r.generate("b.prompt")[0], watch.InProgress, "", "waits for intro, whose answer")
		pass(3 * time.Minute)
		r.outcome(r.generate("intro.prompt")[0], watch.Done, "", "")
		r.outcome(r.generate("b.prompt")[0], watch.SentNow, "", "")
		r.outcome(r.generate("c.prompt")[0], watch.InProgress, "", "waits for b, which is being answered in the same chat")
		pass(3 * time.Minute)
		r.outcome(r.generate("b.prompt")[0], watch.Done, "", "")
		r.outcome(r.generate("c.prompt")[0], watch.SentNow, "", "")
		pass(3 * time.Minute)
		r.outcome(r.generate("c.prompt")[0], watch.Done, "", "")
		r.follows("b", "second", "intro", "first")
		r.follows("c", "third", "intro", "second")
		if owner := r.chat.Calls("owner"); owner > 12 {
			t.Errorf("the chat was asked %d times", owner)
		}
	})
}

// TestChatOfAnotherFolder: a path leads where something is watched, whatever
// symbolic links say.
func TestChatOfAnotherFolder(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		other := filepath.Join(filepath.Dir(r.dir), "other")
		closed := filepath.Join(filepath.Dir(r.dir), "closed")
		for _, dir := range []string{other, closed} {
			if err := errors.Join(os.Mkdir(dir, 0o777), os.WriteFile(filepath.Join(dir, "intro.prompt"), []byte("first"), 0o666)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(closed, r.path("link")); err != nil {
			t.Fatal(err)
		}
		r.cfg.Roots = append(r.cfg.Roots, other)
		r.follower("b", "../other/intro", "second")
		r.follower("c", "link/intro", "third")
		r.running()
		pass(5 * time.Minute)
		r.answered("b", "second")
		if m := state.ParseMarker([]byte(r.read("../other/intro.md.url"))); m.Address != r.marker("b").Address {
			t.Errorf("b is in %s, its parent in %s", r.marker("b").Address, m.Address)
		}
		r.failed("c", watch.ClassInvalid)
	})
}
