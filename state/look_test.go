package state

import (
	"errors"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOpenDir(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "file", "")
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	for path, want := range map[string]error{
		"missing": os.ErrNotExist,
		"file":    unix.ENOTDIR,
		"fifo":    unix.ENOTDIR,
	} {
		_, err := OpenDir(filepath.Join(dir, path), ownerA)
		wants(t, err, want)
		if !strings.Contains(err.Error(), path) {
			t.Error(err)
		}
	}
	for _, owner := range []string{"a", "AAAAAAAA", "aaaaaaaa/", "../aaaaaaaa"} {
		if _, err := OpenDir(dir, owner); err == nil {
			t.Errorf("owner %q", owner)
		}
	}
}

func TestLookOnly(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, "")
	put(t, dir, "x.prompt", "hi")
	files, err := d.Lookup("x")
	if must(t, err); files.Phase() != New {
		t.Error(files)
	}
	_, prepare := d.Prepare("x", 100)
	_, sweep := d.Sweep()
	for _, err := range []error{prepare, sweep, d.WriteAnswer("x", "a"), d.WritePaused("p")} {
		if err == nil || !strings.Contains(err.Error(), "to look only") {
			t.Error(err)
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Error(got)
	}
}

// A folder that was moved away, and one that took its name, are told apart,
// and what is written goes to the folder that was opened.
func TestFolderReplaced(t *testing.T) {
	base := t.TempDir()
	path, moved := filepath.Join(base, "in"), filepath.Join(base, "moved")
	must(t, os.Mkdir(path, 0o755))
	d := open(t, path, ownerA)
	if !d.Same() || d.Path() != path {
		t.Error("not the same at the start")
	}
	must(t, os.Rename(path, moved))
	if d.Same() {
		t.Error("same although it is gone")
	}
	must(t, os.Mkdir(path, 0o755))
	if d.Same() {
		t.Error("same although it is another one")
	}
	must(t, commit(d, "x", released(chatA, ownerA)))
	if got := names(t, path); got != nil {
		t.Errorf("written into the folder that took the name: %v", got)
	}
	if content(t, moved, "x.md.url") == "(none)" {
		t.Error("not written where it belongs")
	}
	must(t, os.RemoveAll(moved))
	if err := commit(d, "y", released(chatA, ownerA)); !errors.Is(err, unix.ENOENT) {
		t.Errorf("in a removed folder: %v", err)
	}
}

// After Close the descriptor's number may be another folder's.
func TestClosed(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	d, err := OpenDir(dir, ownerA)
	must(t, err)
	p, err := d.Prepare("x", 100)
	must(t, err)
	must(t, d.Close())
	for range 8 {
		open(t, other, ownerA)
	}
	_, lookErr := d.Lookup("x")
	_, scanErr := d.Scan()
	for _, err := range []error{lookErr, scanErr, p.Commit(released(chatA, ownerA)), d.WriteAnswer("x", "a")} {
		wants(t, err, os.ErrClosed)
	}
	if d.Same() || names(t, other) != nil {
		t.Errorf("a closed folder is still used: %v", names(t, other))
	}
}

func TestNamesThatLeaveTheFolder(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "in")
	must(t, os.Mkdir(dir, 0o755))
	put(t, base, "x.prompt", "hi")
	put(t, base, "x.prompt.cancel", "")
	d := open(t, dir, ownerA)
	for _, n := range []Name{"../x", "", ".", "..", "a/../../x", "x\x00", Name(strings.Repeat("n", 249))} {
		_, e1 := d.Lookup(n)
		_, e2 := d.Identify(n)
		_, e3 := d.ReadPrompt(n)
		_, e4 := d.Prepare(n, 100)
		_, e5 := d.Believe(n)
		_, e6 := d.Retire(n, Marker{})
		_, e7 := d.ArchiveError(n)
		_, e8 := d.ReadError(n)
		_, e9 := d.Ready(n)
		_, _, e10 := d.Writers(n)
		e11 := d.Advance(n, Marker{}, released(chatA, ownerA))
		for i, err := range []error{e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11,
			d.WriteAnswer(n, ""), d.WriteError(n, Failure{}), d.Remove(n, KindCancel), d.Hold(n)} {
			if err == nil {
				t.Errorf("%q: method %d did something", n, i+1)
			}
		}
	}
	if got := strings.Join(names(t, base), " "); got != "in x.prompt x.prompt.cancel" || names(t, dir) != nil {
		t.Error(got, names(t, dir))
	}
}

