package state

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func TestScan(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, ownerA)
	for _, f := range append(slices.DeleteFunc(slices.Clone(notOurs), func(n string) bool { return n == "" || n == "." || n == ".." }),
		"new.prompt", "held.prompt", "held.prompt.hold",
		"sent.prompt", "sent.md.url", "alone.md.url",
		"failed.prompt", "failed.md.err", "void.md.err",
		"done.prompt", "done.md.url", "done.md", "README.md",
		"again.prompt", "again.md", "again.prompt.retry", "stop.md.url", "stop.md", "stop.prompt.cancel",
		"gone.prompt.retry", "bad\xff.prompt",
		"new (1).prompt", "new.sync-conflict-20260101-120000-ABCDEFG.prompt") {
		put(t, dir, f, "")
	}
	for _, sub := range []string{"sub", "folder.prompt", ".git", ".stversions"} {
		must(t, os.Mkdir(filepath.Join(dir, sub), 0o755))
	}
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo.prompt"), 0o600))
	must(t, os.Symlink("new.prompt", filepath.Join(dir, "link.prompt")))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "broken.prompt")))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "kept.prompt")))
	put(t, dir, "kept.md.url", "")
	must(t, os.Symlink("sub", filepath.Join(dir, "sublink")))

	l, err := d.Scan()
	must(t, err)
	set := func(list ...Kind) (f Files) {
		for _, k := range list {
			f = f.With(k)
		}
		return f
	}
	want := map[Name]Files{
		"new": set(KindPrompt), "link": set(KindPrompt), "bad\xff": set(KindPrompt),
		"held": set(KindPrompt, KindHold),
		"sent": set(KindPrompt, KindMarker), "alone": set(KindMarker), "kept": set(KindMarker),
		"failed": set(KindPrompt, KindError), "void": set(KindError),
		"again": set(KindPrompt, KindAnswer, KindRetry), "stop": set(KindMarker, KindAnswer, KindCancel),
	}
	if !maps.Equal(l.Jobs, want) {
		t.Errorf("jobs %v\nwant %v", l.Jobs, want)
	}
	slices.Sort(l.Dirs)
	slices.Sort(l.Conflicts)
	if !slices.Equal(l.Dirs, []string{"folder.prompt", "sub"}) {
		t.Errorf("folders %q", l.Dirs)
	}
	if !slices.Equal(l.Conflicts, []string{"new (1).prompt", "new.sync-conflict-20260101-120000-ABCDEFG.prompt"}) {
		t.Errorf("conflicts %q", l.Conflicts)
	}
	if l.Done != 3 || !l.Hold || !l.Paused {
		t.Errorf("done %d, hold %v, paused %v", l.Done, l.Hold, l.Paused)
	}
}

// Scan and Lookup see the same, whatever is in the folder.
func TestScanAgreesWithLookup(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(memDir(t), "")
		must(t, err)
		d := open(t, dir, ownerA)
		defer d.Close()
		all := map[Name]bool{}
		for range rapid.IntRange(0, 12).Draw(rt, "files") {
			n := anyName.Filter(func(n Name) bool { return n.Check() == nil }).Draw(rt, "name")
			k := Kind(rapid.IntRange(0, int(kinds)-1).Draw(rt, "kind"))
			put(t, dir, n.File(k), "")
			all[n] = true
		}
		l, err := d.Scan()
		must(t, err)
		done := 0
		for n := range all {
			files, err := d.Lookup(n)
			must(t, err)
			if files.Phase() == Done && (files.Has(KindPrompt) || files.Has(KindMarker)) {
				done++
			}
			if got, ok := l.Jobs[n]; ok != wanted(files) || ok && got != files {
				rt.Fatalf("%q: scan %v, look-up %v", n, got, files)
			}
			delete(l.Jobs, n)
		}
		if len(l.Jobs) != 0 || l.Done != done {
			rt.Fatalf("too many: %v; done %d, want %d", l.Jobs, l.Done, done)
		}
	})
}

// A finished job costs no stat, no object and few bytes.
func TestScanOfManyFinishedJobs(t *testing.T) {
	const jobs = 2000
	dir := memDir(t)
	f := &faults{}
	d := open(t, dir, ownerA, WithStep(f.step))
	for i := range jobs {
		for k := range KindError { // .prompt, .md.url, .md
			put(t, dir, Name(fmt.Sprintf("a-job-of-usual-length-%06d", i)).File(k), "")
		}
	}
	put(t, dir, "new.prompt", "hi")
	scan := func() {
		f.n, f.names = 0, f.names[:0]
		l, err := d.Scan()
		if must(t, err); l.Done != jobs || len(l.Jobs) != 1 {
			t.Fatalf("done %d, jobs %v", l.Done, l.Jobs)
		}
	}
	scan()
	if slices.Contains(f.names, StepLook) {
		t.Error("a stat for a regular file")
	}
	if objects := testing.AllocsPerRun(5, scan); objects > 100 {
		t.Errorf("%v objects for %d jobs", objects, jobs)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	scan()
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 200*jobs {
		t.Errorf("%d bytes for %d jobs", bytes, jobs)
	}
}

func TestScanErrors(t *testing.T) {
	f := &faults{}
	d := open(t, t.TempDir(), ownerA, WithStep(f.step))
	put(t, d.Path(), "x.prompt", "")
	must(t, os.Symlink("x.prompt", filepath.Join(d.Path(), "y.prompt")))
	_, err := d.Scan()
	must(t, err)
	steps := f.names
	for at, step := range steps {
		d := open(t, d.Path(), ownerA, WithStep(f.step))
		*f = faults{fail: once(at+1, unix.EIO)}
		l, err := d.Scan()
		if step == StepLook || step == StepStamp { // one entry that cannot be looked at stops nothing
			if must(t, err); l.Jobs["x"].Phase() != New || l.Jobs["y"].Phase() != New {
				t.Errorf("%v", l)
			}
			continue
		}
		if wants(t, err, unix.EIO); l.Jobs != nil {
			t.Errorf("%v and %v", l, err)
		}
	}
}

// Some file systems give no types with the names.
func TestScanWithoutTypes(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, ownerA)
	put(t, dir, "x.prompt", "")
	put(t, dir, "other", "")
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	must(t, os.Mkdir(filepath.Join(dir, "folder.prompt"), 0o755))
	s := scan{Dir: d, scratch: &scratch{}}
	for _, base := range []string{"x.prompt", "other", "sub", "folder.prompt", "vanished.prompt", "vanished", ".hidden"} {
		must(t, s.see([]byte(base), unix.DT_UNKNOWN))
	}
	names, err := s.names()
	must(t, err)
	if s.sort(names); !maps.Equal(s.list.Jobs, map[Name]Files{"x": Files(0).With(KindPrompt)}) || !s.unsure {
		t.Error(s.list.Jobs, s.unsure)
	}
	if !slices.Equal(s.list.Dirs, []string{"sub"}) {
		t.Error(s.list.Dirs)
	}
}

// The records of getdents64 are walked without leaving them.
func FuzzRecords(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x18\x00\x08x.md\x00"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		total := 0
		records(b, func(base []byte, _ uint8) error {
			total += len(base)
			return nil
		})
		if total > len(b) {
			t.Fatal(total)
		}
	})
}
