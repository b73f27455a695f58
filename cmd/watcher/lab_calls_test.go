//go:build crash

package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"watcher/cmd/watcher/lab"
)

var (
	sample = flag.Int("sample", 1, "try one in so many of the places, which -seed chooses")
	only   = flag.String("only", "", "try this place only, named as a failure names it")
)

// tries draws the places that are tried.
type tries struct {
	random *rand.Rand
	n      int
}

func newTries() *tries { return &tries{random: rand.New(rand.NewPCG(*seed, 0))} }

func (p *tries) take(place string) bool {
	if *only != "" {
		return place == *only
	}
	take := p.random.IntN(*sample) == 0
	if take {
		p.n++
	}
	return take
}

// quick is a folder in memory, where a kill shows as well as on a disk.
func quick(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "watcher-lab-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// calls are the system calls of a life in which nothing is wrong.
func (b *bench) calls(l life) (list []lab.Call) {
	b.t.Helper()
	b.start(l)
	o := b.trace(l.ending(func(c lab.Call) lab.Order {
		if !c.Done {
			list = append(list, c)
		}
		return lab.Order{}
	}), l.arguments()...)
	if wrong := b.ends(l); len(wrong) > 0 || o.Late {
		b.t.Fatalf("without any fault: %s\n%s", strings.Join(wrong, "\n"), o.Output)
	}
	if _, err := os.Stat(b.path("job.md")); err != nil && l.other {
		b.t.Fatalf("without any fault there is no answer\n%s%s", o.Output, b.listing())
	}
	return list
}

// verdict fails the test when something is wrong, with all that is needed to
// see why and to try it again.
func (b *bench) verdict(place string, wrong []string, output string) {
	b.t.Helper()
	if len(wrong) == 0 {
		return
	}
	b.t.Errorf("%s:\n  %s\nThe program said:\n%sThe folder:\n%sThe site: %+v\nTry it again: go test -tags crash ./cmd/watcher -run '%s' -only '%s'",
		place, strings.Join(wrong, "\n  "), output, b.listing(), b.site.save().posts, b.t.Name(), place)
}

// TestEveryCall kills the program before and after each of its system calls,
// in each of its lives, and starts it again.
func TestEveryCall(t *testing.T) {
	var kills atomic.Int64
	t.Cleanup(func() { t.Logf("killed %d times", kills.Load()) })
	for _, l := range lives {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, quick(t))
			total, places, missed := len(b.calls(l)), newTries(), 0
			for n := 1; n <= total; n++ {
				for _, done := range []bool{false, true} {
					place := lab.Call{N: n, Done: done}.Place()
					if !places.take(place) {
						continue
					}
					kills.Add(1)
					b.start(l)
					o := b.trace(l.ending(func(c lab.Call) lab.Order {
						return lab.Order{Kill: c.N == n && c.Done == done}
					}), l.arguments()...)
					wrong := b.sound()
					if o.Code != -1 {
						missed++ // its threads took turns in another way this time
					}
					wrong = append(wrong, b.ends(l)...)
					if len(wrong) == 0 && places.n%16 == 0 && l.class == "" {
						wrong = b.swept()
					}
					b.verdict(place, wrong, o.Output)
				}
			}
			if missed*10 > places.n+20 {
				t.Errorf("%d of %d kills came too late", missed, places.n)
			}
			t.Logf("%d calls, %d kills, %d too late", total, places.n, missed)
		})
	}
}

// TestEveryCallTwice kills the program after each call that changes something,
// and the one that recovers from that as well, at a random place.
func TestEveryCallTwice(t *testing.T) {
	for _, l := range lives {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, quick(t))
			calls, places := b.calls(l), newTries()
			random := rand.New(rand.NewPCG(*seed, 1))
			for _, first := range calls {
				if !changes(first) {
					continue
				}
				for range 8 {
					second := 1 + random.IntN(len(calls))
					place := fmt.Sprintf("after call %d, then %d", first.N, second)
					if !places.take(place) {
						continue
					}
					b.start(l)
					var said []string
					for _, n := range []int{first.N, second} {
						o := b.trace(l.ending(func(c lab.Call) lab.Order { return lab.Order{Kill: c.N == n && c.Done} }), l.arguments()...)
						said = append(said, o.Output)
					}
					wrong := b.sound()
					b.verdict(place, append(wrong, b.ends(l)...), strings.Join(said, "killed\n"))
				}
			}
			t.Logf("%d pairs of kills", places.n)
		})
	}
}

// changes reports whether a call may change something that others see.
func changes(c lab.Call) bool {
	return slices.Contains([]string{"write", "pwrite64", "ftruncate", "fsync", "linkat", "renameat", "renameat2", "unlinkat",
		"mkdirat", "connect", "bind"}, c.Name) || c.Name == "openat" && strings.HasSuffix(c.File, ".tmp")
}

// TestEveryError fails each system call on a file with each error, once, and
// from then on for ever, as a broken disk does; then the disk is well again.
// Sockets are not the disk's.
func TestEveryError(t *testing.T) {
	for _, l := range lives {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, quick(t))
			places := newTries()
			for _, c := range b.calls(l) {
				if c.File == "socket" {
					continue
				}
				for _, errno := range lab.Errors {
					for _, forever := range []bool{false, true} {
						b.errorAt(l, places, c.N, errno, forever)
					}
				}
			}
			t.Logf("%d errors", places.n)
		})
	}
}

// patience is how often a call is interrupted before it is let go: a program
// may try again for ever.
const patience = 200

func (b *bench) errorAt(l life, places *tries, n int, errno syscall.Errno, forever bool) {
	b.t.Helper()
	place := fmt.Sprintf("%s at call %d", unix.ErrnoName(errno), n)
	if forever {
		place += " and all after it"
	}
	if !places.take(place) {
		return
	}
	b.start(l)
	failed := 0
	if forever && l.daemon() {
		b.limit = 300 * time.Millisecond // it would wait for its disk
		defer func() { b.limit = labLimit }()
	}
	o := b.trace(l.ending(func(c lab.Call) lab.Order {
		switch {
		case c.Done || c.File == "socket" || c.N < n || c.N > n && !forever || errno == unix.EINTR && failed >= patience:
			return lab.Order{}
		}
		failed++
		return lab.Order{Fail: errno}
	}), l.arguments()...)
	wrong := b.sound()
	if o.Late && b.limit == labLimit {
		wrong = append(wrong, "it hung")
	}
	if o.Code == codeSwitch && l.class == "" { // 1 promises that nothing was sent, or that an .md.err says what happened
		_, taken := b.site.count(b.texts["job"])
		if _, err := os.Stat(b.path("job.md.err")); err != nil && taken > 0 && !strings.HasSuffix(l.name, "retried") {
			wrong = append(wrong, fmt.Sprintf("exit code 1, though it was taken %d times", taken))
		}
	}
	b.verdict(place, append(wrong, b.ends(l)...), o.Output)
}
