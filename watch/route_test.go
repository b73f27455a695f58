package watch_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"watcher/state"
	"watcher/watch"
	"watcher/watch/watchtest"
)

const (
	chatOwner   = "0123456789abcdef" // as whom the fake chat is logged in
	engineOwner = "fedcba9876543210"
)

// other gives the rig's agents another engine.
func (r *rig) other(on ...string) *watchtest.Engine {
	e := watchtest.NewEngine()
	r.cfg.SendGap, r.cfg.Rescan = 0, 10*time.Minute
	r.cfg.Fallback = watch.Fallback{Engine: e, By: engineOwner, On: on,
		Owns: func(by string) bool { return by == chatOwner || by == engineOwner }}
	return e
}

// byEngine checks that a job was answered by the other engine, which was asked once.
func (r *rig) byEngine(e *watchtest.Engine, name, prompt string) {
	r.t.Helper()
	if got := r.read(name + ".md"); got != watchtest.EngineAnswer(prompt) {
		r.t.Errorf("%s.md = %q, want the other engine's answer\nlog:\n%s", name, got, r.log)
	}
	if n := e.Count(prompt); n != 1 {
		r.t.Errorf("the other engine got %q %d times\nlog:\n%s", prompt, n, r.log)
	}
	m := r.marker(name)
	if m.Engine != watch.EngineRouter || m.Address != watchtest.EngineAddress || m.By != engineOwner || m.Prompt != state.Fingerprint(prompt) || m.Stage != state.StageSent {
		r.t.Errorf("the marker is %+v", m)
	}
}

// refuses is a chat that refuses for a reason of its own before a prompt leaves.
func refuses(f *watchtest.Fault) func(string, int) watchtest.Plan {
	return func(string, int) watchtest.Plan { return watchtest.Plan{Before: f} }
}

// A day without quota: the prompts go to the other engine, and when the quota is
// back, to the chat again. Each is asked once.
func TestQuotaDay(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		e := r.other(watch.ClassQuota)
		back := time.Now().Add(5 * time.Hour)
		r.chat.Script(func(string, int) watchtest.Plan {
			if time.Now().Before(back) {
				return watchtest.Plan{Before: &watchtest.Fault{Kind: watch.ClassQuota, Back: back}}
			}
			return watchtest.Plan{}
		})
		r.running()
		for hour := range 8 {
			r.write(fmt.Sprintf("p%d.prompt", hour), fmt.Sprintf("question %d", hour))
			pass(time.Hour)
		}
		pass(time.Hour)
		for hour := range 8 {
			name, prompt := fmt.Sprintf("p%d", hour), fmt.Sprintf("question %d", hour)
			if hour < 5 {
				r.byEngine(e, name, prompt)
				if n := r.chat.Count(prompt); n != 0 {
					t.Errorf("the chat took %q, too", prompt)
				}
				continue
			}
			r.answered(name, prompt)
			if n := e.Count(prompt); n != 0 {
				t.Errorf("the other engine got %q, too", prompt)
			}
		}
		if r.chat.Calls("read") != 3 {
			t.Errorf("the chat was read %d times; the other engine's answers are in none", r.chat.Calls("read"))
		}
	})
}

// Only the classes that were named, and none where nothing was set up.
func TestOnlyNamedClasses(t *testing.T) {
	for _, class := range []string{watch.ClassLogin, watch.ClassChallenge, watch.ClassQuota, watch.ClassUnreachable, watch.ClassSiteChanged, watch.ClassBrowser} {
		for _, named := range []bool{true, false} {
			bubble(t, func(t *testing.T, r *rig) {
				on := []string{watch.ClassFiltered}
				if named {
					on = append(on, class)
				}
				e := r.other(on...)
				r.chat.Script(refuses(fault(class, false)))
				r.write("a.prompt", "hello")
				r.running()
				pass(20 * time.Minute)
				if named {
					r.byEngine(e, "a", "hello")
				} else if r.unsent("a"); e.Calls() != 0 {
					t.Errorf("%s: the other engine was asked", class)
				}
			})
		}
	}
}

