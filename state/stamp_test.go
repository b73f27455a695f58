package state

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// What proves that a folder is as it was, and what does not.
func TestStampProves(t *testing.T) {
	const day = 24 * time.Hour
	before := stamp{ctime: 1000 * day, mtime: 1000 * day, size: 40, nlink: 2, read: 1001 * day, boot: day, exact: true}
	after := func(change func(s *stamp)) stamp {
		s := before
		s.read, s.boot = s.read+time.Minute, s.boot+time.Minute
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		was  func(s *stamp)
		now  func(s *stamp)
		same bool
	}{
		"nothing happened": {same: true},
		"a change":         {now: func(s *stamp) { s.ctime, s.mtime = s.read, s.read }},
		// touch -d and rsync -t set the time of change back; not ctime.
		"mtime set back":                  {now: func(s *stamp) { s.ctime = s.read }},
		"mtime set back, twice":           {was: func(s *stamp) { s.mtime = day }, now: func(s *stamp) { s.mtime, s.ctime = day, s.read }},
		"another size":                    {now: func(s *stamp) { s.size++ }},
		"another subfolder":               {now: func(s *stamp) { s.nlink++ }},
		"the last change was just before": {was: func(s *stamp) { s.ctime = s.read - 10*time.Millisecond }, now: func(s *stamp) { s.ctime = before.read - 10*time.Millisecond }},
		"the last change is yet to come":  {was: func(s *stamp) { s.ctime = s.read + day }, now: func(s *stamp) { s.ctime = before.read + day }},
		"the clock was set back":          {now: func(s *stamp) { s.read -= 2 * time.Second }},
		"the clock was set back a day":    {now: func(s *stamp) { s.read -= day }},
		"the clock was set forward":       {now: func(s *stamp) { s.read += day }, same: true}, // no time comes twice
		"the clock goes slow":             {now: func(s *stamp) { s.read -= time.Millisecond }, same: true},
		"a file system of the network":    {was: func(s *stamp) { s.exact = false }, now: func(s *stamp) { s.exact = false }},
		"it could not be asked":           {was: func(s *stamp) { *s = stamp{} }, now: func(s *stamp) { *s = stamp{} }},
	} {
		t.Run(name, func(t *testing.T) {
			was, now := before, after(func(*stamp) {})
			if c.was != nil {
				c.was(&was)
			}
			if c.now != nil {
				now = after(c.now)
			}
			if got := was.proves(now); got != c.same {
				t.Errorf("proves = %v", got)
			}
		})
	}
}

// rest lets the folder's last change grow old. Time has to pass for the kernel,
// so there is no way around waiting.
func rest(t testing.TB) {
	t.Helper()
	left := unix.NsecToTimespec(int64(young + 50*time.Millisecond))
	for unix.Nanosleep(&left, &left) == unix.EINTR {
	}
}

// reads counts the times that the folder was read.
func reads(f *faults) (n int) {
	for _, step := range f.names {
		if step == StepList {
			n++
		}
	}
	f.n, f.names = 0, nil
	return n
}

