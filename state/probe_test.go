package state_test

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"watcher/state"
)

// TestProbe: it says what the folder can do, and leaves nothing behind.
func TestProbe(t *testing.T) {
	t.Parallel()
	deny := func(steps ...string) func(string) error {
		return func(step string) error {
			for _, s := range steps {
				if s == step {
					return unix.EPERM
				}
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		step         func(string) error
		links, moves bool
		fails        bool
	}{
		"all":       {deny(), true, false, false},
		"no links":  {deny(state.StepLink), false, true, false},
		"neither":   {deny(state.StepLink, state.StepMove), false, false, false},
		"no fsync":  {func(s string) error { return map[string]error{state.StepSync: unix.EIO}[s] }, false, false, true},
		"read only": {func(s string) error { return map[string]error{state.StepTemp: unix.EROFS}[s] }, false, false, true},
		"full":      {func(s string) error { return map[string]error{state.StepWrite: unix.ENOSPC}[s] }, false, false, true},
	} {
		dir := t.TempDir()
		d, err := state.OpenDir(dir, "0123456789abcdef", state.WithStep(c.step))
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Probe()
		if (err != nil) != c.fails || got.Links != c.links || got.Moves != c.moves {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind: %v, %v", name, left, err)
		}
		d.Close()
		if _, err := d.Probe(); name == "all" && !errors.Is(err, os.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	}
}