// A prompt that may be in the chat is never given to another engine, whatever
// pause stands.
func TestNeverInDoubt(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		e := r.other(watch.ClassUnreachable, watch.ClassQuota, watch.ClassLogin)
		r.chat.Script(first(watchtest.Plan{After: fault("unreachable", true), Late: time.Minute, Think: 2 * time.Hour}))
		r.chat.Break("read", fault("unreachable", true))
		r.write("a.prompt", "hello")
		r.running()
		pass(time.Hour)
		if e.Calls() != 0 || r.marker("a").Engine != "" || r.marker("a").Stage != state.StageReleased {
			t.Errorf("the other engine was asked %d times; marker %+v", e.Calls(), r.marker("a"))
		}
		r.chat.Break("read", nil)
		pass(3 * time.Hour)
		r.answered("a", "hello")
		if e.Calls() != 0 {
			t.Error("the other engine was asked")
		}
	})
}

// The chat's answer failed: the other engine is asked instead, and the chat's
// address is kept. The chat gets the prompt once, and so does the engine.
func TestFailedAnswer(t *testing.T) {
	for _, class := range []string{watch.ClassFiltered, watch.ClassGeneration} {
		bubble(t, func(t *testing.T, r *rig) {
			e := r.other(class)
			r.chat.Script(first(watchtest.Plan{Fails: fault(class, true)}))
			r.write("a.prompt", "hello")
			r.running()
			pass(10 * time.Minute)
			r.byEngine(e, "a", "hello")
			chat := r.chat.Accepted()
			if len(chat) != 1 || r.marker("a").Instead != chat[0].Address || !strings.HasPrefix(r.read("a.md.url.1"), chat[0].Address+"#") {
				t.Errorf("taken %v; marker %+v; kept %q", chat, r.marker("a"), r.read("a.md.url.1"))
			}
			if f := state.ParseFailure([]byte(r.read("a.md.err.1"))); f.Class != class || r.has("a.md.err") {
				t.Errorf("kept %+v", f)
			}
		})
	}
}

// The chat refused the prompt before it took it: there is no marker to exchange.
func TestRefusedByTheChat(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		e := r.other(watch.ClassFiltered)
		r.chat.Script(refuses(fault(watch.ClassFiltered, false)))
		r.write("a.prompt", "hello")
		r.running()
		pass(10 * time.Minute)
		r.byEngine(e, "a", "hello")
		if len(r.chat.Accepted()) != 0 || r.chat.Calls("send") != 1 || !r.has("a.md.err.1") {
			t.Errorf("the chat was tried %d times\n%s", r.chat.Calls("send"), r.log)
		}
	})
}

// What a person, or another program, has a say in is left alone.
func TestFailedLeftAlone(t *testing.T) {
	for what, change := range map[string]func(*rig){
		"held":           func(r *rig) { r.write("a.prompt.hold", "") },
		"folder held":    func(r *rig) { r.write("watcher.hold", "") },
		"prompt changed": func(r *rig) { r.write("a.prompt", "hello again") },
		"prompt gone":    func(r *rig) { r.remove("a.prompt") },
		"another's": func(r *rig) {
			r.chat.Login("someone-else")
			r.cfg.Fallback.Owns = func(by string) bool { return by == engineOwner }
		},
		"in doubt":        func(r *rig) { m := r.marker("a"); m.Stage = state.StageReleased; r.write("a.md.url", m.String()) },
		"class not named": func(r *rig) { r.cfg.Fallback.On = []string{watch.ClassStalled} },
	} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.finished(watchtest.Plan{Fails: fault(watch.ClassFiltered, true)})
				r.failed("a", watch.ClassFiltered)
				e := r.other(watch.ClassFiltered)
				change(r)
				before := r.read("a.md.url")
				r.running()
				pass(time.Hour)
				if e.Calls() != 0 || r.read("a.md.url") != before || !r.has("a.md.err") || r.chat.Count("hello") != 1 {
					t.Errorf("asked %d times\n%s", e.Calls(), r.log)
				}
			})
		})
	}
}

