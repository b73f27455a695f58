package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// drop removes files.
func drop(t testing.TB, dir string, files ...string) {
	t.Helper()
	for _, f := range files {
		must(t, os.Remove(filepath.Join(dir, f)))
	}
}

// lostNow scans and gives the jobs that lost their marker, sorted.
func lostNow(t testing.TB, d *Dir) []Name {
	t.Helper()
	l, err := d.Scan()
	must(t, err)
	slices.Sort(l.Lost)
	return l.Lost
}

// What a scan tells about markers that are not there any more.
func TestLost(t *testing.T) {
	for name, c := range map[string]struct {
		before, taken, put []string
		again              []string // taken after one more scan
		lost               bool
	}{
		"sent":                     {before: []string{"x.prompt", "x.md.url"}, taken: []string{"x.md.url"}, lost: true},
		"done":                     {before: []string{"x.prompt", "x.md.url", "x.md"}, taken: []string{"x.md.url", "x.md"}, lost: true},
		"done, one by one":         {before: []string{"x.prompt", "x.md.url", "x.md"}, taken: []string{"x.md.url"}, again: []string{"x.md"}, lost: true},
		"failed, one by one":       {before: []string{"x.prompt", "x.md.url", "x.md.err"}, taken: []string{"x.md.url"}, again: []string{"x.md.err"}, lost: true},
		"held":                     {before: []string{"x.prompt", "x.md.url", "x.prompt.hold"}, taken: []string{"x.md.url"}, lost: true},
		"the answer stays":         {before: []string{"x.prompt", "x.md.url", "x.md"}, taken: []string{"x.md.url"}},
		"only the answer goes":     {before: []string{"x.prompt", "x.md.url", "x.md"}, taken: []string{"x.md"}},
		"the whole job":            {before: []string{"x.prompt", "x.md.url", "x.md"}, taken: []string{"x.prompt", "x.md.url", "x.md"}},
		"prompt first, then all":   {before: []string{"x.prompt", "x.md.url"}, taken: []string{"x.prompt"}, again: []string{"x.md.url"}},
		"never sent":               {before: []string{"x.prompt", "x.md"}, taken: []string{"x.md"}},
		"retired":                  {before: []string{"x.prompt", "x.md.url"}, taken: []string{"x.md.url"}, put: []string{"x.md.url.1"}},
		"another job in its place": {before: []string{"x.prompt", "x.md.url"}, taken: []string{"x.prompt", "x.md.url"}, put: []string{"y.prompt"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, memDir(t), ownerA)
			for _, f := range c.before {
				put(t, d.Path(), f, "text")
			}
			if got := lostNow(t, d); got != nil {
				t.Fatalf("the first scan says %v", got)
			}
			drop(t, d.Path(), c.taken...)
			for _, f := range c.put {
				put(t, d.Path(), f, "text")
			}
			got := lostNow(t, d)
			if c.again != nil {
				if got != nil {
					t.Errorf("told too soon: %v", got)
				}
				drop(t, d.Path(), c.again...)
				got = lostNow(t, d)
			}
			if (len(got) == 1) != c.lost {
				t.Errorf("lost %v, want %v", got, c.lost)
			}
			if again := lostNow(t, d); again != nil {
				t.Errorf("told twice: %v", again)
			}
		})
	}
}

// Many at once, the hash table in use; a marker that comes back and goes again
// is lost again; another Dir knows nothing.
func TestLostMany(t *testing.T) {
	d := open(t, memDir(t), ownerA)
	const jobs = 300
	for i := range jobs {
		put(t, d.Path(), fmt.Sprintf("%03d.prompt", i), "text")
		put(t, d.Path(), fmt.Sprintf("%03d.md.url", i), "https://chat.example/\n")
	}
	for range 2 {
		lostNow(t, d)
		for i := range jobs / 2 {
			drop(t, d.Path(), fmt.Sprintf("%03d.md.url", 2*i))
		}
		got := lostNow(t, d)
		if len(got) != jobs/2 || got[0] != "000" || got[1] != "002" {
			t.Fatalf("lost %d: %v", len(got), got)
		}
		for i := range jobs / 2 {
			put(t, d.Path(), fmt.Sprintf("%03d.md.url", 2*i), "")
		}
	}
	other := open(t, d.Path(), ownerA)
	drop(t, d.Path(), "000.md.url")
	if got := lostNow(t, other); got != nil {
		t.Errorf("a first scan says %v", got)
	}
}

// Whatever cannot be seen is told as soon as it can be, and never as absent.
func TestLostUnderFaults(t *testing.T) {
	for at := 1; ; at++ {
		f := &faults{}
		d := open(t, memDir(t), ownerA, WithStep(f.step))
		put(t, d.Path(), "x.prompt", "text")
		put(t, d.Path(), "x.md.url", "https://chat.example/\n")
		lostNow(t, d)
		drop(t, d.Path(), "x.md.url")
		f.n, f.fail = 0, once(at, errFault)
		l, err := d.Scan()
		if f.n < at {
			if err != nil || len(l.Lost) != 1 {
				t.Fatalf("without a fault: %v, %v", l.Lost, err)
			}
			break
		}
		if f.names[len(f.names)-f.n:][at-1] == StepStamp { // then it is read again, and that is all
			if must(t, err); len(l.Lost) != 1 {
				t.Errorf("without a stamp: %v", l.Lost)
			}
			continue
		}
		wants(t, err, errFault)
		f.fail = nil
		if got := lostNow(t, d); len(got) != 1 {
			t.Errorf("after a fault at step %d: %v", at, got)
		}
	}
}

func TestPausedNotice(t *testing.T) {
	d := open(t, memDir(t), ownerA)
	_, err := d.ReadPaused()
	wants(t, err, fs.ErrNotExist)
	must(t, d.WriteWitness())
	must(t, d.WriteWitness())
	for _, text := range []string{"one\n", "two\n"} {
		must(t, d.WritePaused(text))
		if got, err := d.ReadPaused(); err != nil || got != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	if there, err := d.Witnessed(); err != nil || !there {
		t.Errorf("no witness: %v", err)
	}
	l, err := d.Scan()
	if must(t, err); !l.Paused || len(l.Jobs) != 0 {
		t.Errorf("%+v", l)
	}
	for range 2 {
		must(t, d.ClearPaused())
		must(t, d.ClearWitness())
	}
	if there, err := d.Witnessed(); err != nil || there || len(names(t, d.Path())) != 0 {
		t.Errorf("left %v, %v", names(t, d.Path()), err)
	}
	blind := open(t, d.Path(), ownerA, WithStep((&faults{fail: always(errFault, StepLook, StepTemp)}).step))
	for what, err := range map[string]error{"write": blind.WriteWitness(), "notice": blind.WritePaused("x"), "look": errOf(blind.Witnessed())} {
		if !errors.Is(err, errFault) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func errOf(_ bool, err error) error { return err }
