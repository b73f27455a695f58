package state

import (
	"strings"
	"testing"
)

// The order of the phases, written down a second time and another way.
func TestPhaseOfEveryCombination(t *testing.T) {
	order := []struct {
		kind  Kind
		phase Phase
	}{{KindPrompt, New}, {KindMarker, Sent}, {KindError, Failed}, {KindAnswer, Done}}
	seen := map[Phase]int{}
	for f := range Files(1 << kinds) {
		want := Absent
		for _, o := range order { // the last that is there wins
			if f.Has(o.kind) {
				want = o.phase
			}
		}
		if got := f.Phase(); got != want {
			t.Errorf("%v: %v, want %v", f, got, want)
		}
		seen[want]++
	}
	for phase, count := range map[Phase]int{Absent: 16, New: 16, Sent: 32, Failed: 64, Done: 128} {
		if seen[phase] != count {
			t.Errorf("%v: %d combinations, want %d", phase, seen[phase], count)
		}
	}
}

func TestMayOnlySaysNo(t *testing.T) {
	for f := range Files(1 << kinds) {
		for _, pause := range []string{"", "the chat asks for a login"} {
			for _, settled := range []bool{false, true} {
				steered := f.Has(KindHold) || f.Has(KindCancel) || f.Has(KindRetry)
				allowed := f.Phase() == New && !steered && pause == "" && settled
				if reason := May(f, pause, settled); (reason == "") != allowed {
					t.Errorf("May(%v, %q, %v) = %q", f, pause, settled, reason)
				}
			}
		}
	}
	// The pause's own words are handed on; what the user did comes first.
	prompt := Files(0).With(KindPrompt)
	if got := May(prompt, "quota until 10:00", true); got != "quota until 10:00" {
		t.Error(got)
	}
	if got := May(prompt.With(KindHold), "quota until 10:00", true); !strings.Contains(got, "hold") {
		t.Error(got)
	}
}

func TestFilesSet(t *testing.T) {
	f := Files(0).With(KindPrompt).With(KindMarker)
	if !f.Has(KindPrompt) || f.Has(KindAnswer) || f.With(KindMarker) != f {
		t.Error(f)
	}
	if got := f.String(); got != ".prompt .md.url" {
		t.Error(got)
	}
	if f.Without(KindMarker) != Files(0).With(KindPrompt) || f.Without(KindReady) != f {
		t.Error("Without")
	}
	for p := Absent; p <= Done; p++ {
		if p.String() == "" {
			t.Error(uint8(p))
		}
	}
}
