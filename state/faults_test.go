package state

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// An operation that changes the folder, what must be there before it, and what
// may be there after it, whichever of its steps failed and however.
type operation struct {
	name    string
	before  map[string]string // files
	run     func(*Dir) error
	after   map[string]string // files when it went well
	cut     string            // the one file that may be cut, where nothing is exclusive
	undoubt bool              // an error other than ErrInDoubt promises that nothing changed
}

var (
	first  = released(chatA, ownerA)
	second = func() Marker {
		m := first
		m.Stage, m.Message = StageSent, "message-1"
		return m
	}()
	longAnswer = strings.Repeat("# An answer\n\nof some length.\n", 200)
)

var operations = []operation{
	{
		name:   "commit",
		before: map[string]string{"x.prompt": "hi"},
		run:    func(d *Dir) error { return commit(d, "x", first) },
		after:  map[string]string{"x.prompt": "hi", "x.md.url": first.String()},
		cut:    "x.md.url", undoubt: true,
	},
	{
		name:   "advance",
		before: map[string]string{"x.md.url": first.String()},
		run:    func(d *Dir) error { return d.Advance("x", first, second) },
		after:  map[string]string{"x.md.url": second.String()},
	},
	{
		name:   "retire",
		before: map[string]string{"x.prompt": "hi", "x.md.url": first.String(), "x.md.url.1": "older"},
		run: func(d *Dir) error {
			archive, err := d.Retire("x", first)
			if err == nil && archive != "x.md.url.2" {
				err = fmt.Errorf("archived as %q", archive)
			}
			return err
		},
		after: map[string]string{"x.prompt": "hi", "x.md.url.1": "older", "x.md.url.2": first.String()},
	},
	{
		name:    "answer",
		before:  map[string]string{"x.md.url": second.String()},
		run:     func(d *Dir) error { return d.WriteAnswer("x", longAnswer) },
		after:   map[string]string{"x.md.url": second.String(), "x.md": longAnswer},
		undoubt: true,
	},
	{
		name:    "error",
		before:  map[string]string{"x.prompt": "hi"},
		run:     func(d *Dir) error { return d.WriteError("x", sampleFailure) },
		after:   map[string]string{"x.prompt": "hi", "x.md.err": sampleFailure.String()},
		undoubt: true,
	},
	{
		name:   "archive error",
		before: map[string]string{"x.prompt": "hi", "x.md.err": "no"},
		run: func(d *Dir) error {
			_, err := d.ArchiveError("x")
			return err
		},
		after: map[string]string{"x.prompt": "hi", "x.md.err.1": "no"},
	},
	{
		name:   "remove",
		before: map[string]string{"x.prompt": "hi", "x.prompt.retry": ""},
		run:    func(d *Dir) error { return d.Remove("x", KindRetry) },
		after:  map[string]string{"x.prompt": "hi"},
	},
	{
		name:   "notice",
		before: map[string]string{PausedFile: "login"},
		run:    func(d *Dir) error { return d.WritePaused("quota") },
		after:  map[string]string{PausedFile: "quota"},
	},
}

// folder makes a folder with the operation's files.
func (op operation) folder(t testing.TB) string {
	dir := memDir(t)
	for file, text := range op.before {
		put(t, dir, file, text)
	}
	return dir
}

// verify checks that the folder holds one of the two states and nothing else,
// leaving out temporary files. changed says that it is the second one.
func (op operation) verify(t testing.TB, dir string, mayCut bool) (changed bool) {
	t.Helper()
	now := map[string]string{}
	for _, n := range names(t, dir) {
		if !strings.HasSuffix(n, ".tmp") {
			now[n] = content(t, dir, n)
		}
	}
	if fmt.Sprint(now) == fmt.Sprint(op.after) {
		return true
	}
	if cut, ok := now[op.cut]; ok && mayCut && strings.HasPrefix(op.after[op.cut], cut) {
		if m := ParseMarker([]byte(cut)); m.Stage != StageSent {
			t.Errorf("cut to %q, read as %+v", cut, m)
		}
		return true
	}
	if fmt.Sprint(now) != fmt.Sprint(op.before) {
		t.Errorf("neither before nor after: %q", now)
	}
	return false
}

// again does the operation once more without faults, as a new process would
// after a crash, if it is still to be done.
func (op operation) again(t testing.TB, dir string, done bool) {
	t.Helper()
	d := open(t, dir, ownerA)
	defer d.Close()
	_, err := d.Sweep()
	must(t, err)
	clean(t, dir)
	if done {
		return
	}
	if err := op.run(d); err != nil {
		t.Errorf("again: %v", err)
	}
	if op.verify(t, dir, false); fmt.Sprint(names(t, dir)) == fmt.Sprint(op.before) {
		t.Error("again: nothing changed")
	}
	clean(t, dir)
}

// TestEveryStepFails fails each step of each operation on each kind of file
// system: once, for ever, and with everything after it, like a crash.
func TestEveryStepFails(t *testing.T) {
	for fs, quirk := range filesystems {
		for _, op := range operations {
			t.Run(op.name+", "+fs, func(t *testing.T) {
				count := &faults{fail: quirk}
				dir := op.folder(t)
				must(t, op.run(open(t, dir, ownerA, WithStep(count.step))))
				if !op.verify(t, dir, false) {
					t.Fatal("nothing changed")
				}
				clean(t, dir)
				for at := 1; at <= count.n; at++ {
					what := fmt.Sprintf("step %d, %s", at, count.names[at-1])
					op.oneFault(t, what+", once", both(quirk, once(at, unix.EIO)))
					op.oneFault(t, what+", no space", both(quirk, once(at, unix.ENOSPC)))
					op.oneFault(t, what+", for ever", both(quirk, always(unix.EIO, count.names[at-1])))
					op.oneFault(t, what+", crash", both(quirk, crash(at)))
				}
			})
		}
	}
}

func (op operation) oneFault(t *testing.T, what string, fail func(int, string) error) {
	t.Helper()
	dir := op.folder(t)
	d := open(t, dir, ownerA, WithStep((&faults{fail: fail}).step))
	err := op.run(d)
	d.Close()
	changed := op.verify(t, dir, true)
	switch {
	case err == nil && !changed:
		t.Errorf("%s: no error, and nothing was done", what)
	case err != nil && changed && op.undoubt && !errors.Is(err, ErrInDoubt) && !strings.HasSuffix(what, "crash"):
		t.Errorf("%s: done, but %v", what, err)
	case errors.Is(err, ErrExists):
		t.Errorf("%s: %v", what, err)
	}
	if t.Failed() {
		t.Fatalf("at %s", what)
	}
	op.again(t, dir, changed)
}
