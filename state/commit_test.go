package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The order of the calls is the protocol.
func TestOrderOfSteps(t *testing.T) {
	for _, c := range []struct{ operation, filesystem, want string }{
		{"commit", "links", "look temp reserve write sync close link linked folder unlink"},
		{"commit", "no links", "look temp reserve write sync close link look move moved folder unlink"},
		{"commit", "nor exclusive", "look temp reserve write sync close link look move look unlink create write sync close folder"},
		{"advance", "links", "look open read temp write sync close rename renamed folder"},
		{"retire", "links", "look open believe read look look move moved folder look open read"},
		{"answer", "links", "look temp write sync close link linked folder unlink"},
		{"answer", "nor exclusive", "look temp write sync close link look move look look rename renamed folder unlink"},
		{"error", "links", "look temp write sync close link linked folder unlink"},
		{"archive error", "links", "look move moved folder"},
		{"notice", "links", "temp write sync close rename renamed folder"},
		{"remove", "links", "unlink folder"},
	} {
		i := slices.IndexFunc(operations, func(op operation) bool { return op.name == c.operation })
		f := &faults{fail: filesystems[c.filesystem]}
		must(t, operations[i].run(open(t, operations[i].folder(t), ownerA, WithStep(f.step))))
		if got := strings.Join(f.names, " "); got != c.want {
			t.Errorf("%s, %s:\n%s, want\n%s", c.operation, c.filesystem, got, c.want)
		}
		for _, step := range f.names {
			if !slices.Contains(Steps, step) {
				t.Errorf("%q is not listed", step)
			}
		}
	}
}

func TestCommitSecondComer(t *testing.T) {
	for fs, quirk := range filesystems {
		dir := t.TempDir()
		a, b := open(t, dir, ownerA), open(t, dir, ownerB, WithStep((&faults{fail: quirk}).step))
		p, err := b.Prepare("x", 100)
		must(t, err)
		must(t, commit(a, "x", first))
		wants(t, p.Commit(released(chatB, ownerB)), ErrExists)
		_, err = b.Prepare("x", 100)
		wants(t, err, ErrExists)
		if got := content(t, dir, "x.md.url"); got != first.String() {
			t.Errorf("%s: %q", fs, got)
		}
		clean(t, dir)
	}
}

// A link whose reply was lost took; one that lost a race did not.
func TestCommitLostReply(t *testing.T) {
	for _, errno := range []error{unix.EIO, unix.EEXIST, unix.EPERM, unix.ETIMEDOUT, unix.EINTR} {
		dir := t.TempDir()
		f := &faults{fail: always(errno, StepLinked)}
		must(t, commit(open(t, dir, ownerA, WithStep(f.step)), "x", first))
		if content(t, dir, "x.md.url") != first.String() {
			t.Error(errno)
		}
		clean(t, dir)

		dir = t.TempDir()
		f = &faults{fail: both(always(unix.EPERM, StepLink), always(errno, StepMoved))}
		must(t, commit(open(t, dir, ownerA, WithStep(f.step)), "x", first))

		dir = t.TempDir() // sshfs: the loser is told EPERM
		put(t, dir, "y.md.url", "")
		f = &faults{fail: always(errno, StepLink)}
		d := open(t, dir, ownerA, WithStep(f.step))
		p, err := d.Prepare("x", 100)
		must(t, err)
		put(t, dir, "x.md.url", released(chatB, ownerB).String())
		wants(t, p.Commit(first), ErrExists)
	}
}

// The marker came and went while we asked: nobody's, but not ours either.
func TestCommitMarkerCameAndWent(t *testing.T) {
	f := &faults{fail: always(unix.EEXIST, StepLink)}
	wants(t, commit(open(t, t.TempDir(), ownerA, WithStep(f.step)), "x", first), ErrExists)
}

