//go:build crash

package main

import (
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"watcher/cmd/watcher/lab"
)

// newDisk mounts a file system of its own for a test.
func newDisk(t *testing.T, kind string) *lab.Disk {
	t.Helper()
	d, err := lab.NewDisk(quick(t), kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Down(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// TestPowerCut takes the power away from the disk before each call of each
// life that touches the disk, and looks at what is there when it is back. A
// kill alone cannot tell a missing fsync from a present one.
func TestPowerCut(t *testing.T) {
	var cuts atomic.Int64
	t.Cleanup(func() { t.Logf("the power was cut %d times", cuts.Load()) })
	for _, kind := range []string{"ext4", "xfs"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d := newDisk(t, kind)
			b := newBench(t, d.Mount)
			for _, l := range append(slices.Clone(lives), justWritten) {
				t.Run(l.name, func(t *testing.T) {
					b.t = t
					places, missed := newTries(), 0
					for _, c := range b.calls(l) {
						if !changes(c) || !places.take(c.Place()) {
							continue
						}
						cuts.Add(1)
						if !b.cutAt(d, l, c) {
							missed++
						}
					}
					t.Logf("%d cuts, %d too late", places.n, missed)
				})
				b.t = t
			}
		})
	}
}

// justWritten is a prompt that its writer did not sync. Until the program has
// done that, the power may take it away, but never once it was sent.
var justWritten = life{name: "new, just written", begin: func(b *bench) { b.drop("job") }}

// cutAt cuts the power before one call; false says that the program came to
// its end without that call.
func (b *bench) cutAt(d *lab.Disk, l life, at lab.Call) (cut bool) {
	b.t.Helper()
	b.start(l)
	b.must(d.Sync())
	if l.name == justWritten.name {
		b.must(os.Remove(b.path("job.prompt")))
		b.must(d.Sync())
		b.drop("job")
	}
	o := b.trace(l.ending(func(c lab.Call) lab.Order {
		if c.N != at.N || c.Done {
			return lab.Order{}
		}
		b.down.Store(true)
		if err := d.Cut(); err != nil {
			b.t.Error(err)
		}
		return lab.Order{Kill: true}
	}), l.arguments()...)
	if o.Code == -1 {
		b.must(d.Down())
		b.must(d.Up())
	}
	b.down.Store(false)
	wrong := b.sound()
	if _, err := os.Stat(b.path("job.prompt")); os.IsNotExist(err) && l.name == justWritten.name {
		if posted, _ := b.site.count(b.texts["job"]); posted > 0 {
			wrong = append(wrong, "the prompt was sent, and lost")
		}
		b.drop("job")
	}
	wrong = append(wrong, b.ends(l)...)
	b.verdict(at.Place(), wrong, strings.TrimSpace(at.Name+" "+at.File)+"\n"+o.Output)
	return o.Code == -1
}
