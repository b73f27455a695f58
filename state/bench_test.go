package state

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var (
	benchJobs = flag.Int("jobs", 10_000, "finished jobs of the benchmarks of folders")
	benchDirs = flag.Int("dirs", 1, "subfolders that they are spread over")
)

// finished makes a tree of finished jobs, a few pending ones among them, and
// opens its folders. Only the names matter, so the files are links to few: a
// million jobs are three million names.
func finished(b *testing.B, jobs, dirs int) (root string, list []*Dir) {
	b.Helper()
	root = b.TempDir()
	must(b, os.Mkdir(filepath.Join(root, "src"), 0o755))
	n, src := 0, ""
	name := func(dir, base string) {
		if n%30_000 == 0 { // a file takes only so many links
			src = filepath.Join(root, "src", fmt.Sprint(n))
			must(b, os.WriteFile(src, []byte("text"), 0o644))
		}
		n++
		must(b, unix.Link(src, dir+"/"+base))
	}
	for i := range dirs {
		dir := filepath.Join(root, fmt.Sprintf("folder-%04d", i))
		must(b, os.Mkdir(dir, 0o755))
		for j := i; j < jobs; j += dirs {
			job := Name(fmt.Sprintf("a-job-of-usual-length-%07d", j))
			for k := range KindError { // .prompt, .md.url, .md
				name(dir, job.File(k))
			}
		}
		if i < 5 {
			name(dir, "pending.prompt")
		}
		list = append(list, open(b, dir, ownerA))
	}
	return root, list
}

// scanAll is what a rescan does with a tree. With again it reads all of it,
// whether it changed or not.
func scanAll(b *testing.B, list []*Dir, again bool) (done, pending int) {
	for _, d := range list {
		if again {
			d.unmoved = stamp{}
		}
		l, err := d.Scan()
		if err != nil {
			b.Fatal(err)
		}
		done, pending = done+l.Done, pending+len(l.Jobs)
	}
	return done, pending
}

// readAll is the least that a look at a tree can cost: its names, out of the
// kernel.
func readNames(b *testing.B, list []*Dir) {
	buf := make([]byte, 256<<10)
	for _, d := range list {
		fd, err := unix.Open(d.Path(), unix.O_RDONLY|unix.O_DIRECTORY, 0)
		must(b, err)
		for {
			n, err := unix.ReadDirent(fd, buf)
			must(b, err)
			if n <= 0 {
				break
			}
		}
		unix.Close(fd)
	}
}

// least keeps the shorter of two times. It counts what the processor spent, not
// what passed: a machine on which others work makes nothing faster.
func least(d *time.Duration, f func()) {
	began := clock(unix.CLOCK_PROCESS_CPUTIME_ID)
	f()
	shorter(d, clock(unix.CLOCK_PROCESS_CPUTIME_ID)-began)
}

func shorter(d *time.Duration, took time.Duration) {
	if *d == 0 || took < *d {
		*d = took
	}
}

// BenchmarkRescan compares a pass over finished jobs with the bare system call
// and with find, in turns.
func BenchmarkRescan(b *testing.B) {
	root, list := finished(b, *benchJobs, *benchDirs)
	names := float64(3 * *benchJobs)
	find := func() time.Duration {
		cmd := exec.Command("find", root, "-name", "*.prompt")
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rss := resident(b)
	var raw, pass, other, first, same time.Duration
	scan := func(again bool) {
		if done, pending := scanAll(b, list, again); done != *benchJobs || pending != min(5, *benchDirs) {
			b.Fatalf("%d done, %d pending", done, pending)
		}
	}
	least(&first, func() { scan(true) })
	grown := resident(b) - rss
	for b.Loop() {
		least(&raw, func() { readNames(b, list) })
		least(&pass, func() { scan(true) })
		shorter(&other, find())
	}
	time.Sleep(2 * young) // until then a folder proves nothing
	scan(false)
	for range 5 {
		least(&same, func() { scan(false) })
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	objects := testing.AllocsPerRun(1, func() { scan(true) })
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(pass)/names, "ns/name")
	b.ReportMetric(float64(raw)/names, "raw-ns/name")
	b.ReportMetric(float64(other)/names, "find-ns/name")
	b.ReportMetric(float64(pass)/float64(raw), "x-raw")
	b.ReportMetric(float64(pass)/float64(other), "x-find")
	b.ReportMetric(float64(first)/float64(raw), "first-x-raw")
	b.ReportMetric(float64(same.Nanoseconds())/float64(len(list)), "ns/same-folder")
	b.ReportMetric(float64(pass)/float64(same), "x-same")
	b.ReportMetric(objects/float64(len(list)), "objects/pass")
	b.ReportMetric(float64(grown)/1e6, "MB-grown")
	b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/1e6, "MB-kept")
}

// resident is the process's memory in bytes.
func resident(b *testing.B) int64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	must(b, err)
	var size, pages int64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		b.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// BenchmarkCommit compares the making of a marker with the bare system calls
// of a durable file that replaces none.
func BenchmarkCommit(b *testing.B) {
	flushes := 0
	d := open(b, b.TempDir(), ownerA, WithStep(func(step string) error {
		switch step {
		case StepSync, StepFolder, StepReserve, StepBelieve:
			flushes++
		}
		return nil
	}))
	line := released(chatA, ownerA).String()
	var ours, bare []time.Duration
	prepared, i := 0, 0
	for b.Loop() {
		i++
		p, err := d.Prepare(Name(fmt.Sprintf("ours-%07d", i)), len(line))
		must(b, err)
		prepared, flushes = max(prepared, flushes), 0
		began := time.Now()
		must(b, p.Commit(released(chatA, ownerA)))
		ours = append(ours, time.Since(began))
		least := flushes
		flushes = 0
		if i == 1 {
			b.ReportMetric(float64(least), "flushes")
		}
		f := bareTemp(b, d.Path(), len(line))
		began = time.Now()
		bareCommit(b, d, f, line, fmt.Sprintf("bare-%07d.md.url", i))
		bare = append(bare, time.Since(began))
	}
	slices.Sort(ours)
	slices.Sort(bare)
	mine, raw := ours[len(ours)/2], bare[len(bare)/2]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(mine.Microseconds()), "us/marker")
	b.ReportMetric(float64(raw.Microseconds()), "bare-us/marker")
	b.ReportMetric(float64(mine)/float64(raw), "x-bare")
	b.ReportMetric(float64(prepared), "flushes-before")
}

func bareTemp(b *testing.B, dir string, size int) int {
	fd, err := unix.Open(dir+"/.bare.tmp", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o666)
	must(b, err)
	_, err = unix.Write(fd, make([]byte, max(size, 256)))
	must(b, errors.Join(err, unix.Fsync(fd)))
	return fd
}

func bareCommit(b *testing.B, d *Dir, fd int, line, name string) {
	dir := int(d.file.Fd())
	_, err := unix.Pwrite(fd, []byte(line), 0)
	must(b, errors.Join(err, unix.Ftruncate(fd, int64(len(line))), unix.Fsync(fd), unix.Close(fd),
		unix.Linkat(dir, ".bare.tmp", dir, name, 0), unix.Fsync(dir), unix.Unlinkat(dir, ".bare.tmp", 0)))
}
