package watch_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"watcher/state"
	"watcher/watch"
	"watcher/watch/watchtest"
)

// witness collects what an agent tells.
type witness struct {
	mu     sync.Mutex
	events []watch.Event
}

func (w *witness) see(e watch.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// of lists the events of some kinds, in order.
func (w *witness) of(kinds ...string) (list []watch.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if slices.Contains(kinds, e.Kind) {
			list = append(list, e)
		}
	}
	return list
}

// one is the only event of a kind.
func (w *witness) one(t *testing.T, kind string) watch.Event {
	t.Helper()
	list := w.of(kind)
	if len(list) != 1 {
		t.Fatalf("%d events %q, want one: %+v", len(list), kind, list)
	}
	return list[0]
}

// observed runs a test of an agent that tells a witness.
func observed(t *testing.T, f func(t *testing.T, r *rig, w *witness)) {
	t.Helper()
	bubble(t, func(t *testing.T, r *rig) {
		w := &witness{}
		r.cfg.Observe = w.see
		f(t, r, w)
	})
}

func TestObserveALife(t *testing.T) {
	observed(t, func(t *testing.T, r *rig, w *witness) {
		r.chat.Script(func(string, int) watchtest.Plan {
			return watchtest.Plan{Takes: 3 * time.Second, Think: 5 * time.Minute}
		})
		r.running()
		pass(time.Second)
		r.write("a.prompt", "hello")
		pass(10 * time.Minute)
		r.answered("a", "hello")
		sent, done := w.one(t, watch.EventSent), w.one(t, watch.EventDone)
		if sent.Job != r.path("a") || sent.Age < r.cfg.Settle || sent.Age > 2*time.Minute || sent.Took < 6*time.Second {
			t.Errorf("sent: %+v", sent)
		}
		if done.Job != r.path("a") || done.Age < 5*time.Minute || done.Age > 8*time.Minute {
			t.Errorf("done: %+v", done)
		}
		if n := len(w.of(watch.EventRead)); n < 4 {
			t.Errorf("%d reads in some minutes of polling", n)
		}
		if list := w.of(watch.EventRefused, watch.EventFailed, watch.EventPaused, watch.EventResumed); len(list) > 0 {
			t.Errorf("nothing went wrong, and yet: %+v", list)
		}
	})
}

// TestObserveScanned: the first look is told once, though a folder is missing.
func TestObserveScanned(t *testing.T) {
	observed(t, func(t *testing.T, r *rig, w *witness) {
		r.cfg.Roots = append(r.cfg.Roots, r.path("missing"))
		r.write("sub/old.prompt", "there before")
		r.running()
		pass(0)
		w.one(t, watch.EventScanned)
		s, err := r.last.Survey(context.Background())
		if err != nil || s.New != 1 {
			t.Errorf("after the first look: %+v, %v", s, err)
		}
		pass(10 * time.Minute)
		w.one(t, watch.EventScanned)
	})
}

// TestObserveOlderLife: whoever sees only the end of a job's life knows no age.
func TestObserveOlderLife(t *testing.T) {
	observed(t, func(t *testing.T, r *rig, w *witness) {
		r.chat.Script(func(string, int) watchtest.Plan { return watchtest.Plan{Think: 5 * time.Minute} })
		r.write("a.prompt", "hello")
		_, stop := r.start()
		pass(time.Minute)
		stop()
		r.running()
		pass(10 * time.Minute)
		w.one(t, watch.EventSent)
		if done := w.one(t, watch.EventDone); done.Age != 0 {
			t.Errorf("the age of a prompt that another run saw come: %v", done.Age)
		}
	})
}

func TestObserveTrouble(t *testing.T) {
	observed(t, func(t *testing.T, r *rig, w *witness) {
		r.chat.Script(func(prompt string, nth int) watchtest.Plan {
			switch {
			case prompt == "bad":
				return watchtest.Plan{Before: &watchtest.Fault{Kind: watch.ClassFiltered}}
			case nth == 1:
				return watchtest.Plan{Before: &watchtest.Fault{Kind: watch.ClassChallenge}}
			}
			return watchtest.Plan{}
		})
		r.running()
		r.write("bad.prompt", "bad")
		r.write("good.prompt", "good")
		pass(time.Hour)
		r.answered("good", "good")
		if f := w.one(t, watch.EventFailed); f.Class != watch.ClassFiltered || f.Job != r.path("bad") {
			t.Errorf("failed: %+v", f)
		}
		if p := w.one(t, watch.EventPaused); p.Class != watch.ClassChallenge || p.Reason == "" || p.Folder != "" {
			t.Errorf("paused: %+v", p)
		}
		if p := w.one(t, watch.EventResumed); p.Class != watch.ClassChallenge {
			t.Errorf("resumed: %+v", p)
		}
		var refused []string
		for _, e := range w.of(watch.EventRefused) {
			refused = append(refused, e.Class)
		}
		if !slices.Equal(refused, []string{watch.ClassFiltered, watch.ClassChallenge}) {
			t.Errorf("refused: %v", refused)
		}
	})
}

