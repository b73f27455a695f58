package watch_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"watcher/state"
	"watcher/watch"
	"watcher/watch/watchtest"
)

// generate asks once about a.prompt, in a loop of its own.
func (r *rig) generate(files ...string) []watch.Result {
	r.t.Helper()
	a, err := watch.New(r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	if len(files) == 0 {
		files = []string{"a.prompt"}
	}
	for i, f := range files {
		files[i] = r.path(f)
	}
	results, err := a.Generate(context.Background(), files...)
	if err != nil {
		r.t.Fatal(err)
	}
	return results
}

// outcome checks one result.
func (r *rig) outcome(got watch.Result, want watch.Outcome, class, reason string) {
	r.t.Helper()
	if got.Outcome != want || got.Class != class || !strings.Contains(got.Reason, reason) {
		r.t.Errorf("result = %+v, want %v, class %q, …%s…\nlog:\n%s", got, want, class, reason, r.log)
	}
}

func TestGenerate(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(plan(watchtest.Plan{Think: 3 * time.Minute}))
		r.write("a.prompt", "hello")
		began := time.Now()
		got := r.generate()[0]
		r.outcome(got, watch.SentNow, "", "")
		if d := time.Since(began); d < 2*time.Second || d > 3*time.Second {
			t.Errorf("took %v: the two looks are 2s apart", d)
		}
		if got.Address == "" || got.Address != r.marker("a").Address || got.Next != time.Minute || got.Phase != state.Sent {
			t.Errorf("result = %+v", got)
		}
		pass(time.Minute)
		r.outcome(r.generate()[0], watch.InProgress, "", "not complete")
		pass(3 * time.Minute)
		r.outcome(r.generate()[0], watch.Done, "", "")
		r.answered("a", "hello")
		calls := r.chat.Calls("read") + r.chat.Calls("owner")
		if got := r.generate()[0]; got.Outcome != watch.Done || got.Address == "" {
			t.Errorf("result = %+v", got)
		}
		if r.chat.Calls("read")+r.chat.Calls("owner") != calls {
			t.Error("the chat was asked about a job that is done")
		}
	})
}

// Not to be sent now: exit 3, and nothing happens, the chat is not even asked.
func TestGenerateNotReady(t *testing.T) {
	for name, c := range map[string]struct {
		do     func(r *rig) func()
		reason string
	}{
		"held":        {func(r *rig) func() { r.write("a.prompt.hold", ""); return nil }, "hold"},
		"folder held": {func(r *rig) func() { r.write("watcher.hold", ""); return nil }, "watcher.hold"},
		"empty":       {func(r *rig) func() { r.write("a.prompt", ""); return nil }, "empty"},
		"white space": {func(r *rig) func() { r.write("a.prompt", " \n"); return nil }, "empty"},
		"no .ready":   {func(r *rig) func() { r.cfg.RequireReady = true; return nil }, "ready"},
		"being written": {func(r *rig) func() {
			f, err := os.OpenFile(r.path("a.prompt"), os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				r.t.Fatal(err)
			}
			return func() { f.Close() }
		}, "open for writing"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.write("a.prompt", "hello")
				if end := c.do(r); end != nil {
					defer end()
				}
				began := time.Now()
				r.outcome(r.generate()[0], watch.InProgress, "", c.reason)
				if r.unsent("a"); r.chat.Calls("owner") > 0 || time.Since(began) > 5*time.Second {
					t.Errorf("took %v, %d calls", time.Since(began), r.chat.Calls("owner"))
				}
			})
		})
	}
}

func TestGenerateFails(t *testing.T) {
	t.Run("the job", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig) {
			r.write("a.prompt", "a\x00")
			r.outcome(r.generate()[0], watch.Failed, watch.ClassInvalid, "NUL")
			r.outcome(r.generate()[0], watch.Failed, watch.ClassInvalid, "NUL")
			if r.chat.Calls("owner") > 0 {
				t.Error("the chat was asked")
			}
		})
	})
	for _, class := range queueClasses {
		t.Run(class, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.chat.Break("owner", &watchtest.Fault{Kind: class, Text: "no luck"})
				r.write("a.prompt", "hello")
				for range 2 { // the same answer every time
					got := r.generate()[0]
					r.outcome(got, watch.CannotSend, class, "no luck")
					if r.unsent("a"); got.Next <= 0 || got.Phase != state.New {
						t.Errorf("result = %+v", got)
					}
				}
				r.chat.Break("owner", nil)
				r.outcome(r.generate()[0], watch.SentNow, "", "")
				r.chat.Break("read", fault(class, true))
				pass(time.Minute)
				r.outcome(r.generate()[0], watch.InProgress, class, "")
			})
		})
	}
	t.Run("the disk", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig) {
			r.cfg.DirOptions = []state.Option{failAt(state.StepReserve, func() bool { return true })}
			r.write("a.prompt", "hello")
			r.outcome(r.generate()[0], watch.CannotSend, watch.ClassDisk, "no space left")
			r.unsent("a")
		})
	})
	t.Run("no such file", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig) {
			a, err := watch.New(r.cfg)
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{"none.prompt", "no/folder.prompt"} {
				if _, err := a.Generate(t.Context(), r.path(file)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("Generate(%s) = %v", file, err)
				}
			}
			if _, err := a.Generate(t.Context(), "x.txt"); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("Generate(x.txt) = %v", err)
			}
			if _, err := a.Step(t.Context(), r.path("a.prompt")); !errors.Is(err, watch.ErrNotRunning) {
				t.Errorf("Step = %v", err)
			}
		})
	})
}

