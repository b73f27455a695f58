package watch_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"watcher/state"
	"watcher/watch"
	"watcher/watch/watchtest"
)

// first gives the first send of each prompt a plan; the others go well.
func first(p watchtest.Plan) func(string, int) watchtest.Plan {
	return func(_ string, nth int) watchtest.Plan {
		if nth == 1 {
			return p
		}
		return watchtest.Plan{}
	}
}

func fault(class string, left bool) *watchtest.Fault {
	return &watchtest.Fault{Kind: class, Left: left}
}

var (
	jobClasses   = []string{watch.ClassInvalid, watch.ClassAltered, watch.ClassFiltered, watch.ClassGeneration}
	queueClasses = []string{watch.ClassLogin, watch.ClassChallenge, watch.ClassQuota, watch.ClassUnreachable,
		watch.ClassSiteChanged, watch.ClassBrowser, "unheard-of"}
)

// A job's own failure leaves a .md.err and no marker, and the others go on.
func TestOneJobsFailure(t *testing.T) {
	for _, class := range jobClasses {
		for name, p := range map[string]watchtest.Plan{
			"before the commit": {Before: fault(class, false)},
			"after the commit":  {After: fault(class, false)},
		} {
			t.Run(class+" "+name, func(t *testing.T) {
				bubble(t, func(t *testing.T, r *rig) {
					r.chat.Script(func(prompt string, _ int) watchtest.Plan {
						if prompt == "bad" {
							return p
						}
						return watchtest.Plan{}
					})
					r.write("a.prompt", "bad")
					r.write("b.prompt", "good")
					r.running()
					pass(2 * time.Minute)
					if f := r.failed("a", class); f.Prompt != state.Fingerprint("bad") || f.Address != "" {
						t.Errorf("failure = %+v", f)
					}
					if r.has("a.md.url") {
						t.Error("the marker stayed")
					}
					r.answered("b", "good")
				})
			})
		}
	}
}

// A prompt that is too long fails before the chat is bothered; characters count,
// not bytes. Made shorter, it is sent.
func TestTooLong(t *testing.T) {
	for name, c := range map[string]struct {
		limit  int
		prompt string
		sent   bool
	}{
		"at the limit": {5, "héllo", true},
		"above it":     {5, "hélloo", false},
		"no limit":     {0, strings.Repeat("x", 300_000), true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.MaxChars = c.limit
				r.write("a.prompt", c.prompt+"\n")
				r.running()
				pass(3 * time.Minute)
				if c.sent {
					r.answered("a", c.prompt)
					return
				}
				f := r.failed("a", watch.ClassInvalid)
				if want := "the prompt has 6 characters and at most 5 are allowed"; !strings.Contains(f.Sentence, want) || !strings.HasPrefix(f.Command, "rm -- ") {
					t.Errorf("failure = %+v", f)
				}
				if r.unsent("a"); r.chat.Calls("owner")+r.chat.Calls("send") != 0 {
					t.Error("the chat was bothered")
				}
				r.write("a.prompt", "short")
				pass(3 * time.Minute)
				r.answered("a", "short")
				if !r.has("a.md.err.1") {
					t.Error("the failure was not put aside")
				}
			})
		})
	}
}

// The queue's failure fails no job: all wait, and go on by themselves.
func TestQueuesFailure(t *testing.T) {
	for _, class := range queueClasses {
		for name, p := range map[string]watchtest.Plan{
			"before the commit": {Before: fault(class, false)},
			"after the commit":  {After: fault(class, false)},
		} {
			t.Run(class+" "+name, func(t *testing.T) {
				bubble(t, func(t *testing.T, r *rig) {
					r.cfg.Rescan = 10 * time.Minute // hours pass
					r.chat.Script(first(p))
					r.write("a.prompt", "hello")
					r.write("b.prompt", "other")
					r.running()
					pass(40 * time.Second)
					r.unsent("a")
					r.unsent("b")
					if n := r.logged(`"paused"`, class); n != 1 {
						t.Errorf("%d lines about the pause, want 1:\n%s", n, r.log)
					}
					pass(5 * time.Hour)
					r.answered("a", "hello")
					r.answered("b", "other")
					if r.has("a.md.err") || r.has("b.md.err") || r.logged(`"recovered"`, class) == 0 {
						t.Errorf("log:\n%s", r.log)
					}
				})
			})
		}
	}
}