// The engine refuses before any work, or is not there: the job waits for either,
// tries are ever further apart, and who is back first gets it.
func TestEngineRefuses(t *testing.T) {
	for what, set := range map[string]func(*watchtest.Engine, bool){
		"refuses": func(e *watchtest.Engine, well bool) {
			e.Script(func(string, int) watchtest.Call {
				if well {
					return watchtest.Call{}
				}
				return watchtest.Call{Fails: fault(watch.ClassLogin, true), Says: true}
			})
		},
		"away": func(e *watchtest.Engine, well bool) {
			var err error
			if !well {
				err = fault(watch.ClassUnreachable, false)
			}
			e.Leave(err)
		},
	} {
		for _, chatFirst := range []bool{true, false} {
			t.Run(fmt.Sprint(what, chatFirst), func(t *testing.T) {
				bubble(t, func(t *testing.T, r *rig) {
					e := r.other(watch.ClassQuota)
					back := time.Now().Add(3 * time.Hour)
					r.chat.Script(refuses(&watchtest.Fault{Kind: watch.ClassQuota, Back: back}))
					set(e, false)
					var pauses notes
					r.cfg.Fallback.OnPause = pauses.add
					r.write("a.prompt", "hello")
					r.running()
					pass(time.Hour)
					tries := e.Calls()
					if r.has("a.md.url") || r.has("a.md.err") || tries > 8 || len(pauses.all()) == 0 || len(pauses.all()) > 8 {
						t.Fatalf("asked %d times, %d pauses\n%s", tries, len(pauses.all()), r.log)
					}
					if chatFirst {
						r.chat.Script(func(string, int) watchtest.Plan { return watchtest.Plan{} })
						pass(3 * time.Hour)
						r.answered("a", "hello")
						if e.Answered("hello") != 0 {
							t.Error("answered twice")
						}
						return
					}
					set(e, true)
					pass(time.Hour)
					last := pauses.all()[len(pauses.all())-1]
					if r.read("a.md") != watchtest.EngineAnswer("hello") || e.Answered("hello") != 1 || len(r.chat.Accepted()) != 0 || last.Class != "" {
						t.Errorf("answered %d times; last pause %v\n%s", e.Answered("hello"), last, r.log)
					}
				})
			})
		}
	}
}

// notes collects pauses.
type notes struct {
	mu   sync.Mutex
	list []watch.Pause
}

func (n *notes) add(p watch.Pause) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, p)
}

func (n *notes) all() []watch.Pause {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.list)
}

// The same after the chat's answer failed: the chat must not get the prompt
// again, and nothing piles up.
func TestEngineRefusesAfterTheChat(t *testing.T) {
	for _, taken := range []bool{true, false} {
		bubble(t, func(t *testing.T, r *rig) {
			e := r.other(watch.ClassFiltered)
			e.Script(func(_ string, nth int) watchtest.Call {
				if nth < 5 {
					return watchtest.Call{Fails: fault(watch.ClassQuota, true), Says: true}
				}
				return watchtest.Call{}
			})
			plan := watchtest.Plan{Fails: fault(watch.ClassFiltered, true)}
			if !taken {
				plan = watchtest.Plan{Before: fault(watch.ClassFiltered, false)}
			}
			r.chat.Script(func(string, int) watchtest.Plan { return plan })
			r.write("a.prompt", "hello")
			r.running()
			pass(90 * time.Minute)
			if f := r.failed("a", watch.ClassFiltered); r.chat.Calls("send") != 1 || f.Prompt == "" {
				t.Errorf("the chat was tried %d times", r.chat.Calls("send"))
			}
			if taken {
				chat := r.chat.Accepted()[0].Address
				if m := r.marker("a"); m.Address != chat || m.Engine != "" || m.Stage != state.StageSent {
					t.Errorf("the marker is %+v, and the chat is %s", m, chat)
				}
			}
			files, _ := filepath.Glob(r.path("a.md.*"))
			if taken && len(files) > 6 {
				t.Errorf("files pile up: %v", files)
			}
			pass(8 * time.Hour)
			if r.read("a.md") != watchtest.EngineAnswer("hello") || e.Answered("hello") != 1 || r.chat.Calls("send") != 1 {
				t.Errorf("answered %d times, the chat tried %d times\n%s", e.Answered("hello"), r.chat.Calls("send"), r.log)
			}
		})
	}
}

