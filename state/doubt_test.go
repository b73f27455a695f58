package state

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/cryptotest"

	"golang.org/x/sys/unix"
)

// nth fails the n-th step of a name, and before that runs do.
func nth(n int, name string, err error, do func()) func(int, string) error {
	seen := 0
	return func(_ int, step string) error {
		if step != name {
			return nil
		}
		if seen++; seen != n {
			return nil
		}
		if do != nil {
			do()
		}
		return err
	}
}

// Somebody's file appears at the last moment that there is on each kind of
// file system: it is never replaced.
func TestTakenAtTheLastMoment(t *testing.T) {
	for fs, last := range map[string]string{"links": StepLink, "no links": StepMove, "nor exclusive": StepCreate} {
		dir := memDir(t)
		theirs := released(chatB, ownerB).String()
		f := &faults{fail: both(nth(1, last, nil, func() { put(t, dir, "x.md.url", theirs) }), filesystems[fs])}
		wants(t, commit(open(t, dir, ownerA, WithStep(f.step)), "x", first), ErrExists)
		if got := content(t, dir, "x.md.url"); got != theirs {
			t.Errorf("%s: replaced by %q", fs, got)
		}
		clean(t, dir)
	}
}

// When the look after a failed link fails as well, nothing else is tried:
// whatever its error is, the marker may be there.
func TestLookFailsAfterTheLink(t *testing.T) {
	for _, errno := range []error{unix.EIO, unix.EPERM, unix.ENOTSUP, unix.EACCES} {
		for _, taken := range []bool{false, true} {
			dir := memDir(t)
			link := StepLink
			if taken {
				link = StepLinked
			}
			f := &faults{fail: both(always(unix.EPERM, link), nth(2, StepLook, errno, nil))}
			wants(t, commit(open(t, dir, ownerA, WithStep(f.step)), "x", first), ErrInDoubt)
			if got := content(t, dir, "x.md.url") != "(none)"; got != taken {
				t.Errorf("%v: there %v, want %v", errno, got, taken)
			}
			for _, step := range f.names {
				if step == StepMove || step == StepCreate {
					t.Errorf("%v: %v", errno, f.names)
				}
			}
		}
	}
}

// A file is there that cannot be read: somebody else's if its mode forbids it,
// else nobody knows.
func TestUnreadableAfterTheLink(t *testing.T) {
	for errno, want := range map[error]error{unix.EACCES: ErrExists, unix.EIO: ErrInDoubt, unix.ESTALE: ErrInDoubt} {
		dir := memDir(t)
		appear := nth(1, StepLink, unix.EPERM, func() { put(t, dir, "x.md.url", "theirs\n") })
		f := &faults{fail: both(appear, always(errno, StepOpen))}
		wants(t, commit(open(t, dir, ownerA, WithStep(f.step)), "x", first), want)
		if content(t, dir, "x.md.url") != "theirs\n" {
			t.Error(errno)
		}
	}
}

// sshfs gives the same file another inode number under each name; then the
// content tells. Here the temporary file is gone before it can be compared.
func TestContentTells(t *testing.T) {
	dir := memDir(t)
	gone := nth(1, StepLinked, unix.EIO, func() {
		for _, n := range names(t, dir) {
			if strings.HasSuffix(n, ".tmp") {
				must(t, os.Remove(filepath.Join(dir, n)))
			}
		}
	})
	must(t, commit(open(t, dir, ownerA, WithStep((&faults{fail: gone}).step)), "x", first))
	if content(t, dir, "x.md.url") != first.String() {
		t.Error("not there")
	}
}

// The last resort makes the file and loses the reply, or cannot make it.
func TestCreateFails(t *testing.T) {
	quirk := filesystems["nor exclusive"]
	for _, taken := range []bool{false, true} {
		dir := memDir(t)
		f := &faults{fail: both(quirk, nth(1, StepCreate, unix.EIO, func() {
			if taken {
				put(t, dir, "x.md.url", "")
			}
		}))}
		err := commit(open(t, dir, ownerA, WithStep(f.step)), "x", first)
		if wants(t, err, unix.EIO); strings.Contains(err.Error(), ErrInDoubt.Error()) != taken {
			t.Errorf("taken %v: %v", taken, err)
		}
	}
}

// A wrong marker that cannot be put back is at least named.
func TestPutBackFails(t *testing.T) {
	dir := memDir(t)
	put(t, dir, "x.md.url", first.String())
	swap := nth(1, StepMove, nil, func() { put(t, dir, "x.md.url", released(chatB, ownerB).String()) })
	f := &faults{fail: both(swap, always(unix.EIO, StepLink))}
	_, err := open(t, dir, ownerA, WithStep(f.step)).Retire("x", first)
	wants(t, err, ErrNotExpected)
	wants(t, err, unix.EIO)
	if !strings.Contains(err.Error(), `kept as "x.md.url.1"`) {
		t.Error(err)
	}
}

func TestTooManyArchives(t *testing.T) {
	dir := memDir(t)
	put(t, dir, "x.md", "yes")
	for i := range maxArchives {
		must(t, os.Symlink("x", filepath.Join(dir, Name("x").Archive(KindAnswer, i+1))))
	}
	_, err := open(t, dir, ownerA).ArchiveAnswer("x")
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint(maxArchives)) {
		t.Error(err)
	}
	if content(t, dir, "x.md") != "yes" {
		t.Error("the answer is gone")
	}
}

// Errors are one line, and say what, which file, where.
func TestErrorsAreOneLine(t *testing.T) {
	for _, op := range operations {
		count := &faults{}
		must(t, op.run(open(t, op.folder(t), ownerA, WithStep(count.step))))
		for at := 1; at <= count.n; at++ {
			dir := op.folder(t)
			err := op.run(open(t, dir, ownerA, WithStep((&faults{fail: crash(at)}).step)))
			if err == nil {
				continue // removing the temporary file is not worth an error
			}
			if text := err.Error(); strings.Contains(text, "\n") || !strings.Contains(text, dir) || !strings.Contains(text, `"`) {
				t.Errorf("%s, step %d: %s", op.name, at, text)
			}
		}
	}
}

// An answer's last resort looks once more before it renames.
func TestAnswerTakenAtTheLastMoment(t *testing.T) {
	dir := memDir(t)
	appear := nth(4, StepLook, nil, func() { put(t, dir, "x.md", "mine") })
	f := &faults{fail: both(appear, filesystems["nor exclusive"])}
	wants(t, open(t, dir, ownerA, WithStep(f.step)).WriteAnswer("x", "theirs"), ErrExists)
	if got := strings.Join(f.names, " "); content(t, dir, "x.md") != "mine" || strings.Contains(got, StepRename) {
		t.Errorf("%q after %s", content(t, dir, "x.md"), got)
	}
	clean(t, dir)
}

// A temporary file that is left over may be a marker's second name. Should its
// random digits ever come again, it is not opened.
func TestTempNameTaken(t *testing.T) {
	dir := memDir(t)
	d := open(t, dir, ownerA)
	cryptotest.SetGlobalRandom(t, 1)
	p, err := d.Prepare("x", 100)
	must(t, err)
	left := names(t, dir)[0]
	must(t, os.Link(filepath.Join(dir, left), filepath.Join(dir, "kept")))
	p.Discard()
	must(t, os.Rename(filepath.Join(dir, "kept"), filepath.Join(dir, left)))
	cryptotest.SetGlobalRandom(t, 1)
	_, err = d.Prepare("x", 100)
	wants(t, err, unix.EEXIST)
	if got := content(t, dir, left); got != strings.Repeat(" ", 256) {
		t.Errorf("%q", got)
	}
}
