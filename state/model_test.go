package state

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// world is a folder, and what it should hold. Three programs work in it, and a
// user; each call may meet a fault. After a fault the model takes over what
// the folder holds, but only if that is the state before or the state after.
type world struct {
	*rapid.T
	dir    string
	look   *Dir // to look only
	quirk  func(int, string) error
	files  map[string]string // the model
	serial int
	won    map[Name]int // commits that succeeded since the key was last taken away
}

var (
	modelNames  = []Name{"x", "x.md", Name(strings.Repeat("n", 248))}
	modelOwners = []string{ownerA, ownerB, "cccccccc00000000"}
)

func (w *world) name() Name { return rapid.SampledFrom(modelNames).Draw(w.T, "name") }

// program opens the folder for one of the programs, with a fault to come. It
// is as if the process were started for this one call.
func (w *world) program() (d *Dir, faulty bool) {
	owner := rapid.SampledFrom(modelOwners).Draw(w.T, "owner")
	fail := w.quirk
	if faulty = rapid.IntRange(0, 2).Draw(w.T, "faulty") == 0; faulty {
		at := rapid.IntRange(1, 16).Draw(w.T, "at step")
		errno := rapid.SampledFrom([]error{unix.EIO, unix.ENOSPC, unix.EPERM, unix.ESTALE}).Draw(w.T, "error")
		kind := rapid.SampledFrom([]func(int, string) error{
			once(at, errno), crash(at), always(errno, rapid.SampledFrom(Steps).Draw(w.T, "step")),
		}).Draw(w.T, "kind of fault")
		fail = both(fail, kind)
	}
	d, err := OpenDir(w.dir, owner, WithStep((&faults{fail: fail}).step))
	if err != nil {
		w.Fatal(err)
	}
	return d, faulty
}

// disk is what the folder holds, temporary files left out.
func (w *world) disk() map[string]string {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		w.Fatal(err)
	}
	now := map[string]string{}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(w.dir, e.Name()))
		if err != nil {
			w.Fatal(err)
		}
		now[e.Name()] = string(b)
	}
	return now
}

// settle compares the folder with what the call should have made of it. next
// is nil when it should have refused; err must then be want.
func (w *world) settle(d *Dir, faulty bool, next map[string]string, err, want error) (changed bool) {
	d.Close()
	now := w.disk()
	if next == nil {
		if !faulty && !errors.Is(err, want) {
			w.Fatalf("error %v, want %v", err, want)
		}
		if err == nil {
			w.Fatalf("no error, want %v", want)
		}
		next = w.files
	} else if !faulty && err != nil {
		w.Fatal(err)
	}
	switch {
	case maps.Equal(now, next):
		changed = !maps.Equal(next, w.files)
	case err == nil:
		w.Fatalf("went well, but\n%q\nwant\n%q", now, next)
	case !maps.Equal(now, w.files) && !w.cut(now, next):
		w.Fatalf("after %v neither before nor after:\n%q\nbefore\n%q\nafter\n%q", err, now, w.files, next)
	}
	w.files = now
	return changed
}

// cut allows for the documented exception: a marker that was created under its
// own name and not, or not wholly, written.
func (w *world) cut(now, next map[string]string) bool {
	for file, text := range next {
		if _, k, _ := Parse(file); k == KindMarker && now[file] != text && strings.HasPrefix(text, now[file]) {
			fixed := maps.Clone(now)
			fixed[file] = text
			_, there := now[file]
			return there && w.quirk(0, StepMove) != nil && maps.Equal(fixed, next)
		}
	}
	return false
}

// with is the model with one file changed.
func (w *world) with(file, text string) map[string]string {
	next := maps.Clone(w.files)
	next[file] = text
	return next
}

func (w *world) commit(t *rapid.T) {
	n := w.name()
	d, faulty := w.program()
	w.serial++
	m := released(fmt.Sprintf("https://chat.example/c/%d", w.serial), d.owner+"00000000")
	var next map[string]string
	if _, taken := w.files[n.File(KindMarker)]; !taken {
		next = w.with(n.File(KindMarker), m.String())
	}
	err := commit(d, n, m)
	w.settle(d, faulty, next, err, ErrExists)
	if err == nil {
		if w.won[n]++; w.won[n] > 1 {
			w.Fatalf("%q was won twice", n)
		}
	}
}

func (w *world) advance(t *rapid.T) {
	n := w.name()
	d, faulty := w.program()
	text, there := w.files[n.File(KindMarker)]
	from := ParseMarker([]byte(text))
	to := from
	to.Stage, to.Message = StageSent, fmt.Sprint("message-", w.serial)
	if to.Address == "" {
		to.Address, to.By = chatA, ownerA
	}
	var next map[string]string
	if there {
		next = w.with(n.File(KindMarker), to.String())
	}
	w.settle(d, faulty, next, d.Advance(n, from, to), os.ErrNotExist)
}