// A text that the engine can't use waits for the chat; one whose chat failed has
// failed for good.
func TestEngineCannotUseTheText(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		e := r.other(watch.ClassQuota)
		e.Script(func(prompt string, _ int) watchtest.Call {
			if prompt == "too long" {
				return watchtest.Call{Fails: fault(watch.ClassInvalid, true), Says: true}
			}
			return watchtest.Call{}
		})
		back := time.Now().Add(3 * time.Hour)
		r.chat.Script(func(string, int) watchtest.Plan {
			if time.Now().Before(back) {
				return watchtest.Plan{Before: &watchtest.Fault{Kind: watch.ClassQuota, Back: back}}
			}
			return watchtest.Plan{}
		})
		r.write("a.prompt", "too long")
		r.write("b.prompt", "hello")
		r.running()
		pass(time.Hour)
		if r.byEngine(e, "b", "hello"); e.Count("too long") != 1 || r.has("a.md.url") || r.has("a.md.err") {
			t.Errorf("asked %d times\n%s", e.Count("too long"), r.log)
		}
		pass(4 * time.Hour)
		r.answered("a", "too long")
	})
	bubble(t, func(t *testing.T, r *rig) {
		e := r.other(watch.ClassFiltered)
		e.Script(func(string, int) watchtest.Call {
			return watchtest.Call{Fails: fault(watch.ClassInvalid, true), Says: true}
		})
		r.chat.Script(first(watchtest.Plan{Fails: fault(watch.ClassFiltered, true)}))
		r.write("a.prompt", "hello")
		r.running()
		pass(5 * time.Hour)
		if f := r.failed("a", watch.ClassInvalid); e.Calls() != 1 || r.chat.Count("hello") != 1 || !strings.Contains(f.Command, ".retry") {
			t.Errorf("asked %d times: %q", e.Calls(), f.Command)
		}
	})
}

// A call that was taken and gave no whole answer ends the job, with what there
// was; one of which nothing is known, too, unless it may be made again.
func TestEngineFails(t *testing.T) {
	for _, tc := range []struct {
		fails *watchtest.Fault
		again bool
		class string
		calls int
	}{
		{fault(watch.ClassGeneration, true), false, watch.ClassGeneration, 1},
		{fault(watch.ClassGeneration, true), true, watch.ClassGeneration, 1},
		{fault(watch.ClassFiltered, true), false, watch.ClassFiltered, 1},
		{fault(watch.ClassUnreachable, true), false, watch.ClassAmbiguous, 1},
		{fault(watch.ClassSiteChanged, true), false, watch.ClassAmbiguous, 1},
		{fault(watch.ClassUnreachable, true), true, "", 3},
	} {
		bubble(t, func(t *testing.T, r *rig) {
			e := r.other(watch.ClassQuota, watch.ClassFiltered, watch.ClassGeneration)
			r.cfg.Fallback.Again = tc.again
			e.Script(func(_ string, nth int) watchtest.Call {
				if nth < 3 {
					return watchtest.Call{Fails: tc.fails, Text: "half an answer"}
				}
				return watchtest.Call{}
			})
			r.chat.Script(refuses(&watchtest.Fault{Kind: watch.ClassQuota, Back: time.Now().Add(20 * time.Hour)}))
			r.write("a.prompt", "hello")
			r.running()
			pass(10 * time.Hour)
			if n := e.Count("hello"); n != tc.calls {
				t.Errorf("%v, again %v: asked %d times\n%s", tc.fails, tc.again, n, r.log)
			}
			if tc.class == "" {
				if r.read("a.md") != watchtest.EngineAnswer("hello") {
					t.Errorf("no answer\n%s", r.log)
				}
				return
			}
			if f := r.failed("a", tc.class); f.Partial != "half an answer" || !strings.Contains(f.Command, ".retry") || r.marker("a").Engine == "" {
				t.Errorf("%+v, %+v", f, r.marker("a"))
			}
		})
	}
}

