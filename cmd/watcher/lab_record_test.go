//go:build crash

package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"watcher/cmd/watcher/lab"
)

var torn = flag.Int("torn", 6, "for each write of a recorded disk, try so many ways in which it can be torn")

// world numbers the states of the laboratory's site, so that a disk of an
// earlier moment can be put beside the site of that moment.
type world struct {
	mu     sync.Mutex
	states []labState
}

func (w *world) now() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.states) - 1
}

func (w *world) add(st labState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.states = append(w.states, st)
}

// TestTornDisk records every write that a disk gets during each life. Then the
// power is cut before each of them, in several ways: all that was not flushed
// is lost, all is there, or any sectors of it. From each such disk, and the
// site as it was at that moment, the program must recover.
func TestTornDisk(t *testing.T) {
	for _, kind := range []string{"ext4", "xfs", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			total := 0
			for _, l := range lives {
				t.Run(l.name, func(t *testing.T) { total += tornLife(t, kind, l) })
			}
			t.Logf("%s: %d disks", kind, total)
		})
	}
}

func tornLife(t *testing.T, kind string, l life) (disks int) {
	places := newTries()
	dir := quick(t)
	history, w, texts := recordLife(t, dir, kind, l)
	b := newBench(t, filepath.Join(dir, "scratch"))
	random := rand.New(rand.NewPCG(*seed, 2))
	for n := range len(history.Log) + 1 {
		for try := range *torn {
			place := fmt.Sprintf("write %d of %d, try %d", n, len(history.Log), try)
			share := random.Float64()
			source := rand.New(rand.NewPCG(*seed, uint64(n*1000+try)))
			keep := func() bool { return source.Float64() < share }
			switch {
			case try == 0:
				keep = func() bool { return false }
			case try == 1:
				keep = func() bool { return true }
			case n == 0 || n > 0 && history.Log[n-1].Data == nil:
				continue // all is safe: nothing can be torn
			}
			if !places.take(place) {
				continue
			}
			disks++
			image := filepath.Join(dir, "torn")
			b.must(history.Image(image, n, keep))
			state := w.states[len(w.states)-1]
			if n < len(history.Log) {
				state = w.states[history.Log[n].World]
			}
			b.recover(kind, image, dir, l, state, texts, place)
		}
	}
	t.Logf("%d writes and flushes, %d disks", len(history.Log), disks)
	return disks
}

// recordLife runs one life on a recorded disk.
func recordLife(t *testing.T, dir, kind string, l life) (lab.History, *world, *bench) {
	t.Helper()
	w := &world{}
	r, err := lab.Record(dir, kind, w.now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	b := newBench(t, r.Mount)
	b.start(l)
	w.add(b.site.save())
	b.site.changed = func() { w.add(b.site.save()) }
	b.must(r.Begin())
	o := b.trace(l.ending(func(lab.Call) lab.Order { return lab.Order{} }), l.arguments()...)
	b.must(r.Sync())
	b.verdict(l.name, b.sound(), o.Output)
	return r.History(), w, b
}

// recover mounts a disk and lets the program go on there.
func (b *bench) recover(kind, image, dir string, l life, st labState, from *bench, place string) {
	b.t.Helper()
	mount := filepath.Join(dir, "again")
	d, err := lab.OpenImage(image, mount, kind)
	if err != nil {
		b.t.Fatalf("%s: %v", place, err)
	}
	b.home, b.dir, b.profile = mount, filepath.Join(mount, "in"), filepath.Join(mount, "profile")
	b.other, b.both = from.other, from.both
	b.texts, b.heads, b.sends, b.cut, b.posting = from.texts, from.heads, from.sends, from.cut, nil
	b.site.restore(st)
	b.site.plan = from.site.plan
	if _, err := os.Stat(b.profile); l.name == "new, first call of all" && err != nil {
		b.newProfile("profile", labOwner)
	}
	b.verdict(place, append(b.sound(), b.ends(l)...), "")
	b.must(d.Down())
}

// TestBrokenDisk lets a disk fail at a write or a flush, once or from then on,
// while the program goes on as well as it can. Then the machine is started
// again with what the disk really holds. A kernel that was told of a failed
// fsync may say later that all is well, and it is not.
func TestBrokenDisk(t *testing.T) {
	for kind, every := range map[string]int{"ext4": 1, "xfs": 4, "btrfs": 4} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			total, places := 0, newTries()
			for _, l := range lives {
				if l.daemon() {
					continue
				}
				dir := quick(t)
				history, _, _ := recordLife(t, dir, kind, l)
				for n := 0; n < len(history.Log); n += every * 3 {
					for _, forever := range []bool{false, true} {
						place := fmt.Sprintf("%s: write %d fails, for ever: %v", l.name, n, forever)
						if places.take(place) {
							brokenAt(t, quick(t), kind, l, n, forever, place)
							total++
						}
					}
				}
			}
			t.Logf("%s: %d broken disks", kind, total)
		})
	}
}

func brokenAt(t *testing.T, dir, kind string, l life, n int, forever bool, place string) {
	t.Helper()
	r, err := lab.Record(dir, kind, func() int { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, r.Mount)
	b.start(l)
	b.must(r.Begin())
	r.Fail(func(i int) bool { return i == n || forever && i > n })
	b.limit = 3 * time.Second
	o := b.trace(func(lab.Call) lab.Order { return lab.Order{} }, "generate", "--wait=300ms", "job.prompt")
	if o.Late {
		t.Errorf("%s: it hung", place)
	}
	b.down.Store(true)
	b.must(r.Down())
	image := filepath.Join(dir, "broken")
	b.must(r.Now(image))
	b.must(r.End())
	again := newBench(t, filepath.Join(dir, "scratch"))
	again.recover(kind, image, dir, l, b.site.save(), b, place)
}
