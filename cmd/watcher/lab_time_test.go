//go:build crash

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"watcher/cmd/watcher/lab"
)

const day = 24 * time.Hour

// TestClock lets the wall clock be wrong by a day and by a century, from the
// start and from a random call on, and back again for the next program. No
// decision to send may hang on it.
func TestClock(t *testing.T) {
	for _, l := range lives {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, quick(t))
			calls, places := len(b.calls(l)), newTries()
			random := rand.New(rand.NewPCG(*seed, 3))
			for _, off := range []time.Duration{-100 * 365 * day, -day, day, 100 * 365 * day} {
				for _, from := range []int{0, 1 + random.IntN(calls), 1 + random.IntN(calls)} {
					for _, kill := range []int{0, 1 + random.IntN(calls)} {
						place := fmt.Sprintf("clock off by %v from call %d on, killed at call %d", off, from, kill)
						if places.take(place) {
							b.clockAt(l, place, off, from, kill)
						}
					}
				}
			}
			t.Logf("%d clocks", places.n)
		})
	}
}

func (b *bench) clockAt(l life, place string, off time.Duration, from, kill int) {
	b.t.Helper()
	b.start(l)
	b.clock = func(calls int) time.Duration {
		if calls >= from {
			return off
		}
		return 0
	}
	defer func() { b.clock = nil }()
	o := b.trace(l.ending(func(c lab.Call) lab.Order { return lab.Order{Kill: c.N == kill && c.Done} }), l.arguments()...)
	wrong := b.sound()
	if o.Late {
		wrong = append(wrong, "it hung")
	}
	b.verdict(place, append(wrong, b.ends(l)...), o.Output)
}

// TestFileTimes gives prompts times of long ago and of the far future.
func TestFileTimes(t *testing.T) {
	b := newBench(t, quick(t))
	for _, year := range []int{1970, 1999, 2038, 2099, 2400} {
		for _, l := range lives {
			b.start(l)
			at := time.Date(year, 1, 1, 0, 0, 1, 0, time.UTC)
			b.must(os.Chtimes(b.path("job.prompt"), at, at))
			_, out := b.run(l.brief()...)
			b.verdict(fmt.Sprintf("%s, of the year %d", l.name, year), append(b.sound(), b.ends(l)...), out)
		}
	}
}
