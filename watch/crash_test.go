package watch_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"watcher/state"
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
