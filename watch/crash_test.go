package watch_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"watcher/state"
	"watcher/watch"
	"watcher/watch/watchtest"
)

// stumble fails the n-th step taken on the folder: only that one, or, as if the
// program had died there, all from it on.
type stumble struct {
	mu   sync.Mutex
	n    int
	dies bool
	step string // the one that failed; "" if there were fewer
}

var errStumble = errors.New("injected fault")

func (s *stumble) at(step string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n--
	if s.n == 0 {
		s.step = step
	}
	if s.n == 0 || s.n < 0 && s.dies {
		return errStumble
	}
	return nil
}

func (s *stumble) failed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.step
}

// Whichever step fails, or is the last of a program that dies: after a restart
// the prompt has been taken exactly once and its answer is there.
func TestEveryStep(t *testing.T) {
	plans := map[string]watchtest.Plan{
		"sent":     {Think: 30 * time.Second},
		"lost":     {After: fault("unreachable", true), Lose: true},
		"arrived":  {After: fault("unreachable", true), Think: 30 * time.Second},
		"not left": {After: fault("browser", false)},
		"refused":  {After: fault("challenge", true), Lose: true},
	}
	seen := map[string]bool{}
	for name, p := range plans {
		for _, dies := range []bool{false, true} {
			for n := 1; ; n++ {
				s := &stumble{n: n, dies: dies}
				bubble(t, func(t *testing.T, r *rig) { survives(t, r, s, p) })
				step := s.failed()
				if t.Failed() {
					t.Fatalf("%s, step %d (%s), dies %v", name, n, step, dies)
				}
				if step == "" {
					if n < 30 {
						t.Errorf("%s took only %d steps", name, n)
					}
					break
				}
				seen[step] = true
			}
		}
	}
	for _, step := range []string{
		state.StepLook, state.StepOpen, state.StepRead, state.StepBelieve, state.StepTemp, state.StepReserve,
		state.StepWrite, state.StepSync, state.StepClose, state.StepLink, state.StepLinked, state.StepMove,
		state.StepMoved, state.StepRename, state.StepRenamed, state.StepFolder, state.StepUnlink, state.StepList,
	} {
		if !seen[step] {
			t.Errorf("no run came to step %q", step)
		}
	}
}

// survives runs an agent until the fault, and another one after it.
func survives(t *testing.T, r *rig, s *stumble, p watchtest.Plan) {
	r.cfg.SendGap, r.cfg.Rescan = 0, 10*time.Minute
	r.chat.Script(first(p))
	r.write("a.prompt", "hello")
	r.cfg.DirOptions = []state.Option{state.WithStep(s.at)}
	_, stop := r.start()
	pass(7 * time.Minute)
	stop()
	r.cfg.DirOptions = nil
	_, stop = r.start()
	pass(40 * time.Minute)
	stop()
	r.answered("a", "hello")
	if r.has("a.md.err") {
		t.Errorf("it failed: %s", r.read("a.md.err"))
	}
}

// everyStep runs f with a fault at each step in turn, once as the only one and
// once as the last step of a program that dies there.
func everyStep(t *testing.T, least int, f func(t *testing.T, r *rig, s *stumble)) {
	for _, dies := range []bool{false, true} {
		for n := 1; ; n++ {
			s := &stumble{n: n, dies: dies}
			bubble(t, func(t *testing.T, r *rig) { f(t, r, s) })
			step := s.failed()
			if t.Failed() {
				t.Fatalf("step %d (%s), dies %v", n, step, dies)
			}
			if step == "" {
				if n < least {
					t.Errorf("it took only %d steps", n)
				}
				break
			}
		}
	}
}

// finished is a job that was sent and answered, or sent only.
func (r *rig) finished(p watchtest.Plan) {
	r.t.Helper()
	r.cfg.SendGap, r.cfg.Rescan = 0, 10*time.Minute
	r.chat.Script(first(p))
	r.write("a.prompt", "hello")
	_, stop := r.start()
	pass(2 * time.Minute)
	stop()
	if r.chat.Count("hello") != 1 {
		r.t.Fatalf("not sent\n%s", r.log)
	}
}

// then runs an agent until the fault, and another one after it.
func (r *rig) then(s *stumble, first, second time.Duration) {
	r.cfg.DirOptions = []state.Option{state.WithStep(s.at)}
	_, stop := r.start()
	pass(first)
	stop()
	r.cfg.DirOptions = nil
	_, stop = r.start()
	pass(second)
	stop()
}

// A retry that is cut anywhere leads to one more send, not two, and no address
// is lost.
func TestEveryStepOfARetry(t *testing.T) {
	for name, p := range map[string]watchtest.Plan{"done": {}, "failed": {Fails: fault("generation", true)}} {
		t.Run(name, func(t *testing.T) {
			everyStep(t, 50, func(t *testing.T, r *rig, s *stumble) {
				r.finished(p)
				r.write("a.prompt.retry", "")
				r.then(s, 7*time.Minute, 40*time.Minute)
				if n := r.chat.Count("hello"); n != 2 || r.read("a.md") != watchtest.Answer("hello") || r.has("a.prompt.retry") {
					t.Errorf("taken %d times, want twice; answer %q\n%s", n, r.read("a.md"), r.log)
				}
				r.kept("a")
			})
		})
	}
}

// The same by the command, which is called again after the fault.
func TestEveryStepOfARetryByForce(t *testing.T) {
	everyStep(t, 20, func(t *testing.T, r *rig, s *stumble) {
		r.finished(watchtest.Plan{})
		r.chat.Login("someone-else")
		for _, options := range [][]state.Option{{state.WithStep(s.at)}, nil} {
			d, err := state.OpenDir(r.dir, r.cfg.ID, options...)
			if err != nil {
				t.Fatal(err)
			}
			_, err = watch.Retry(d, "a", func(string) bool { return false }, true)
			d.Close()
			if err == nil && s.failed() == "" {
				break // it worked the first time: a second call would be a second wish
			}
		}
		_, stop := r.start()
		pass(20 * time.Minute)
		stop()
		if n := r.chat.Count("hello"); n != 2 || r.read("a.md") != watchtest.Answer("hello") {
			t.Errorf("taken %d times, want twice; answer %q\n%s", n, r.read("a.md"), r.log)
		}
		r.kept("a")
	})
}

// A cancellation that is cut anywhere ends the job all the same.
func TestEveryStepOfACancel(t *testing.T) {
	t.Run("sent", func(t *testing.T) {
		everyStep(t, 20, func(t *testing.T, r *rig, s *stumble) {
			r.finished(watchtest.Plan{Think: 24 * time.Hour})
			r.write("a.prompt.cancel", "")
			r.then(s, 2*time.Minute, 20*time.Minute)
			if r.failed("a", "cancelled"); r.has("a.prompt.cancel") || r.chat.Calls("send") != 1 {
				t.Errorf("log:\n%s", r.log)
			}
		})
	})
	t.Run("new", func(t *testing.T) {
		everyStep(t, 20, func(t *testing.T, r *rig, s *stumble) {
			r.cfg.Rescan = 10 * time.Minute
			r.write("a.prompt", "hello")
			r.write("a.prompt.cancel", "")
			r.then(s, 2*time.Minute, 20*time.Minute)
			if r.failed("a", "cancelled"); r.has("a.prompt.cancel") {
				t.Errorf("log:\n%s", r.log)
			}
			r.unsent("a")
		})
	})
}