// What may have left is looked for, and sent again only when it is proved not
// to be there.
func TestLostConnection(t *testing.T) {
	lost := fault(watch.ClassUnreachable, true)
	for name, c := range map[string]struct {
		plan  watchtest.Plan
		sends int
	}{
		"the prompt arrived":      {watchtest.Plan{After: lost}, 1},
		"the prompt arrived late": {watchtest.Plan{After: lost, Late: 100 * time.Second}, 1},
		"the prompt was lost":     {watchtest.Plan{After: lost, Lose: true}, 2},
		"shown with another text": {watchtest.Plan{After: lost, Rename: "something else"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.chat.Script(first(c.plan))
				r.write("a.prompt", "hello")
				r.running()
				pass(10 * time.Minute)
				r.answered("a", "hello")
				if n := r.chat.Calls("send"); n != c.sends || r.has("a.md.url.1") != (c.sends == 2) {
					t.Errorf("%d sends, want %d\n%s", n, c.sends, r.log)
				}
			})
		})
	}
}

// The proof takes the grace time and two reads, never less.
func TestRecoveryTakesItsTime(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(first(watchtest.Plan{After: fault("", true), Lose: true}))
		r.write("a.prompt", "hello")
		r.running()
		pass(2*time.Second + 149*time.Second)
		if m := r.marker("a"); m.Stage != state.StageReleased || r.chat.Calls("send") != 1 {
			t.Errorf("marker %+v after %d sends", m, r.chat.Calls("send"))
		}
		pass(90 * time.Second)
		if r.chat.Count("hello") != 1 {
			t.Errorf("not sent again:\n%s", r.log)
		}
	})
}

// The site's own refusal after the release: the chat is read at once.
func TestKnownRefusal(t *testing.T) {
	for _, class := range []string{watch.ClassQuota, watch.ClassChallenge, watch.ClassLogin} {
		t.Run(class, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.Rescan = 10 * time.Minute // hours pass
				r.chat.Script(first(watchtest.Plan{After: fault(class, true), Lose: true}))
				r.write("a.prompt", "hello")
				r.running()
				pass(45 * time.Second)
				if r.has("a.md.url") || !r.has("a.md.url.1") {
					t.Errorf("the marker was not retired:\n%s", r.log)
				}
				if r.chat.Calls("send") != 1 {
					t.Error("it was sent again in spite of the pause")
				}
				pass(5 * time.Hour)
				r.answered("a", "hello")
			})
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.Rescan = 10 * time.Minute                                 // hours pass
				r.chat.Script(first(watchtest.Plan{After: fault(class, true)})) // refused, and taken
				r.write("a.prompt", "hello")
				r.running()
				pass(5 * time.Hour)
				r.answered("a", "hello")
			})
		})
	}
	t.Run("filtered, not taken", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig) {
			r.cfg.Rescan = 10 * time.Minute // hours pass
			r.chat.Script(first(watchtest.Plan{After: fault(watch.ClassFiltered, true), Lose: true}))
			r.write("a.prompt", "hello")
			r.running()
			pass(2 * time.Minute)
			if r.failed("a", watch.ClassFiltered); r.has("a.md.url") {
				t.Error("the marker was not retired")
			}
		})
	})
	t.Run("filtered within the stream", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig) {
			r.cfg.Rescan = 10 * time.Minute // hours pass
			r.chat.Script(first(watchtest.Plan{After: fault(watch.ClassFiltered, true), Stuck: true}))
			r.write("a.prompt", "hello")
			r.running()
			pass(2 * time.Minute)
			if f := r.failed("a", watch.ClassFiltered); f.Address != r.marker("a").Address || f.Address == "" {
				t.Errorf("failure = %+v, marker %+v", f, r.marker("a"))
			}
		})
	})
}