// A program that is stopped waits for the end of a call, for a minute; what lasts
// longer is lost, and not asked again, or only where that was allowed.
func TestStoppedInACall(t *testing.T) {
	for _, tc := range []struct {
		takes time.Duration
		again bool
		calls int
		class string
	}{
		{40 * time.Second, false, 1, ""},
		{5 * time.Minute, false, 1, watch.ClassAmbiguous},
		{5 * time.Minute, true, 2, ""},
	} {
		bubble(t, func(t *testing.T, r *rig) {
			e := r.other(watch.ClassQuota)
			r.cfg.Fallback.Again = tc.again
			e.Script(func(_ string, nth int) watchtest.Call {
				if nth == 1 {
					return watchtest.Call{Takes: tc.takes}
				}
				return watchtest.Call{}
			})
			r.chat.Script(refuses(&watchtest.Fault{Kind: watch.ClassQuota, Back: time.Now().Add(20 * time.Hour)}))
			r.write("a.prompt", "hello")
			_, stop := r.start()
			pass(10 * time.Second)
			if m := r.marker("a"); e.Calls() != 1 || m.Engine == "" || m.Stage != state.StageReleased {
				t.Fatalf("asked %d times, marker %+v", e.Calls(), m)
			}
			stop()
			_, stop = r.start()
			pass(time.Hour)
			stop()
			if n := e.Count("hello"); n != tc.calls {
				t.Errorf("asked %d times\n%s", n, r.log)
			}
			if tc.class != "" {
				r.failed("a", tc.class)
			} else if r.read("a.md") != watchtest.EngineAnswer("hello") {
				t.Errorf("no answer\n%s", r.log)
			}
			if len(r.chat.Accepted()) != 0 || r.chat.Calls("read") != 0 {
				t.Errorf("the chat has %v", r.chat.Accepted())
			}
		})
	}
}

// A disk that is full when the answer comes: it is kept, and written later.
func TestAnswerThatCannotBeWritten(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		e := r.other(watch.ClassQuota)
		r.cfg.Fallback.Again = true
		r.chat.Script(refuses(&watchtest.Fault{Kind: watch.ClassQuota, Back: time.Now().Add(20 * time.Hour)}))
		var mu sync.Mutex
		full := false
		e.Script(func(string, int) watchtest.Call {
			mu.Lock()
			defer mu.Unlock()
			full = true
			return watchtest.Call{Takes: time.Minute}
		})
		r.cfg.DirOptions = []state.Option{state.WithStep(func(step string) error {
			mu.Lock()
			defer mu.Unlock()
			if full && step == state.StepWrite {
				return syscall.ENOSPC
			}
			return nil
		})}
		r.write("a.prompt", "hello")
		r.running()
		pass(20 * time.Minute)
		if r.has("a.md") {
			t.Fatal("the disk is not full")
		}
		mu.Lock()
		full = false
		mu.Unlock()
		pass(20 * time.Minute)
		r.byEngine(e, "a", "hello")
	})
}

// Whichever step fails, or is the last of a program that dies: no engine gets the
// prompt twice, the chat never after the other engine, and the job ends.
func TestEveryStepOfACall(t *testing.T) {
	begin := map[string]struct {
		plan  watchtest.Plan
		taken int // by the chat
	}{
		"paused":  {watchtest.Plan{Before: fault(watch.ClassQuota, false)}, 0},
		"failed":  {watchtest.Plan{Fails: fault(watch.ClassFiltered, true)}, 1},
		"refused": {watchtest.Plan{Before: fault(watch.ClassFiltered, false)}, 0},
	}
	for name, b := range begin {
		for i, call := range []watchtest.Call{{Takes: time.Second}, {Fails: fault(watch.ClassLogin, true), Says: true}, {Fails: fault(watch.ClassGeneration, true)}} {
			if i > 0 && !*watch.Every {
				break
			}
			t.Run(name, func(t *testing.T) {
				everyStep(t, 30, func(t *testing.T, r *rig, s *stumble) {
					e := r.other(watch.ClassQuota, watch.ClassFiltered)
					e.Script(func(_ string, nth int) watchtest.Call {
						if nth > 1 && call.Says {
							return watchtest.Call{}
						}
						return call
					})
					r.chat.Script(func(string, int) watchtest.Plan { return b.plan })
					r.write("a.prompt", "hello")
					r.then(s, 7*time.Minute, 3*time.Hour)
					r.oneEngine(e, "hello", b.taken, call.Says)
					f := state.ParseFailure([]byte(r.read("a.md.err")))
					answered := r.read("a.md") == watchtest.EngineAnswer("hello")
					// A crash right before a program would write down what came of a call loses it.
					lost := s.failed() != "" && slices.Contains([]string{watch.ClassAmbiguous, watch.ClassFiltered}, f.Class)
					switch {
					case call.Fails != nil && !call.Says && f.Class == watch.ClassGeneration, lost:
					case call.Fails != nil && !call.Says || !answered:
						t.Errorf("%s: answer %q, failure %+v\n%s", s.failed(), r.read("a.md"), f, r.log)
					}
					if b.taken > 0 {
						r.kept("a")
					}
				})
			})
		}
	}
}