func TestLookup(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, ownerA)
	want := Files(0)
	for i := range 1 << kinds { // Gray code: each step changes one file, all sets come
		got, err := d.Lookup("x")
		if must(t, err); got != want {
			t.Fatalf("%v, want %v", got, want)
		}
		k := Kind(bits.TrailingZeros(uint(i+1))) % kinds
		file := Name("x").File(k)
		if want.Has(k) {
			want = want.Without(k)
			must(t, os.Remove(filepath.Join(dir, file)))
		} else {
			want = want.With(k)
			put(t, dir, file, "")
		}
	}
}

func TestLookupOddFiles(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, ownerA)
	must(t, os.Mkdir(filepath.Join(dir, "folder.prompt"), 0o755))
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo.prompt"), 0o600))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "broken.prompt")))
	must(t, os.Symlink("loop.prompt", filepath.Join(dir, "loop.prompt")))
	must(t, os.Symlink("/dev/null/x", filepath.Join(dir, "notdir.prompt")))
	must(t, os.Symlink("/dev/null", filepath.Join(dir, "device.prompt")))
	must(t, os.Symlink("..data/a", filepath.Join(dir, "link.prompt")))
	must(t, os.Mkdir(filepath.Join(dir, "..data"), 0o755))
	put(t, dir, "..data/a", "hi")
	for n, want := range map[Name]Phase{
		"folder": Absent, "fifo": Absent, "broken": Absent, "loop": Absent, "notdir": Absent, "device": Absent, "link": New,
	} {
		files, err := d.Lookup(n)
		if must(t, err); files.Phase() != want {
			t.Errorf("%s: %v", n, files)
		}
	}
	for _, n := range []Name{"folder", "fifo", "device"} {
		_, e1 := d.Identify(n)
		_, e2 := d.ReadPrompt(n)
		_, _, e3 := d.Writers(n)
		for _, err := range []error{e1, e2, e3} {
			wants(t, err, ErrNotRegular)
		}
	}
	// Whatever has a marker's or an answer's name is in its way.
	put(t, dir, "y.prompt", "hi")
	must(t, os.Symlink("nowhere", filepath.Join(dir, "y.md.url")))
	put(t, dir, "z.prompt", "hi")
	must(t, os.Mkdir(filepath.Join(dir, "z.md"), 0o755))
	for n, want := range map[Name]Phase{"y": Sent, "z": Done} {
		files, err := d.Lookup(n)
		if must(t, err); files.Phase() != want {
			t.Errorf("%s: %v", n, files)
		}
	}
	wants(t, commit(d, "y", released(chatA, ownerA)), ErrExists)
	wants(t, d.WriteAnswer("z", "a"), ErrExists)
}

// Names up to the longest that can be, with control files too long to exist.
func TestLongNames(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, ownerA)
	for length := 230; length <= 248; length++ {
		n := Name(strings.Repeat("\xfe", length))
		put(t, dir, n.File(KindPrompt), "hi")
		files, err := d.Lookup(n)
		if must(t, err); files.Phase() != New {
			t.Fatal(length, files)
		}
		m := released(chatA, ownerA)
		must(t, commit(d, n, m))
		archive, err := d.Retire(n, m)
		if must(t, err); content(t, dir, archive) != m.String() {
			t.Error(archive)
		}
		must(t, commit(d, n, m))
		must(t, d.WriteError(n, sampleFailure))
		_, err = d.ArchiveError(n)
		must(t, err)
		must(t, d.WriteAnswer(n, "yes"))
		if files, err = d.Lookup(n); files.Phase() != Done {
			t.Fatal(length, files, err)
		}
	}
	clean(t, dir)
}

// Any error but "does not exist" means that nothing is known.
func TestLookupErrors(t *testing.T) {
	for _, errno := range []error{unix.EIO, unix.ESTALE, unix.EACCES, unix.EMFILE, unix.ENAMETOOLONG} {
		for at := 1; at <= int(kinds); at++ {
			f := &faults{fail: once(at, errno)}
			d := open(t, t.TempDir(), ownerA, WithStep(f.step))
			put(t, d.Path(), "x.prompt", "hi")
			files, err := d.Lookup("x")
			if at > int(KindError)+1 && errno == unix.ENAMETOOLONG {
				if err != nil || files.Phase() != New { // a control file that cannot be
					t.Errorf("look %d: %v, %v", at, files, err)
				}
				continue
			}
			if wants(t, err, errno); files != 0 {
				t.Errorf("%v together with %v", files, err)
			}
		}
	}
}
