package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Retire moves only the marker that it was told, down to the last field.
func TestRetireNotExpected(t *testing.T) {
	for what, disk := range map[string]string{
		"advanced":        second.String(),
		"another owner's": released(chatB, ownerB).String(),
		"cut":             strings.TrimSuffix(first.String(), "\n"),
		"empty":           "",
	} {
		d := open(t, memDir(t), ownerA)
		put(t, d.Path(), "x.md.url", disk)
		_, err := d.Retire("x", first)
		if !errors.Is(err, ErrNotExpected) || !strings.Contains(err.Error(), "x.md.url") {
			t.Errorf("%s: %v", what, err)
		}
		if got := names(t, d.Path()); len(got) != 1 || content(t, d.Path(), "x.md.url") != disk {
			t.Errorf("%s: %v", what, got)
		}
	}
	d := open(t, memDir(t), ownerA)
	_, err := d.Retire("x", first)
	wants(t, err, fs.ErrNotExist)
}

// The marker is swapped for another one between the check and the rename: the
// other one is put back, and nothing may be sent.
func TestRetireSwapped(t *testing.T) {
	theirs := released(chatB, ownerB).String()
	for kind, quirk := range filesystems {
		dir := memDir(t)
		move := StepMove
		if kind == "nor exclusive" {
			move = StepRename
		}
		swapped := false
		hook := func(i int, step string) error {
			if step == move && !swapped {
				swapped = true
				put(t, dir, "x.md.url", theirs)
			}
			return nil
		}
		d := open(t, dir, ownerA, WithStep((&faults{fail: both(hook, quirk)}).step))
		put(t, dir, "x.md.url", first.String())
		archive, err := d.Retire("x", first)
		if !errors.Is(err, ErrNotExpected) || archive != "" {
			t.Errorf("%s: %q, %v", kind, archive, err)
		}
		if content(t, dir, "x.md.url") != theirs {
			t.Errorf("%s: their marker is lost: %v", kind, names(t, dir))
		}
	}
}

// The same, and meanwhile somebody committed anew: that marker stays.
func TestRetireSwappedAndTaken(t *testing.T) {
	theirs, third := released(chatB, ownerB).String(), released("https://chat.example/c/3", "cccccccc").String()
	for kind, quirk := range filesystems {
		dir := memDir(t)
		opens := 0
		hook := func(_ int, step string) error {
			if step == StepRead {
				if opens++; opens == 1 {
					return nil
				}
				put(t, dir, "x.md.url", third) // after the rename, before the look at it
				must(t, os.WriteFile(filepath.Join(dir, "x.md.url.1"), []byte(theirs), 0o644))
			}
			return nil
		}
		put(t, dir, "x.md.url", first.String())
		d := open(t, dir, ownerA, WithStep((&faults{fail: both(hook, quirk)}).step))
		_, err := d.Retire("x", first)
		if !errors.Is(err, ErrNotExpected) || content(t, dir, "x.md.url") != third {
			t.Errorf("%s: %v, %v", kind, err, names(t, dir))
		}
	}
}