// oneEngine checks what both ledgers must say.
func (r *rig) oneEngine(e *watchtest.Engine, prompt string, taken int, refusedFirst bool) {
	r.t.Helper()
	most := 1
	if refusedFirst {
		most = e.Count(prompt) // each but the last was refused before any work
	}
	if e.Answered(prompt) > 1 || e.Count(prompt) > most {
		r.t.Errorf("the other engine got it %d times and answered %d\n%s", e.Count(prompt), e.Answered(prompt), r.log)
	}
	if n := r.chat.Count(prompt); n > taken {
		r.t.Errorf("the chat took it %d times, want %d at most\n%s", n, taken, r.log)
	}
}

// Two programs of two profiles on one folder, one with a chat that works and one
// whose chat is paused: each prompt goes to one engine.
func TestTwoEnginesRace(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		e := r.other(watch.ClassQuota)
		r.cfg.Rescan, r.cfg.Settle, r.cfg.InFlight = 5*time.Second, time.Second, 20
		e.Script(func(string, int) watchtest.Call { return watchtest.Call{Takes: 3 * time.Second} })
		paused := watchtest.NewFake()
		paused.Login("another-account")
		paused.Script(refuses(&watchtest.Fault{Kind: watch.ClassQuota, Back: time.Now().Add(20 * time.Hour)}))
		r.chat.Script(func(string, int) watchtest.Plan { return watchtest.Plan{Takes: 2 * time.Second, Think: time.Minute} })
		mine := r.cfg
		mine.Fallback = watch.Fallback{Owns: func(by string) bool { return by == chatOwner }}
		theirs := r.cfg
		theirs.Chat, theirs.ID = paused, "44556677"
		theirs.Fallback.Owns = func(by string) bool { return by == "another-account" || by == engineOwner }
		for _, cfg := range []watch.Config{mine, theirs} {
			r.cfg = cfg
			r.running()
		}
		prompts := map[string]string{}
		for i := range 40 {
			name := fmt.Sprintf("p%02d", i)
			prompts[name] = "question " + name
			r.write(name+".prompt", prompts[name])
			pass(time.Duration(i%7) * time.Second)
		}
		pass(2 * time.Hour)
		byChat, byEngine := 0, 0
		for name, prompt := range prompts {
			a, b := r.chat.Count(prompt), e.Count(prompt)
			byChat, byEngine = byChat+a, byEngine+b
			if a+b != 1 || !r.has(name+".md") {
				t.Errorf("%s: the chat took it %d times, the other engine %d", name, a, b)
			}
		}
		if byChat == 0 || byEngine == 0 {
			t.Errorf("no race: %d by the chat, %d by the other engine", byChat, byEngine)
		}
	})
}

// Another program's call is left alone until it is far too old.
func TestAnothersCall(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		e := r.other(watch.ClassQuota)
		r.cfg.Fallback.Again = true
		r.write("a.prompt", "hello")
		m := state.Marker{Address: watchtest.EngineAddress, Engine: watch.EngineRouter, Prompt: state.Fingerprint("hello"),
			By: "somebody-else", Stage: state.StageReleased, At: time.Now().Unix()}
		r.write("a.md.url", m.String())
		r.running()
		pass(20 * time.Hour)
		if e.Calls() != 0 || r.has("a.md.err") || r.chat.Calls("read") != 0 || r.chat.Calls("send") != 0 {
			t.Errorf("it was touched\n%s", r.log)
		}
		pass(10 * time.Hour)
		r.failed("a", watch.ClassExpired)
	})
}