func (w *world) retire(t *rapid.T) {
	n := w.name()
	d, faulty := w.program()
	text, there := w.files[n.File(KindMarker)]
	expect, want := ParseMarker([]byte(text)), os.ErrNotExist
	if there && rapid.IntRange(0, 3).Draw(t, "wrong") == 0 {
		expect.Message, want, there = "another", ErrNotExpected, false
	}
	var next map[string]string
	if there {
		next = w.with(n.Archive(KindMarker, w.free(n, KindMarker)), text)
		delete(next, n.File(KindMarker))
	}
	_, err := d.Retire(n, expect)
	if w.settle(d, faulty, next, err, want) {
		w.won[n] = 0
	}
}

func (w *world) free(n Name, k Kind) int {
	for i := 1; ; i++ {
		if _, taken := w.files[n.Archive(k, i)]; !taken {
			return i
		}
	}
}

func (w *world) write(t *rapid.T) {
	n, k := w.name(), rapid.SampledFrom([]Kind{KindAnswer, KindError, KindHold}).Draw(t, "kind")
	d, faulty := w.program()
	w.serial++
	text := fmt.Sprint("answer ", w.serial)
	call := func() error { return d.WriteAnswer(n, text) }
	switch k {
	case KindError:
		text, call = text+"\n", func() error { return d.WriteError(n, Failure{Sentence: text}) }
	case KindHold:
		text, call = "", func() error { return d.Hold(n) }
	}
	old, taken := w.files[n.File(k)]
	switch {
	case len(n.File(k)) > maxName:
		w.settle(d, faulty, nil, call(), unix.ENAMETOOLONG)
	case !taken:
		w.settle(d, faulty, w.with(n.File(k), text), call(), nil)
	case k == KindHold:
		w.settle(d, faulty, w.with(n.File(k), old), call(), nil)
	default:
		w.settle(d, faulty, nil, call(), ErrExists)
	}
}

func (w *world) archive(t *rapid.T) {
	n, k := w.name(), rapid.SampledFrom([]Kind{KindAnswer, KindError}).Draw(t, "kind")
	d, faulty := w.program()
	var next map[string]string
	if text, there := w.files[n.File(k)]; there {
		next = w.with(n.Archive(k, w.free(n, k)), text)
		delete(next, n.File(k))
	}
	call := d.ArchiveAnswer
	if k == KindError {
		call = d.ArchiveError
	}
	_, err := call(n)
	w.settle(d, faulty, next, err, os.ErrNotExist)
}

func (w *world) remove(t *rapid.T) {
	n, k := w.name(), rapid.SampledFrom([]Kind{KindCancel, KindRetry}).Draw(t, "kind")
	d, faulty := w.program()
	next := maps.Clone(w.files)
	delete(next, n.File(k))
	w.settle(d, faulty, next, d.Remove(n, k), nil)
}

// user makes or removes any file; to remove the marker takes the key away.
func (w *world) user(t *rapid.T) {
	n, k := w.name(), Kind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind"))
	file := n.File(k)
	if len(file) > maxName {
		return
	}
	path := filepath.Join(w.dir, file)
	if _, there := w.files[file]; there {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		delete(w.files, file)
		if k == KindMarker {
			w.won[n] = 0
		}
		return
	}
	if k == KindMarker {
		return // nobody makes one by hand here
	}
	if err := os.WriteFile(path, []byte("by hand"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.files[file] = "by hand"
}

// sweep is what each program does when it starts.
func (w *world) sweep(t *rapid.T) {
	for _, owner := range modelOwners {
		d, err := OpenDir(w.dir, owner)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Sweep(); err != nil {
			t.Fatal(err)
		}
		d.Close()
	}
	entries, err := os.ReadDir(w.dir)
	if err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), ".tmp") }) {
		t.Fatalf("after the sweep: %v, %v", entries, err)
	}
}

// check holds after every action: every way to look at the folder sees what
// the model says.
func (w *world) check(t *rapid.T) {
	l, err := w.look.Scan()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range modelNames {
		var want Files
		for k := range kinds {
			if _, there := w.files[n.File(k)]; there {
				want = want.With(k)
			}
		}
		if got, err := w.look.Lookup(n); err != nil || got != want {
			t.Fatalf("%q: %v, %v; want %v", n, got, err, want)
		}
		if got, there := l.Jobs[n]; there != wanted(want) || there && got != want {
			t.Fatalf("%q: listed as %v, want %v", n, got, want)
		}
		if text, there := w.files[n.File(KindMarker)]; there {
			if m := ParseMarker([]byte(text)); m.Stage == StageReleased && m.String() != text {
				t.Fatalf("%q: a marker that is not whole: %q", n, text)
			}
		}
	}
}

func TestModel(t *testing.T) {
	base := memDir(t)
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(base, "")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		look, err := OpenDir(dir, "")
		if err != nil {
			rt.Fatal(err)
		}
		defer look.Close()
		fs := rapid.SampledFrom(slices.Sorted(maps.Keys(filesystems))).Draw(rt, "file system")
		w := &world{T: rt, dir: dir, look: look, quirk: filesystems[fs], files: map[string]string{}, won: map[Name]int{}}
		rt.Repeat(map[string]func(*rapid.T){
			"commit": w.commit, "advance": w.advance, "retire": w.retire, "write": w.write,
			"archive": w.archive, "remove": w.remove, "user": w.user, "sweep": w.sweep, "": w.check,
		})
	})
}