func TestRetireNumbers(t *testing.T) {
	dir := memDir(t)
	d := open(t, dir, ownerA)
	put(t, dir, "x.md.url.1", "kept")
	put(t, dir, "x.md.url.3", "kept")
	for _, want := range []string{"x.md.url.2", "x.md.url.4", "x.md.url.5"} {
		must(t, commit(d, "x", first))
		got, err := d.Retire("x", first)
		if must(t, err); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if content(t, dir, "x.md.url.1") != "kept" || content(t, dir, "x.md.url.3") != "kept" {
		t.Error("an older archive was replaced")
	}
}

// A retry puts everything aside, step by step, and the .retry goes last.
func TestRetryInOrder(t *testing.T) {
	dir := memDir(t)
	d := open(t, dir, ownerA)
	for file, text := range map[string]string{"x.prompt": "hi", "x.md.url": second.String(),
		"x.md": "yes", "x.md.err": "no", "x.prompt.retry": ""} {
		put(t, dir, file, text)
	}
	_, err := d.Retire("x", second)
	must(t, err)
	answer, err := d.ArchiveAnswer("x")
	must(t, err)
	failure, err := d.ArchiveError("x")
	must(t, err)
	files, err := d.Lookup("x")
	if must(t, err); files.Phase() != New || May(files, "", true) == "" {
		t.Errorf("%v may be sent before the .retry is gone", files)
	}
	must(t, d.Remove("x", KindRetry))
	if files, err = d.Lookup("x"); err != nil || May(files, "", true) != "" {
		t.Error(files, err)
	}
	if answer != "x.md.1" || failure != "x.md.err.1" {
		t.Error(answer, failure)
	}
	if got := strings.Join(names(t, dir), " "); got != "x.md.1 x.md.err.1 x.md.url.1 x.prompt" {
		t.Error(got)
	}
	_, err = d.ArchiveAnswer("x")
	wants(t, err, fs.ErrNotExist)
}

func TestRemove(t *testing.T) {
	dir := memDir(t)
	d := open(t, dir, ownerA)
	for k := range kinds {
		put(t, dir, Name("x").File(k), "")
		err := d.Remove("x", k)
		if may := k == KindCancel || k == KindRetry; (err == nil) != may {
			t.Errorf("%s: %v", Name("x").File(k), err)
		}
	}
	must(t, d.Remove("x", KindRetry)) // gone already
	if got := len(names(t, dir)); got != int(kinds)-2 {
		t.Error(names(t, dir))
	}
}

func TestAnswerAndError(t *testing.T) {
	for kind, quirk := range filesystems {
		dir := memDir(t)
		d := open(t, dir, ownerA, WithStep((&faults{fail: quirk}).step))
		must(t, d.WriteAnswer("x", longAnswer))
		wants(t, d.WriteAnswer("x", "another"), ErrExists)
		if content(t, dir, "x.md") != longAnswer {
			t.Errorf("%s: replaced", kind)
		}
		put(t, dir, "y.md", "") // touch y.md: done for ever
		wants(t, d.WriteAnswer("y", "a"), ErrExists)
		if content(t, dir, "y.md") != "" {
			t.Errorf("%s: replaced", kind)
		}
		must(t, d.WriteError("x", sampleFailure))
		wants(t, d.WriteError("x", Failure{Sentence: "no"}), ErrExists)
		f, err := d.ReadError("x")
		if must(t, err); f != sampleFailure {
			t.Errorf("%+v", f)
		}
		clean(t, dir)
	}
}

// A person makes the file while the answer is on its way.
func TestAnswerSomebodyWasFaster(t *testing.T) {
	for kind, quirk := range filesystems {
		dir := memDir(t)
		hook := func(_ int, step string) error {
			if step == StepLink {
				put(t, dir, "x.md", "mine")
			}
			return nil
		}
		d := open(t, dir, ownerA, WithStep((&faults{fail: both(hook, quirk)}).step))
		wants(t, d.WriteAnswer("x", "theirs"), ErrExists)
		if content(t, dir, "x.md") != "mine" {
			t.Errorf("%s: replaced", kind)
		}
		clean(t, dir)
	}
}

func TestHoldAndNotice(t *testing.T) {
	dir := memDir(t)
	d := open(t, dir, ownerA)
	must(t, d.Hold("x"))
	must(t, d.Hold("x"))
	files, err := d.Lookup("x")
	if must(t, err); !files.Has(KindHold) {
		t.Error(files)
	}
	must(t, d.ClearPaused())
	must(t, d.WritePaused("login\n"))
	must(t, d.WritePaused("quota\n"))
	if content(t, dir, PausedFile) != "quota\n" {
		t.Error(content(t, dir, PausedFile))
	}
	must(t, d.ClearPaused())
	if got := strings.Join(names(t, dir), " "); got != "x.prompt.hold" {
		t.Error(got)
	}
}

func TestSweep(t *testing.T) {
	dir := memDir(t)
	kept := []string{
		".watcher-0123456789abcdef.1", ".watcher-aaaaaaaa-.tmp", ".watcher-aaaaaaaa-1234567.tmp",
		".watcher-aaaaaaaa-1234567g.tmp", ".watcher-aaaaaaaa-12345678.tmp.bak", ".watcher-bbbbbbbb-12345678.tmp",
		"watcher-aaaaaaaa-12345678.tmp", "x.prompt",
	}
	for _, n := range append(kept, ".watcher-aaaaaaaa-12345678.tmp", ".watcher-aaaaaaaa-abcdef00.tmp") {
		put(t, dir, n, "")
	}
	d := open(t, dir, ownerA)
	n, err := d.Sweep()
	if must(t, err); n != 2 {
		t.Error(n)
	}
	if n, err = d.Sweep(); err != nil || n != 0 {
		t.Error(n, err)
	}
	if got := names(t, dir); len(got) != len(kept) {
		t.Error(got)
	}
	// One that cannot be removed does not keep the others.
	put(t, dir, ".watcher-aaaaaaaa-abcdef00.tmp", "")
	must(t, os.Mkdir(filepath.Join(dir, ".watcher-aaaaaaaa-00000000.tmp"), 0o755))
	if n, err = d.Sweep(); n != 1 || !errors.Is(err, unix.EISDIR) {
		t.Error(n, err)
	}
}

// Ask makes the files that a user makes, and no others.
func TestAsk(t *testing.T) {
	d := open(t, memDir(t), ownerA)
	for _, k := range []Kind{KindHold, KindCancel, KindRetry} {
		must(t, d.Ask("x", k))
		must(t, d.Ask("x", k)) // as touch does
		if got := content(t, d.Path(), Name("x").File(k)); got != "" {
			t.Errorf("%s: %q", Name("x").File(k), got)
		}
	}
	for _, k := range []Kind{KindPrompt, KindMarker, KindAnswer, KindError, KindReady} {
		if d.Ask("x", k) == nil {
			t.Errorf("%s was made", Name("x").File(k))
		}
	}
	if d.Ask("../x", KindHold) == nil {
		t.Error("a name with a slash")
	}
}