// The last look, while the send is held.
func TestRecall(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(r *rig)
		sent string
	}{
		"edited":                {func(r *rig) { r.write("a.prompt", "edited") }, "edited"},
		"removed":               {func(r *rig) { r.remove("a.prompt") }, ""},
		"held":                  {func(r *rig) { r.write("a.prompt.hold", "") }, ""},
		"the folder held":       {func(r *rig) { r.write("watcher.hold", "") }, ""},
		"answered":              {func(r *rig) { r.write("a.md", "mine") }, ""},
		"another was first":     {func(r *rig) { r.write("a.md.url", "https://chat.example/c/x#by=b&stage=released\n") }, ""},
		"the folder went away":  {func(r *rig) { r.away() }, ""},
		"the folder is another": {func(r *rig) { r.away(); r.write("a.prompt.hold", "") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.chat.Script(func(string, int) watchtest.Plan { return watchtest.Plan{Takes: 5 * time.Second} })
				r.write("a.prompt", "hello")
				r.running()
				pass(4 * time.Second)
				c.do(r)
				pass(3 * time.Minute)
				if r.chat.Count("hello") != 0 || r.chat.Count("edited") != len(c.sent)/6 {
					t.Errorf("accepted %v\n%s", r.chat.Accepted(), r.log)
				}
			})
		})
	}
}

// away takes the rig's folder away.
func (r *rig) away() {
	if err := os.Rename(r.dir, r.dir+".away"); err != nil {
		r.t.Fatal(err)
	}
}

// A driver that breaks its promise must not make the agent send again.
func TestSentWithoutCommit(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = 10 * time.Minute // hours pass
		r.chat.Script(func(string, int) watchtest.Plan { return watchtest.Plan{Skip: true} })
		r.write("a.prompt", "hello")
		r.running()
		pass(time.Hour)
		r.failed("a", watch.ClassAmbiguous)
		if n := r.chat.Count("hello"); n != 1 {
			t.Errorf("sent %d times", n)
		}
	})
}

func TestAlteredThreeTimesIsThePagesFault(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.SendGap = 0
		r.chat.Script(func(string, int) watchtest.Plan {
			return watchtest.Plan{Before: fault(watch.ClassAltered, false)}
		})
		for _, n := range []string{"a", "b", "c", "d"} {
			r.write(n+".prompt", "prompt "+n)
		}
		r.running()
		pass(30 * time.Second)
		r.failed("a", watch.ClassAltered)
		r.failed("b", watch.ClassAltered)
		if r.has("c.md.err") || r.has("d.md.err") || r.logged(`"paused"`, watch.ClassSiteChanged) != 1 {
			t.Errorf("no pause after three altered texts:\n%s", r.log)
		}
	})
}

// A folder that cannot be written stops itself, not the others, and the site
// is not touched.
func TestFullDisk(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		full := true
		r.write("a/x.prompt", "in a")
		r.write("b/x.prompt", "in b")
		r.cfg.DirOptions = []state.Option{failAt(state.StepReserve, func() bool { return full })}
		_, stop := r.start()
		pass(20 * time.Minute)
		if n := r.chat.Calls("send"); n != 0 {
			t.Errorf("%d sends with a full disk", n)
		}
		if n := r.logged("folder paused", watch.ClassDisk); n < 2 || n > 20 {
			t.Errorf("%d lines about the full disk", n)
		}
		stop()
		full = false
		r.running()
		pass(3 * time.Minute)
		r.answered("a/x", "in a")
		r.answered("b/x", "in b")
	})
}

// failAt fails a step while a condition holds.
func failAt(step string, when func() bool) state.Option {
	return state.WithStep(func(s string) error {
		if s == step && when() {
			return syscall.ENOSPC
		}
		return nil
	})
}

// The answer cannot be written for a while: it is fetched again, and not sent.
func TestDiskFullForTheAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(func(string, int) watchtest.Plan { return watchtest.Plan{Think: 30 * time.Second} })
		began := time.Now()
		r.cfg.DirOptions = []state.Option{failAt(state.StepWrite, func() bool {
			since := time.Since(began)
			return since > 30*time.Second && since < 30*time.Minute
		})}
		r.write("a.prompt", "hello")
		r.running()
		pass(29 * time.Minute)
		if r.has("a.md") || r.has("a.md.err") {
			t.Error("something was written to a full disk")
		}
		pass(20 * time.Minute)
		r.answered("a", "hello")
		if r.logged("can be written again", `"count"`) == 0 {
			t.Errorf("no line about the recovery:\n%s", r.log)
		}
	})
}