// A disk that cannot be read after the send, or at all, hides that there is a
// marker. Nobody may say then that nothing was sent: 1 sends people elsewhere.
func TestGenerateCannotLook(t *testing.T) {
	for _, c := range []struct {
		name string
		when func(*rig) bool
	}{
		{"after the send", func(r *rig) bool { return len(r.chat.Accepted()) > 0 }},
		{"after a lost connection", func(r *rig) bool { return r.has("a.md.url") }},
		{"at all", func(*rig) bool { return true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				if c.name == "after a lost connection" {
					r.chat.Script(first(watchtest.Plan{After: fault(watch.ClassUnreachable, true)}))
				}
				r.cfg.DirOptions = []state.Option{failAt(state.StepLook, func() bool { return c.when(r) })}
				r.write("a.prompt", "hello")
				got := r.generate()[0]
				if got.Outcome == watch.CannotSend || got.Outcome == watch.Failed || c.name == "at all" && got.Class != watch.ClassDisk {
					t.Errorf("result = %+v\n%s", got, r.log)
				}
				r.cfg.DirOptions = nil
				for range 3 {
					pass(2 * time.Minute)
					got = r.generate()[0]
				}
				r.outcome(got, watch.Done, "", "")
				r.answered("a", "hello")
			})
		})
	}
}

// A send that may have left is recovered within the call.
func TestGenerateStaysForTheProof(t *testing.T) {
	for name, c := range map[string]struct {
		plan    watchtest.Plan
		outcome watch.Outcome
		class   string
		stays   time.Duration
	}{
		"arrived":             {watchtest.Plan{After: fault(watch.ClassUnreachable, true)}, watch.SentNow, "", 62 * time.Second},
		"quota, not taken":    {watchtest.Plan{After: fault(watch.ClassQuota, true), Lose: true}, watch.CannotSend, watch.ClassQuota, 32 * time.Second},
		"quota, taken":        {watchtest.Plan{After: fault(watch.ClassQuota, true)}, watch.SentNow, "", 2 * time.Second},
		"filtered, not taken": {watchtest.Plan{After: fault(watch.ClassFiltered, true), Lose: true}, watch.Failed, watch.ClassFiltered, 32 * time.Second},
		"refused, no byte":    {watchtest.Plan{After: fault(watch.ClassQuota, false)}, watch.CannotSend, watch.ClassQuota, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.chat.Script(first(c.plan))
				r.write("a.prompt", "hello")
				began := time.Now()
				r.outcome(r.generate()[0], c.outcome, c.class, "")
				if d := time.Since(began); d < c.stays*9/10 || d > c.stays*11/10+time.Second {
					t.Errorf("stayed %v, want %v", d, c.stays)
				}
			})
		})
	}
	t.Run("after a crash", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig) {
			r.crashed(watchtest.Plan{Lose: true})
			began := time.Now()
			r.outcome(r.generate()[0], watch.SentNow, "", "")
			if d := time.Since(began); d < 150*time.Second || d > 160*time.Second {
				t.Errorf("stayed %v", d)
			}
			pass(time.Minute)
			r.outcome(r.generate()[0], watch.Done, "", "")
			r.answered("a", "hello")
		})
	})
}

func TestGenerateSeveral(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var names []string
		for i := range 4 {
			names = append(names, fmt.Sprintf("%d.prompt", i))
			r.write(names[i], fmt.Sprint("prompt ", i))
		}
		r.write("0.md", "done before")
		r.write("bystander.prompt", "not asked for")
		got := r.generate(names...)
		for i, want := range []watch.Outcome{watch.Done, watch.SentNow, watch.SentNow, watch.SentNow} {
			if got[i].Outcome != want || !strings.HasSuffix(got[i].File, fmt.Sprintf("/%d.prompt", i)) {
				t.Errorf("result %d = %+v, want %v", i, got[i], want)
			}
		}
		if r.chat.Count("not asked for") > 0 {
			t.Error("a prompt that nobody asked for was sent")
		}
	})
}