// A marker of another engine never makes the chat's page open its address, also
// where no other engine is set up any more; and a person's files are obeyed.
func TestCallOfThePast(t *testing.T) {
	for what, tc := range map[string]struct {
		stage state.Stage
		file  string
		class string
	}{
		"in flight":         {state.StageReleased, "", watch.ClassAmbiguous},
		"answer taken away": {state.StageSent, "", watch.ClassGone},
		"cancelled":         {state.StageReleased, "a.prompt.cancel", watch.ClassCancelled},
		"retried":           {state.StageReleased, "a.prompt.retry", ""},
	} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.other()
				r.cfg.Fallback = watch.Fallback{Owns: r.cfg.Fallback.Owns}
				r.write("a.prompt", "hello")
				m := state.Marker{Address: watchtest.EngineAddress, Engine: watch.EngineRouter, Prompt: state.Fingerprint("hello"),
					By: engineOwner, Stage: tc.stage, At: time.Now().Unix()}
				r.write("a.md.url", m.String())
				if tc.file != "" {
					r.write(tc.file, "")
				}
				r.running()
				pass(20 * time.Minute)
				if tc.class == "" {
					r.answered("a", "hello")
					return
				}
				if r.failed("a", tc.class); r.chat.Calls("read")+r.chat.Calls("find")+r.chat.Calls("stop")+r.chat.Calls("send") != 0 || r.has(tc.file) && tc.file != "" {
					t.Errorf("the chat was asked\n%s", r.log)
				}
			})
		})
	}
}

// What one call of generate says.
func TestStepWithAnotherEngine(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		e := r.other(watch.ClassQuota, watch.ClassFiltered)
		e.Script(func(prompt string, nth int) watchtest.Call {
			switch {
			case prompt == "refused" && nth == 1:
				return watchtest.Call{Fails: fault(watch.ClassQuota, true), Says: true}
			case prompt == "failed":
				return watchtest.Call{Fails: fault(watch.ClassGeneration, true)}
			}
			return watchtest.Call{Takes: 5 * time.Minute}
		})
		r.chat.Script(refuses(&watchtest.Fault{Kind: watch.ClassQuota, Back: time.Now().Add(20 * time.Hour)}))
		for _, prompt := range []string{"hello", "failed", "refused"} {
			r.write(prompt+".prompt", prompt)
		}
		for _, want := range []struct {
			file    string
			outcome watch.Outcome
			class   string
		}{{"hello", watch.Done, ""}, {"failed", watch.Failed, watch.ClassGeneration}, {"refused", watch.CannotSend, watch.ClassQuota}} {
			a, err := watch.New(r.cfg)
			if err != nil {
				t.Fatal(err)
			}
			got, err := a.Generate(t.Context(), r.path(want.file+".prompt"))
			if err != nil || got[0].Outcome != want.outcome || got[0].Class != want.class {
				t.Errorf("%s: %+v, %v", want.file, got, err)
			}
		}
	})
}

// A failed job is taken further by one call, too.
func TestStepOfAFailedJob(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.finished(watchtest.Plan{Fails: fault(watch.ClassFiltered, true)})
		e := r.other(watch.ClassFiltered)
		e.Script(func(string, int) watchtest.Call { return watchtest.Call{Takes: 5 * time.Minute} })
		a, err := watch.New(r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.Generate(t.Context(), r.path("a.prompt"))
		if err != nil || got[0].Outcome != watch.Done {
			t.Errorf("%+v, %v\n%s", got, err, r.log)
		}
		r.byEngine(e, "a", "hello")
	})
}