// A stop before the commit sends nothing; one after it lets the send end.
func TestStopWhileSending(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		count int
	}{"before the commit": {5 * time.Second, 0}, "after the commit": {15 * time.Second, 1}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.chat.Script(func(string, int) watchtest.Plan { return watchtest.Plan{Takes: 10 * time.Second} })
				r.write("a.prompt", "hello")
				_, stop := r.start()
				pass(c.after)
				stop()
				if n := r.chat.Count("hello"); n != c.count || r.has("a.md.url") != (n == 1) {
					t.Errorf("taken %d times, marker %v\n%s", n, r.has("a.md.url"), r.log)
				}
				if c.count == 1 && r.marker("a").Stage != state.StageSent {
					t.Errorf("marker = %+v", r.marker("a"))
				}
				r.running()
				pass(5 * time.Minute)
				r.answered("a", "hello")
			})
		})
	}
}

// A send that does not end is cut after the grace; its marker says so.
func TestStopCutsASendThatHangs(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(first(watchtest.Plan{Takes: time.Second}))
		r.cfg.Chat = hanging{r.chat}
		r.write("a.prompt", "hello")
		_, stop := r.start()
		pass(10 * time.Second)
		began := time.Now()
		stop()
		if d := time.Since(began); d < 14*time.Second || d > 16*time.Second {
			t.Errorf("stopped after %v", d)
		}
		if m := r.marker("a"); m.Stage != state.StageReleased {
			t.Errorf("marker = %+v", m)
		}
		r.cfg.Chat = r.chat
		r.running()
		pass(5 * time.Minute)
		r.answered("a", "hello")
	})
}

// hanging is a chat whose Send commits, delivers, and then does not return.
type hanging struct{ *watchtest.Fake }

func (h hanging) Send(ctx context.Context, out watch.Outgoing, commit func(string, string) error) (string, error) {
	if _, err := h.Fake.Send(ctx, out, commit); err != nil {
		return "", err
	}
	<-ctx.Done()
	return "", errors.New("cut off")
}

// A marker whose durability is in doubt is taken back at once: nothing left.
func TestCommitInDoubt(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		armed := true
		linked := false
		r.cfg.DirOptions = []state.Option{state.WithStep(func(step string) error {
			linked = linked || step == state.StepLinked
			if step == state.StepFolder && linked && armed {
				armed = false
				return syscall.EIO
			}
			return nil
		})}
		r.write("a.prompt", "hello")
		r.running()
		pass(10 * time.Second)
		if r.has("a.md.url") || !r.has("a.md.url.1") || r.chat.Count("hello") != 0 {
			t.Errorf("the marker was not taken back\n%s", r.log)
		}
		pass(5 * time.Minute)
		r.answered("a", "hello")
	})
}

// The worst of both: the driver breaks its promise, and the disk is full.
func TestSentWithoutCommitOnAFullDisk(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = 10 * time.Minute // hours pass
		r.cfg.DirOptions = []state.Option{failAt(state.StepWrite, func() bool { return true })}
		r.chat.Script(plan(watchtest.Plan{Skip: true}))
		r.write("a.prompt", "hello")
		r.running()
		pass(10 * time.Hour)
		if n := r.chat.Calls("send"); n != 1 {
			t.Errorf("%d sends", n)
		}
	})
}

// A driver that is deaf to its context still gets no commit after the stop.
func TestNoCommitAfterTheStop(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Chat = deaf{r.chat}
		r.write("a.prompt", "hello")
		_, stop := r.start()
		pass(10 * time.Second)
		stop()
		r.unsent("a")
		if r.logged("the program is stopping") != 1 {
			t.Errorf("log:\n%s", r.log)
		}
	})
}

// deaf is a chat whose Send takes a minute, whatever its context says.
type deaf struct{ *watchtest.Fake }

func (d deaf) Send(ctx context.Context, out watch.Outgoing, commit func(string, string) error) (string, error) {
	time.Sleep(time.Minute)
	return d.Fake.Send(context.WithoutCancel(ctx), out, commit)
}
