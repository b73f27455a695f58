package watch_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"watcher/watch"
)

// many is how many prompts wait in these tests.
const many = 10_000

// dropMany makes them, in an order that is not the names'.
func (r *rig) dropMany() (names []string) {
	r.t.Helper()
	for i := range many {
		name := fmt.Sprintf("p%05d", i*7919%many)
		r.write(name+".prompt", "prompt "+name)
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Ten thousand prompts at once: they go in the order of their names, and the
// program's memory does not grow while they do.
func TestManyPending(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		names := r.dropMany()
		_, stop := r.start()
		pass(time.Minute)
		first := heap()
		pass(5 * time.Minute)
		if grown := heap() - first; grown > 4<<20 {
			t.Errorf("%d bytes more after five minutes", grown)
		}
		stop()
		var order []string
		for _, p := range r.chat.Accepted() {
			order = append(order, p.Prompt[len("prompt "):])
		}
		if len(order) < 5 || !slices.Equal(order, names[:len(order)]) {
			t.Errorf("%d were sent: %v", len(order), order)
		}
	})
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// One call about as many files.
func TestManyAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		names := r.dropMany()
		a, err := watch.New(r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		files := make([]string, len(names))
		for i, name := range names {
			files[i] = r.path(name + ".prompt")
		}
		results, err := a.Generate(context.Background(), files...)
		if err != nil {
			t.Fatal(err)
		}
		sent := 0
		for i, res := range results {
			if res.Outcome == watch.SentNow {
				if sent++; i > 5 { // its turn comes within the caller's patience
					t.Errorf("%s was sent", res.File)
				}
			} else if res.Outcome != watch.InProgress || res.Next <= 0 {
				t.Fatalf("%+v", res)
			}
		}
		if sent == 0 {
			t.Error("none was sent")
		}
	})
}
