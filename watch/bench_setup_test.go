package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkWatches compares the watching of many folders with the bare calls.
func BenchmarkWatches(b *testing.B) {
	const folders = 1000
	root := b.TempDir()
	var dirs []string
	for i := range folders {
		dirs = append(dirs, filepath.Join(root, fmt.Sprint(i)))
		if err := os.Mkdir(dirs[i], 0o755); err != nil {
			b.Fatal(err)
		}
	}
	var ours, raw time.Duration
	var heap uint64
	for b.Loop() {
		shorter(&raw, func() { rawWatches(b, dirs) })
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		s, err := openNotify(func(string, string) {})
		if err != nil {
			b.Fatal(err)
		}
		shorter(&ours, func() {
			for _, dir := range dirs {
				if err := s.Add(dir); err != nil {
					b.Fatal(err)
				}
			}
		})
		runtime.GC()
		runtime.ReadMemStats(&after)
		heap = after.HeapAlloc - before.HeapAlloc
		s.Close()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(ours.Nanoseconds())/folders, "ns/folder")
	b.ReportMetric(float64(raw.Nanoseconds())/folders, "bare-ns/folder")
	b.ReportMetric(float64(ours)/float64(raw), "x-bare")
	b.ReportMetric(float64(heap)/folders, "B/folder")
}

func rawWatches(b *testing.B, dirs []string) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		b.Fatal(err)
	}
	defer unix.Close(fd)
	for _, dir := range dirs {
		if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO|unix.IN_ONLYDIR); err != nil {
			b.Fatal(err)
		}
	}
}

func shorter(d *time.Duration, f func()) {
	began := time.Now()
	f()
	if took := time.Since(began); *d == 0 || took < *d {
		*d = took
	}
}