// A folder at rest is not read again; whatever changes its names makes it be.
func TestUnmoved(t *testing.T) {
	old := time.Unix(1_000_000_000, 1)
	changes := []struct {
		name string
		do   func(path func(string) string) error
	}{
		{"a new file", func(p func(string) string) error { return os.WriteFile(p("n.prompt"), nil, 0o644) }},
		{"a removed one", func(p func(string) string) error { return os.Remove(p("a.prompt")) }},
		{"a link", func(p func(string) string) error { return os.Link(p("a.prompt"), p("n.prompt")) }},
		{"a rename", func(p func(string) string) error { return os.Rename(p("a.prompt"), p("n.prompt")) }},
		{"a rename over", func(p func(string) string) error { return os.Rename(p("a.prompt"), p("b.prompt")) }},
		{"a rename in", func(p func(string) string) error { return os.Rename(p("../beside"), p("n.prompt")) }},
		{"a rename out", func(p func(string) string) error { return os.Rename(p("a.prompt"), p("../out")) }},
		{"a folder", func(p func(string) string) error { return os.Mkdir(p("n"), 0o755) }},
		{"a folder's end", func(p func(string) string) error { return os.Remove(p("sub")) }},
		{"two names swap", func(p func(string) string) error {
			return unix.Renameat2(unix.AT_FDCWD, p("a.prompt"), unix.AT_FDCWD, p("sub"), unix.RENAME_EXCHANGE)
		}},
		{"a file, and the time set back", func(p func(string) string) error {
			return errors.Join(os.WriteFile(p("n.prompt"), nil, 0o644), os.Chtimes(p("."), old, old))
		}},
	}
	type folder struct {
		*Dir
		f *faults
	}
	var list []folder
	for _, parent := range []string{t.TempDir(), memDir(t)} {
		for i := range changes {
			dir := filepath.Join(parent, fmt.Sprint(i), "d")
			must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
			for _, file := range []string{"a.prompt", "b.prompt", "b.md.url", "c.md", "c.prompt", "../beside"} {
				put(t, dir, file, "text")
			}
			must(t, os.Chtimes(dir, old, old))
			f := &faults{}
			list = append(list, folder{open(t, dir, ownerA, WithStep(f.step)), f})
		}
	}
	scan := func(d folder) (l Listing, read bool) {
		reads(d.f)
		l, err := d.Scan()
		must(t, err)
		return l, reads(d.f) > 0
	}
	for _, d := range list {
		if _, read := scan(d); !read {
			t.Error("not read at first")
		}
	}
	rest(t)
	for i, d := range list {
		c := changes[i%len(changes)]
		if s := d.stamp(); !s.exact {
			t.Logf("no exact times in %s: it is always read", d.path)
			continue
		}
		first, read := scan(d) // until now a change might have had the same time
		if !read {
			t.Errorf("%s: trusted too soon", d.path)
		}
		put(t, d.path, "a.prompt", "another text") // no name changes
		again, read := scan(d)
		if read || !maps.Equal(again.Jobs, first.Jobs) || again.Done != 1 || len(again.Jobs) != 2 || len(again.Dirs) != 1 {
			t.Errorf("%s: read %v, %+v", d.path, read, again)
		}
		must(t, c.do(func(base string) string { return filepath.Join(d.path, base) }))
		if _, read := scan(d); !read {
			t.Errorf("%s in %s, and it was not read", c.name, d.path)
		}
	}
}

// A link's target comes and goes without a word in the folder.
func TestLinksAreAlwaysLookedAt(t *testing.T) {
	dir := memDir(t)
	target := filepath.Join(t.TempDir(), "target")
	must(t, os.Symlink(target, filepath.Join(dir, "x.prompt")))
	d := open(t, dir, ownerA)
	rest(t)
	for range 3 {
		for _, want := range []int{0, 1} {
			l, err := d.Scan()
			if must(t, err); len(l.Jobs) != want {
				t.Fatalf("%d jobs, want %d", len(l.Jobs), want)
			}
			if want == 0 {
				must(t, os.WriteFile(target, []byte("hi"), 0o644))
			}
		}
		must(t, os.Remove(target))
	}
}

// Where times may stand still, every scan reads.
func TestInexactTimes(t *testing.T) {
	f := &faults{}
	d := open(t, "/proc/self/task", "", WithStep(f.step))
	if d.exact() {
		t.Fatal("the times of /proc count as exact")
	}
	for range 3 {
		_, err := d.Scan()
		if must(t, err); reads(f) == 0 {
			t.Error("it was not read")
		}
	}
	blind := open(t, t.TempDir(), ownerA, WithStep((&faults{fail: always(unix.EIO, StepStamp)}).step))
	if s := blind.stamp(); s.proves(s) || s.exact {
		t.Errorf("%+v", s)
	}
}

// Each change is in the next scan, however soon that comes: in the very tick of
// the clock, right after a scan, again and again.
func TestNothingIsMissed(t *testing.T) {
	for _, dir := range []string{t.TempDir(), memDir(t)} {
		d := open(t, dir, ownerA)
		for i := range 2000 {
			n := Name(fmt.Sprintf("%04d", i%50))
			file := filepath.Join(dir, n.File(KindPrompt))
			_, err := os.Lstat(file)
			there := err == nil
			if there {
				must(t, os.Remove(file))
			} else {
				must(t, unix.Mknod(file, unix.S_IFREG|0o644, 0))
			}
			l, err := d.Scan()
			must(t, err)
			if _, seen := l.Jobs[n]; seen == there {
				t.Fatalf("change %d was missed", i)
			}
		}
	}
}