func TestFallbackOptions(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for _, class := range []string{watch.ClassAmbiguous, watch.ClassInvalid, watch.ClassCancelled, watch.ClassDisk, watch.ClassKeysGone, "unheard-of", ""} {
			if r.other(class); watch.CanFallBack(class) {
				t.Errorf("%q may be named", class)
			}
			if _, err := watch.New(r.cfg); err == nil {
				t.Errorf("%q is accepted", class)
			}
		}
		r.other(watch.ClassQuota)
		r.cfg.Fallback.By = "nobody"
		if _, err := watch.New(r.cfg); err == nil {
			t.Error("an owner that is not ours is accepted")
		}
	})
}

// A prompt that asks for another engine goes nowhere else, with the model that it
// names; the chat's own options keep a prompt from going there.
func TestPromptThatAsksForAnEngine(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		e := r.other(watch.ClassQuota)
		r.write("a.prompt", "---\nengine: router\nmodel: some/other\n---\nhello\n")
		r.write("b.prompt", "---\nengine: router\nchat: a\n---\ncontinue\n")
		r.write("c.prompt", "---\nchat: a\n---\nfollow\n")
		r.write("d.prompt", "for the chat")
		r.running()
		pass(time.Hour)
		r.byEngine(e, "a", "hello")
		r.answered("d", "for the chat")
		r.failed("b", watch.ClassInvalid)
		if len(r.chat.Accepted()) != 1 || !slices.Equal(e.Models(), []string{"some/other"}) || r.has("c.md.url") || r.logged("answered by another engine", "/c") == 0 {
			t.Errorf("the chat took %v, models %v\n%s", r.chat.Accepted(), e.Models(), r.log)
		}
	})
	bubble(t, func(t *testing.T, r *rig) { // the engine refuses: the chat is no way out
		e := r.other(watch.ClassQuota)
		e.Script(func(string, int) watchtest.Call {
			return watchtest.Call{Fails: fault(watch.ClassQuota, true), Says: true}
		})
		r.write("a.prompt", "---\nengine: router\n---\nhello\n")
		r.running()
		pass(5 * time.Hour)
		if e.Calls() == 0 || r.chat.Calls("send") != 0 || r.has("a.md.url") {
			t.Errorf("asked %d times\n%s", e.Calls(), r.log)
		}
		a, err := watch.New(r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.Generate(t.Context(), r.path("a.prompt"))
		if err != nil || got[0].Outcome != watch.CannotSend || got[0].Class != watch.ClassQuota {
			t.Errorf("%+v, %v", got, err)
		}
	})
	bubble(t, func(t *testing.T, r *rig) { // none is set up
		r.write("a.prompt", "---\nengine: router\n---\nhello\n")
		r.running()
		pass(time.Hour)
		r.unsent("a")
		if r.chat.Calls("send") != 0 || r.logged("--fallback-model") == 0 {
			t.Errorf("log:\n%s", r.log)
		}
	})
}

// A prompt that continues a chat, or brings files, waits for the chat.
func TestFollowersWaitForTheChat(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		e := r.other(watch.ClassQuota)
		r.write("a.prompt", "begin")
		r.write("figure.csv", "1,2\n")
		_, stop := r.start()
		pass(10 * time.Minute)
		stop()
		back := time.Now().Add(3 * time.Hour)
		r.chat.Script(func(string, int) watchtest.Plan {
			if time.Now().Before(back) {
				return watchtest.Plan{Before: &watchtest.Fault{Kind: watch.ClassQuota, Back: back}}
			}
			return watchtest.Plan{}
		})
		r.write("b.prompt", "---\nchat: a\n---\nfollow\n")
		r.write("c.prompt", "---\nattach: [figure.csv]\n---\nlook\n")
		r.write("d.prompt", "plain")
		r.write("e.prompt", "---\nengine: chat\n---\nfor the chat alone\n")
		r.running()
		pass(2 * time.Hour)
		r.byEngine(e, "d", "plain")
		if e.Calls() != 1 || r.has("b.md.url") || r.has("c.md.url") || r.has("e.md.url") {
			t.Errorf("asked %d times\n%s", e.Calls(), r.log)
		}
		pass(3 * time.Hour)
		r.answered("b", "follow")
		r.answered("c", "look")
		r.answered("e", "for the chat alone")
	})
}