// TestObserveKeysGone: a folder's own pause names the folder.
func TestObserveKeysGone(t *testing.T) {
	observed(t, func(t *testing.T, r *rig, w *witness) {
		r.cfg.SendGap, r.cfg.InFlight = 0, 10
		r.running()
		r.answeredAll(3)
		pass(time.Minute) // the answers are seen, and the markers remembered
		r.clean("*.md", "*.md.url")
		pass(2 * time.Minute)
		if p := w.one(t, watch.EventPaused); p.Class != watch.ClassKeysGone || p.Folder != r.dir || p.Hint == "" {
			t.Errorf("paused: %+v", p)
		}
		if s, err := r.last.Survey(context.Background()); err != nil || s.FoldersPaused != 1 {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// TestEnding: what a job's end is noted by comes before its file, each time,
// and says which file that will be.
func TestEnding(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		type note struct {
			job, kind, class string
			there            bool
		}
		var notes []note
		r.cfg.Ending = func(job, kind, class string) {
			file := job + ".md"
			if kind == watch.EventFailed {
				file += ".err"
			}
			_, err := os.Lstat(file)
			notes = append(notes, note{job, kind, class, err == nil})
		}
		full := true
		r.cfg.DirOptions = []state.Option{state.WithStep(func(step string) error {
			if full && step == state.StepLink && r.has("a.md.url") && len(notes) > 0 {
				full = false
				return errors.New("no space")
			}
			return nil
		})}
		r.running()
		r.write("a.prompt", "hello")
		r.write("b.prompt", "nul\x00")
		pass(20 * time.Minute)
		r.answered("a", "hello")
		r.failed("b", watch.ClassInvalid)
		want := map[note]bool{
			{r.path("a"), watch.EventDone, "", false}:                   true,
			{r.path("b"), watch.EventFailed, watch.ClassInvalid, false}: true,
		}
		for _, n := range notes {
			if !want[n] {
				t.Errorf("noted %+v", n)
			}
		}
		if full || len(notes) < 3 {
			t.Errorf("noted %+v: the answer was tried twice, so it is noted twice", notes)
		}
	})
}

func TestSurvey(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(func(prompt string, _ int) watchtest.Plan {
			return watchtest.Plan{Stuck: prompt == "stuck", Takes: 4 * time.Second}
		})
		a, err := watch.New(r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Survey(context.Background()); !errors.Is(err, watch.ErrNotRunning) {
			t.Errorf("before the start: %v", err)
		}
		r.write("done.prompt", "done")
		r.write("stuck.prompt", "stuck")
		r.write("wrong.prompt", "nul\x00")
		a, stop := r.start()
		working := false
		for range 200 {
			pass(time.Second)
			s, err := a.Survey(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			working = working || s.Working > time.Second
		}
		if !working {
			t.Error("a send that takes seconds was never seen at work")
		}
		s, err := a.Survey(context.Background())
		if err != nil || s.New != 0 || s.Sent != 1 || s.Failed != 1 || s.Done != 1 || s.Oldest < 199*time.Second || s.Pause.Class != "" {
			t.Errorf("%+v, %v", s, err)
		}
		r.chat.Break("owner", fault(watch.ClassLogin, true))
		r.chat.Break("send", fault(watch.ClassLogin, true))
		r.write("late.prompt", "late")
		pass(time.Minute)
		if s, err = a.Survey(context.Background()); err != nil || s.New != 1 || s.Pause.Class != watch.ClassLogin {
			t.Errorf("paused: %+v, %v", s, err)
		}
		stop()
		if _, err := a.Survey(context.Background()); !errors.Is(err, watch.ErrNotRunning) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// TestSurveyOfALoopThatHangs gives up with its caller.
func TestSurveyOfALoopThatHangs(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		free := make(chan struct{})
		r.cfg.Observe = func(watch.Event) { <-free }
		a, stop := r.start()
		pass(0)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := a.Survey(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a loop that hangs: %v", err)
		}
		close(free)
		pass(0)
		if _, err := a.Survey(context.Background()); err != nil {
			t.Errorf("one that goes on: %v", err)
		}
		stop()
	})
}