// A folder that lives for a while: changes of every kind, times set back, rests
// that make the next scan trust the folder, and scans at any moment. Each scan
// sees what another program would see that looks for the first time.
func TestScanAgreesWithTheFirstLook(t *testing.T) {
	histories := 0
	rapid.Check(t, func(rt *rapid.T) {
		histories++
		may := histories <= 2 // rests take real time
		dir, err := os.MkdirTemp(memDir(t), "")
		must(t, err)
		d := open(t, dir, ownerA)
		defer d.Close()
		file := func() string {
			n := Name(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "name"))
			return filepath.Join(dir, n.File(Kind(rapid.IntRange(0, int(kinds)-1).Draw(rt, "kind"))))
		}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"put", "put", "drop", "rename", "link", "set back", "rest", "scan"}).Draw(rt, "what") {
			case "put":
				_ = os.WriteFile(file(), []byte("text"), 0o644)
			case "drop":
				_ = os.Remove(file())
			case "rename":
				_ = os.Rename(file(), file())
			case "link":
				_ = os.Symlink("a.prompt", file())
			case "set back":
				must(t, os.Chtimes(dir, time.Unix(1e9, 5), time.Unix(1e9, 5)))
			case "rest":
				if may {
					rest(t)
				}
			}
			other := open(t, dir, "")
			want, err := other.Scan()
			must(t, err)
			other.Close()
			got, err := d.Scan()
			must(t, err)
			slices.Sort(got.Dirs)
			if !maps.Equal(got.Jobs, want.Jobs) || got.Done != want.Done {
				rt.Fatalf("got %v, %d done; want %v, %d", got.Jobs, got.Done, want.Jobs, want.Done)
			}
		}
	})
}

// Look sees what a scan sees, and the next one does not tell again.
func TestLook(t *testing.T) {
	d := open(t, memDir(t), ownerA)
	look := func(want Files, wantLost bool) {
		t.Helper()
		files, lost, err := d.Look("x")
		if must(t, err); files != want || lost != wantLost {
			t.Errorf("%v, lost %v; want %v, %v", files, lost, want, wantLost)
		}
	}
	prompt := Files(0).With(KindPrompt)
	look(0, false)
	put(t, d.Path(), "x.prompt", "text")
	look(prompt, false)
	put(t, d.Path(), "x.md.url", "")
	look(prompt.With(KindMarker), false)
	put(t, d.Path(), "x.md", "")
	look(prompt.With(KindMarker).With(KindAnswer), false)
	drop(t, d.Path(), "x.md.url")
	look(prompt.With(KindAnswer), false) // its answer may go next
	drop(t, d.Path(), "x.md")
	look(prompt, true)
	look(prompt, false)
	if got := lostNow(t, d); got != nil {
		t.Errorf("told twice: %v", got)
	}
	// A marker that only Look saw, and only a scan misses; the other way round.
	put(t, d.Path(), "x.md.url", "")
	look(prompt.With(KindMarker), false)
	drop(t, d.Path(), "x.md.url")
	if got := lostNow(t, d); len(got) != 1 {
		t.Errorf("lost %v", got)
	}
	put(t, d.Path(), "x.md.url", "")
	lostNow(t, d)
	drop(t, d.Path(), "x.md.url")
	look(prompt, true)
	// One that was retired is not lost.
	put(t, d.Path(), "x.md.url", "")
	look(prompt.With(KindMarker), false)
	must(t, os.Rename(filepath.Join(d.Path(), "x.md.url"), filepath.Join(d.Path(), "x.md.url.1")))
	look(prompt, false)
}

// In a folder of more names than notes hold, the unfinished jobs get their
// names all the same, and the lost ones theirs.
func TestScanOfMoreThanTheNotes(t *testing.T) {
	dir := memDir(t)
	f := &faults{}
	d := open(t, dir, ownerA, WithStep(f.step))
	name := func(i int) Name {
		return Name(fmt.Sprintf("%s-%06d", "a-job-whose-name-is-a-good-deal-longer-than-usual-so-that-fewer-of-them-do-as-many-bytes-of-notes", i))
	}
	const jobs = 12_000
	must(t, os.WriteFile(filepath.Join(dir, "src"), nil, 0o644))
	for i := range jobs {
		for k := range KindAnswer {
			must(t, unix.Link(filepath.Join(dir, "src"), filepath.Join(dir, name(i).File(k))))
		}
	}
	l, err := d.Scan()
	if must(t, err); len(l.Jobs) != jobs || l.Jobs[name(7)].Phase() != Sent {
		t.Fatalf("%d jobs", len(l.Jobs))
	}
	if n := reads(f); n < 2 {
		t.Errorf("%d reads: the notes held all, and the test tests nothing", n)
	}
	drop(t, dir, name(5).File(KindMarker), name(jobs-5).File(KindMarker), name(9).File(KindPrompt), name(9).File(KindMarker))
	put(t, dir, "new.prompt", "")
	l, err = d.Scan()
	must(t, err)
	if slices.Sort(l.Lost); !slices.Equal(l.Lost, []Name{name(5), name(jobs - 5)}) {
		t.Errorf("lost %v", l.Lost)
	}
	if len(l.Jobs) != jobs || l.Jobs["new"].Phase() != New || l.Jobs[name(5)].Phase() != New {
		t.Errorf("%d jobs", len(l.Jobs))
	}
}