// In doubt the marker is retired once the request is refused; a cut one stays.
func TestCommitInDoubt(t *testing.T) {
	dir := t.TempDir()
	f := &faults{fail: always(unix.EIO, StepFolder)}
	wants(t, commit(open(t, dir, ownerA, WithStep(f.step)), "x", first), ErrInDoubt)
	d := open(t, dir, ownerA)
	_, err := d.Retire("x", first)
	must(t, err)
	files, err := d.Lookup("x")
	if must(t, err); files.Has(KindMarker) {
		t.Error(files)
	}

	writes := 0
	d = open(t, dir, ownerA, WithStep(func(step string) error {
		if step == StepWrite {
			writes++
		}
		if step == StepLink || step == StepMove || step == StepWrite && writes == 2 {
			return unix.ENOTSUP
		}
		return nil
	}))
	wants(t, commit(d, "x", first), ErrInDoubt)
	m, err := d.Believe("x")
	if must(t, err); m != (Marker{Stage: StageSent}) {
		t.Errorf("%+v", m)
	}
	_, err = d.Retire("x", first)
	wants(t, err, ErrNotExpected)
	if content(t, dir, "x.md.url") != "" {
		t.Error("the cut marker is gone")
	}
	// The owner fills it in when the chat was found.
	must(t, d.Advance("x", m, second))
	if m, err = d.Believe("x"); m != second {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestPreparedIsInvisibleAndDiscarded(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, ownerA)
	p, err := d.Prepare("x", 3000)
	must(t, err)
	list := names(t, dir)
	if len(list) != 1 || !d.ownTemp(list[0]) || len(list[0]) != len(".watcher-aaaaaaaa-12345678.tmp") {
		t.Fatal(list)
	}
	if text := content(t, dir, list[0]); len(text) != 3000 || ParseMarker([]byte(text)).Stage != StageSent {
		t.Errorf("%q", text)
	}
	p.Discard()
	p.Discard()
	if got := names(t, dir); got != nil {
		t.Error(got)
	}
	wants(t, p.Commit(first), os.ErrClosed)
	p, err = d.Prepare("x", 0)
	must(t, err)
	must(t, p.Commit(first))
	wants(t, p.Commit(first), os.ErrClosed)
	p.Discard()
	if content(t, dir, "x.md.url") != first.String() {
		t.Error("discarded after the commit")
	}
	if err := commit(d, "y", Marker{Address: chatA, Stage: StageReleased}); err == nil {
		t.Error("a marker without owner was written")
	}
	clean(t, dir)
}

// A folder that cannot be written says so before the site is touched.
func TestPrepareSaysWhatToDo(t *testing.T) {
	for errno, want := range map[unix.Errno]string{
		unix.ENOSPC: "free some space", unix.EROFS: "writable", unix.EACCES: "owner and mode",
		unix.EDQUOT: "quota", unix.EIO: "check the disk",
	} {
		for _, step := range []string{StepTemp, StepReserve} {
			f := &faults{fail: always(errno, step)}
			d := open(t, t.TempDir(), ownerA, WithStep(f.step))
			_, err := d.Prepare("x", 100)
			wants(t, err, errno)
			for _, part := range []string{"prepare marker", `"x.md.url"`, d.Path(), want} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v: no %q", err, part)
				}
			}
			clean(t, d.Path())
		}
	}
	f := &faults{fail: always(unix.ENAMETOOLONG, StepLook)}
	_, err := open(t, t.TempDir(), ownerA, WithStep(f.step)).Prepare("x", 100)
	if wants(t, err, unix.ENAMETOOLONG); !strings.Contains(err.Error(), "shorten") {
		t.Error(err)
	}
}

func TestBelieve(t *testing.T) {
	dir := t.TempDir()
	f := &faults{}
	d := open(t, dir, ownerA, WithStep(f.step))
	_, err := d.Believe("x")
	wants(t, err, fs.ErrNotExist)
	put(t, dir, "x.md.url", first.String())
	f.names = nil
	m, err := d.Believe("x")
	if must(t, err); m != first {
		t.Errorf("%+v", m)
	}
	if got := strings.Join(f.names, " "); got != "look open believe read folder" {
		t.Error(got)
	}
	for _, step := range f.names {
		g := &faults{fail: always(unix.EIO, step)}
		m, err := open(t, dir, ownerA, WithStep(g.step)).Believe("x")
		if wants(t, err, unix.EIO); m != (Marker{}) {
			t.Errorf("%+v", m)
		}
	}
	// A file system that cannot sync a folder is taken as it is.
	g := &faults{fail: always(unix.EINVAL, StepFolder)}
	_, err = open(t, dir, ownerA, WithStep(g.step)).Believe("x")
	must(t, err)
	put(t, dir, "x.md.url", strings.Repeat("x", 3<<20))
	if m, err = d.Believe("x"); err != nil || m != (Marker{Stage: StageSent}) {
		t.Errorf("%.60v, %v", m, err)
	}
	must(t, os.Remove(filepath.Join(dir, "x.md.url")))
	must(t, os.Mkdir(filepath.Join(dir, "x.md.url"), 0o755))
	_, err = d.Believe("x")
	wants(t, err, ErrNotRegular)
}

func TestAdvance(t *testing.T) {
	other, back, moved := first, first, second
	other.By, back.Stage, moved.Address = ownerB, StageReleased, chatB
	for what, c := range map[string]struct{ disk, from, to Marker }{
		"another owner's":    {other, first, second},
		"another chat":       {released(chatB, ownerA), first, second},
		"back to released":   {second, second, back},
		"to another address": {first, first, moved},
		"to another owner":   {first, first, func() Marker { m := second; m.By = ownerB; return m }()},
	} {
		dir := t.TempDir()
		put(t, dir, "x.md.url", c.disk.String())
		d := open(t, dir, ownerA)
		if err := d.Advance("x", c.from, c.to); !errors.Is(err, ErrNotExpected) {
			t.Errorf("%s: %v", what, err)
		}
		if content(t, dir, "x.md.url") != c.disk.String() {
			t.Errorf("%s: written", what)
		}
		clean(t, dir)
	}
	d := open(t, t.TempDir(), ownerA)
	wants(t, d.Advance("x", first, second), fs.ErrNotExist)
	put(t, d.Path(), "x.md.url", first.String())
	must(t, d.Advance("x", first, second))
	must(t, d.Advance("x", first, second)) // once more changes nothing
	if got := content(t, d.Path(), "x.md.url"); got != second.String() {
		t.Error(got)
	}
	// A refused rename leaves the old marker, a lost reply is seen through.
	for errno, want := range map[string]Marker{StepRename: first, StepRenamed: second} {
		put(t, d.Path(), "x.md.url", first.String())
		f := &faults{fail: always(unix.EACCES, errno)}
		err := open(t, d.Path(), ownerA, WithStep(f.step)).Advance("x", first, second)
		if (err == nil) != (want == second) || content(t, d.Path(), "x.md.url") != want.String() {
			t.Errorf("%s: %v", errno, err)
		}
		clean(t, d.Path())
	}
}
