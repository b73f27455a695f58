package qwen_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

// aged makes the notes of pressed buttons older than the answer needs to show it.
func (s *stage) aged(t *testing.T) {
	t.Helper()
	notes, err := filepath.Glob(filepath.Join(s.profile.Dir(), "cuts", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range notes {
		if err := os.Chtimes(note, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
}

// goOn reads the chat until its answer is whole, and has the site go on with it
// wherever it is cut. The error is that of the last attempt.
func (s *stage) goOn(t *testing.T, address, message string) (qwen.Turn, error) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		turn, err := s.client.Read(t.Context(), address, message, "")
		var e *qwen.Error
		switch {
		case err == nil && turn.Done:
			return turn, nil
		case errors.As(err, &e) && e.GoesOn():
			if turn.Done {
				t.Fatal("a cut answer is called whole")
			}
			if err := s.client.GoOn(t.Context(), address, message, ""); err != nil {
				return turn, err
			}
		case kind(err) == qwen.KindBrowser: // it was killed, and nobody had noticed
		case err != nil:
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatalf("not whole in time: %d bytes, %v", len(turn.Text), err)
		}
	}
}

// unique begins a prompt with a wish that the site must not have met before.
func unique() string { return strconv.FormatInt(time.Now().UnixNano(), 36) + ": " }

// onCut is a shared stage with a site whose Continue button does this.
func onCut(t *testing.T, mode, continues string) *stage {
	t.Helper()
	o := brisk
	o.Continues = continues
	return onLight(t, mode, o)
}

// TestGoOn: an answer that is cut at its length is whole in the end, to the byte,
// however the site puts the parts together, and each press is one request.
func TestGoOn(t *testing.T) {
	t.Parallel()
	for continues, mode := range map[string]string{"response": "h2", "child": "h1", "resume": "http", "twice": "h2"} {
		if leftOut(continues, "child") {
			continue
		}
		t.Run(continues, func(t *testing.T) {
			t.Parallel()
			s := onCut(t, mode, continues)
			prompt := unique() + "A long answer, please, with " + continues + ".\n!rehearsal answer=long fault=continue n=4 times=3"
			address, message := s.mustSend(t, prompt)
			turn, err := s.goOn(t, address, message)
			if err != nil {
				t.Fatal(err)
			}
			if want := qwentest.Answer(prompt); turn.Text != want {
				t.Errorf("the answer differs: %d bytes instead of %d", len(turn.Text), len(want))
			}
			if n := s.site.GoneOn(prompt); n != 3 || s.site.Find(prompt).Posted != 1 {
				t.Errorf("the site was asked %d times to go on, want 3; %+v", n, s.site.Find(prompt))
			}
		})
	}
}

// TestGoOnRefused: a button that makes the page send anything else than what is
// understood and harmless. Nothing of it reaches the site, and the answer stays.
func TestGoOnRefused(t *testing.T) {
	t.Parallel()
	s := onCut(t, "h2", "")
	t.Cleanup(func() { s.client.SetEvidence("") })
	s.client.SetEvidence(t.TempDir())
	for continues, says := range map[string]string{
		"repeat": "carries the prompt", "sibling": "speaks of the message", "says": "message of its own", "elsewhere": "not known",
	} {
		if leftOut(continues, "repeat") {
			continue
		}
		o := brisk
		o.Continues = continues
		s.configure(o)
		prompt := unique() + "A long answer, please, though the page would " + continues + ".\n!rehearsal answer=long fault=continue n=4"
		address, message := s.mustSend(t, prompt)
		turn, err := s.goOn(t, address, message)
		if kind(err) != qwen.KindGeneration || !contains(err, says) || !fault(err).GoesOn() || fault(err).MayHaveLeft() ||
			!strings.Contains(fault(err).Hint(), "press Continue") || !strings.Contains(fault(err).Hint(), "what the page showed") {
			t.Errorf("%s: %v (%s), want it to say %q", continues, err, fault(err).Hint(), says)
		}
		if !strings.HasPrefix(qwentest.Answer(prompt), turn.Text) || len(turn.Text) < 100 {
			t.Errorf("%s: the part that there is: %q", continues, turn.Text)
		}
		if e := s.site.Find(prompt); s.site.GoneOn(prompt) != 0 || e.Posted != 1 || len(e.Elsewhere) > 0 {
			t.Errorf("%s: asked %d times, %+v", continues, s.site.GoneOn(prompt), e)
		}
	}
}

// TestGoOnOnce: the browser dies between the note and the release, and right after
// it. Nobody presses again for that cut, ever.
func TestGoOnOnce(t *testing.T) {
	if leftOut(t.Name()) {
		return
	}
	t.Parallel()
	s := onCut(t, "h1", "")
	s.client.Close() // in order: Chromium writes its cookies half a minute late, or then
	for step, most := range map[string]int{qwen.StepVerified: 0, qwen.StepCommitted: 0, qwen.StepReleased: 1, qwen.StepHeaders: 1} {
		if leftOut(step, qwen.StepCommitted) {
			continue
		}
		prompt := unique() + "A long answer, please, and a crash at the step " + step + ".\n!rehearsal answer=long fault=continue n=4"
		address, message := s.mustSend(t, prompt)
		for turn := (qwen.Turn{}); len(turn.Text) == 0 || !goesOn(t, s, address, message); {
			turn, _ = s.client.Read(t.Context(), address, message, "")
		}
		s.onStep(func(name string) {
			if name == step {
				s.killBrowser(t)
			}
		})
		err := s.client.GoOn(t.Context(), address, message, "")
		s.onStep(nil)
		t.Logf("%s: %v", step, err)
		if n := s.site.GoneOn(prompt); n > most {
			t.Fatalf("%s: asked %d times", step, n)
		}
		if err != nil { // the note is made: its chat will tell
			t.Errorf("%s: %v", step, err)
		}
		before := s.site.GoneOn(prompt)
		if before == 0 {
			// The crash came before the release: it stays as it is, for ever.
			for range 2 {
				if err := s.client.GoOn(t.Context(), address, message, ""); err != nil || s.site.GoneOn(prompt) != 0 {
					t.Errorf("%s, again: %v, asked %d times", step, err, s.site.GoneOn(prompt))
				}
			}
			s.aged(t)
			for range 2 {
				if err := s.client.GoOn(t.Context(), address, message, ""); kind(err) != qwen.KindGeneration || !fault(err).GoesOn() || s.site.GoneOn(prompt) != 0 {
					t.Errorf("%s, much later: %v, asked %d times", step, err, s.site.GoneOn(prompt))
				}
			}
			continue
		}
		if turn, err := s.goOn(t, address, message); err != nil || turn.Text != qwentest.Answer(prompt) || s.site.GoneOn(prompt) != 1 {
			t.Errorf("%s: %d bytes, %v, asked %d times", step, len(turn.Text), err, s.site.GoneOn(prompt))
		}
	}
}

// goesOn reports whether the answer is seen to be cut.
func goesOn(t *testing.T, s *stage, address, message string) bool {
	_, err := s.client.Read(t.Context(), address, message, "")
	e := fault(err)
	return e != nil && e.GoesOn()
}

// TestGoOnLimit: it is pressed as often as the options allow.
func TestGoOnLimit(t *testing.T) {
	if leftOut(t.Name()) {
		return
	}
	t.Parallel()
	s := onCut(t, "http", "")
	prompt := unique() + "An answer without end, please.\n!rehearsal answer=200k fault=continue n=1 times=100"
	address, message := s.mustSend(t, prompt)
	turn, err := s.goOn(t, address, message)
	if kind(err) != qwen.KindGeneration || !contains(err, "as often as") || s.site.GoneOn(prompt) != 3 || !strings.HasPrefix(qwentest.Answer(prompt), turn.Text) {
		t.Errorf("%v, asked %d times, %d bytes", err, s.site.GoneOn(prompt), len(turn.Text))
	}
	if err := s.client.GoOn(t.Context(), "https://elsewhere.example/c/00000000-0000-4000-8000-000000000000", "", ""); kind(err) != qwen.KindInvalid {
		t.Errorf("elsewhere: %v", err)
	}
}