func TestWait(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(plan(watchtest.Plan{Think: 10 * time.Minute}))
		r.write("a.prompt", "hello")
		a, err := watch.New(r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		got, err := a.Wait(ctx, r.path("a.prompt"))
		if err == nil {
			t.Error("no error at the limit")
		}
		if got[0].Outcome == watch.Done || got[0].Phase != state.Sent {
			t.Errorf("at the limit: %+v", got[0])
		}
		got, err = a.Wait(t.Context(), r.path("a.prompt"))
		if err != nil {
			t.Fatal(err)
		}
		r.outcome(got[0], watch.Done, "", "")
		r.answered("a", "hello")
	})
}

// A running agent does the step, whether or not it watches the folder.
func TestStep(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Roots = []string{r.path("watched")}
		r.chat.Script(plan(watchtest.Plan{Think: 2 * time.Minute}))
		r.write("watched/a.prompt", "in a watched folder")
		r.write("other/b.prompt", "elsewhere")
		r.write("other/c.prompt", "nobody asked for")
		a := r.running()
		pass(time.Second)
		step := func(file string) watch.Result {
			t.Helper()
			got, err := a.Step(t.Context(), r.path(file))
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		r.outcome(step("watched/a.prompt"), watch.SentNow, "", "")
		r.outcome(step("other/b.prompt"), watch.SentNow, "", "") // after the gap
		r.outcome(step("other/b.prompt"), watch.InProgress, "", "")
		pass(4 * time.Minute)
		r.outcome(step("other/b.prompt"), watch.Done, "", "")
		r.answered("watched/a", "in a watched folder")
		r.answered("other/b", "elsewhere")
		if r.chat.Count("nobody asked for") > 0 {
			t.Error("a prompt of a folder that is not watched was sent")
		}
	})
}

// Nobody waits for ever: not for its turn, and not for the end of a send.
func TestStepGivesUpAfterAWhile(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Roots, r.cfg.InFlight = nil, 1
		r.chat.Script(plan(watchtest.Plan{Takes: time.Minute, Think: time.Hour}))
		r.write("a.prompt", "one")
		r.write("b.prompt", "two")
		a := r.running()
		pass(time.Second)
		began := time.Now()
		got, err := a.Step(t.Context(), r.path("a.prompt"))
		if err != nil {
			t.Fatal(err)
		}
		r.outcome(got, watch.InProgress, "", "being sent")
		if d := time.Since(began); d != 90*time.Second {
			t.Errorf("waited %v for a send", d)
		}
		got, err = a.Step(t.Context(), r.path("b.prompt"))
		if err != nil {
			t.Fatal(err)
		}
		r.outcome(got, watch.InProgress, "", "unanswered")
		pass(3 * time.Hour)
		if r.chat.Count("two") > 0 {
			t.Error("it was sent after the caller had gone")
		}
		r.answered("a", "one")
	})
}

func TestAskersThatLeave(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Roots = nil
		a, stop := r.start()
		r.write("a.prompt", "")
		pass(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got, err := a.Step(ctx, r.path("a.prompt"))
		if !errors.Is(err, context.DeadlineExceeded) || got.Outcome != watch.InProgress {
			t.Errorf("Step = %+v, %v", got, err)
		}
		done := make(chan error)
		go func() {
			_, err := a.Step(context.Background(), r.path("a.prompt"))
			done <- err
		}()
		pass(time.Second)
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Step while the agent stops: %v", err)
		}
		if _, err := a.Step(t.Context(), r.path("a.prompt")); !errors.Is(err, watch.ErrNotRunning) {
			t.Errorf("Step after the end: %v", err)
		}
	})
}

func TestGenerateTellsOfAChangedPrompt(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(plan(watchtest.Plan{Think: time.Hour}))
		r.write("a.prompt", "hello")
		r.generate()
		r.write("a.prompt", "hello again")
		if got := r.generate()[0]; !got.Changed || got.Outcome != watch.InProgress {
			t.Errorf("result = %+v", got)
		}
	})
}

// Ten callers at once: one send.
func TestManyCallers(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(plan(watchtest.Plan{Takes: 3 * time.Second}))
		r.write("a.prompt", "hello")
		files := make([]string, 10)
		for i := range files {
			files[i] = "a.prompt"
		}
		for _, got := range r.generate(files...) {
			r.outcome(got, watch.SentNow, "", "")
		}
		if n := r.chat.Calls("send"); n != 1 {
			t.Errorf("%d sends", n)
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	good := watch.Defaults()
	good.Chat = watchtest.NewFake()
	for name, spoil := range map[string]func(*watch.Config){
		"chat": func(c *watch.Config) { c.Chat = nil }, "poll": func(c *watch.Config) { c.Poll = 0 },
		"settle": func(c *watch.Config) { c.Settle = -1 }, "in flight": func(c *watch.Config) { c.InFlight = 0 },
	} {
		bad := good
		spoil(&bad)
		if _, err := watch.New(bad); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("New with a bad %s: %v", name, err)
		}
	}
	if _, err := watch.New(good); err != nil {
		t.Error(err)
	}
}
