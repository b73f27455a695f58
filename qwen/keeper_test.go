package qwen_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"watcher/qwen"
)

// TestWorn: when a browser is replaced before it is used again.
func TestWorn(t *testing.T) {
	limits := qwen.Life{Jobs: 3, Age: time.Hour, Memory: 100 << 20}
	for _, c := range []struct {
		name     string
		limits   qwen.Life
		sends    int
		age      time.Duration
		megas    int64
		replaced bool
		watching bool
		want     string // "" or a part of the reason
	}{
		{name: "young", limits: limits},
		{name: "at its bounds", limits: limits, sends: 2, age: time.Hour - 1, megas: 100},
		{name: "memory", limits: limits, megas: 101, want: "101 MB of memory, and 100 are allowed"},
		{name: "jobs", limits: limits, sends: 3, want: "3 prompts"},
		{name: "age", limits: limits, age: time.Hour, want: "run for 1h0m0s"},
		{name: "upgrade", limits: limits, replaced: true, want: "upgrade"},
		{name: "all while a stream is followed", limits: limits, sends: 9, age: 9 * time.Hour, megas: 150, replaced: true, watching: true},
		{name: "far over while a stream is followed", limits: limits, megas: 151, watching: true, want: "memory"},
		{name: "no bounds", sends: 1000, age: 1 << 60, megas: 1 << 40},
		{name: "no bounds, upgrade", replaced: true, want: "upgrade"},
	} {
		t.Run(c.name, func(t *testing.T) {
			born := time.Now()
			k := qwen.NewKeeper(c.limits)
			if got := k.Worn(c.megas<<20, true, c.watching, born); got != "" {
				t.Errorf("none runs: %q", got)
			}
			k.Started(born)
			for range c.sends {
				k.Sent()
			}
			got := k.Worn(c.megas<<20, c.replaced, c.watching, born.Add(c.age))
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestDeathsModel: whatever happens to browsers in whatever order, five that
// die in a row may be followed at once, each more waits twice as long up to 15
// minutes, and one that lived well ends the row.
func TestDeathsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := qwen.NewKeeper(qwen.Life{})
		now, row, free := time.Now(), 0, time.Time{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if err := k.MayStart(now); (err != nil) != now.Before(free) {
				t.Fatalf("at %v of %v: %v", now, free, err)
			} else if err != nil {
				e := fault(err)
				if e.Kind != qwen.KindBrowser || e.Left || !e.When.Equal(free) || !strings.Contains(err.Error(), fmt.Sprintf("died %d times in a row", row)) {
					t.Fatalf("%#v, %v", e, err)
				}
				now = free
				continue
			}
			born := now
			k.Started(born)
			lived := time.Duration(rapid.Int64Range(0, int64(20*time.Minute)).Draw(t, "lived"))
			now = now.Add(lived)
			if rapid.Bool().Draw(t, "in order") {
				k.Ended(true, now)
				if lived >= time.Minute {
					row = 0
				}
				continue
			}
			if lived >= 10*time.Minute {
				row = 0
			}
			row++
			if got := k.Died(born, now); got != row {
				t.Fatalf("row %d, want %d", got, row)
			}
			k.Ended(false, now)
			if late := row - 5; late > 0 {
				free = now.Add(min(30*time.Second<<min(late-1, 10), 15*time.Minute))
			}
		}
	})
}

// TestReplaced: a program whose file is replaced while it runs is noticed; one
// whose file only vanished is not yet to be started anew.
func TestReplaced(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "browser")
	copyFile(t, sleep, path)
	cmd := exec.Command(path, "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	for _, step := range []struct {
		do   func() error
		want bool
	}{
		{func() error { return nil }, false},
		{func() error { return os.Remove(path) }, false},
		{func() error { copyFile(t, sleep, path); return nil }, true},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if got := qwen.Replaced(cmd.Process.Pid); got != step.want {
			t.Errorf("replaced: %v, want %v", got, step.want)
		}
	}
	if got := qwen.Replaced(0); got {
		t.Error("no process was replaced")
	}
}

// copyFile makes an executable copy, by a rename as dpkg does.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to+".new", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(out, in)
	}
	if err == nil {
		err = out.Close()
	}
	if err == nil {
		err = os.Rename(to+".new", to)
	}
	if err != nil {
		t.Fatal(err)
	}
}
