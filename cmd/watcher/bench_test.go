package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var (
	benchJobs = flag.Int("idle-jobs", 0, "finished jobs in the folder of BenchmarkIdle")
	benchDirs = flag.Int("idle-dirs", 1, "subfolders that they are spread over")
	benchIdle = flag.Duration("idle", 10*time.Second, "how long BenchmarkIdle watches")
)

// BenchmarkIdle starts the program twice, on a folder of finished jobs and on
// an empty one, and sees what it uses while nothing happens. Two rescans are in
// that time: the one that reads all, and one that has no need to.
func BenchmarkIdle(b *testing.B) {
	dir := b.TempDir()
	bin := filepath.Join(dir, "watcher")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	full, empty := filepath.Join(dir, "full"), filepath.Join(dir, "empty")
	finished(b, full, *benchJobs, *benchDirs)
	finished(b, empty, 0, 1)
	for b.Loop() {
		busy, idle := startIdle(b, bin, full), startIdle(b, bin, empty)
		first := busy.use(b)
		time.Sleep(*benchIdle / 2)
		second := busy.use(b)
		quiet := idle.use(b)
		time.Sleep(*benchIdle / 2)
		last, end := busy.use(b), idle.use(b)
		minutes := (*benchIdle / 2).Minutes()
		b.ReportMetric(float64(last.wakes-second.wakes)/minutes, "wake-ups/min")
		b.ReportMetric(float64((last.cpu-second.cpu).Microseconds())/1e3/minutes, "cpu-ms/min")
		b.ReportMetric(float64(end.wakes-quiet.wakes)/minutes, "empty-wake-ups/min")
		b.ReportMetric(float64((end.cpu-quiet.cpu).Microseconds())/1e3/minutes, "empty-cpu-ms/min")
		b.ReportMetric(float64(first.cpu.Microseconds())/1e3, "cpu-ms-start")
		b.ReportMetric(last.rss, "MB")
		b.ReportMetric(end.rss, "empty-MB")
		b.ReportMetric(last.peak-end.peak, "MB-more-at-peak")
		b.ReportMetric(last.rss-end.rss, "MB-more")
		busy.stop(b)
		idle.stop(b)
	}
	info, err := os.Stat(bin)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/1e6, "MB-binary")
	b.ReportMetric(0, "ns/op")
}

// finished makes a tree of finished jobs, of links: only names matter.
func finished(b *testing.B, root string, jobs, dirs int) {
	b.Helper()
	src, n := "", 0
	for i := range dirs {
		dir := filepath.Join(root, fmt.Sprint("folder-", i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := i; j < jobs; j += dirs {
			for _, end := range []string{".prompt", ".md.url", ".md"} {
				if n%30_000 == 0 {
					src = filepath.Join(b.TempDir(), "src")
					if err := os.WriteFile(src, []byte("text"), 0o644); err != nil {
						b.Fatal(err)
					}
				}
				n++
				if err := unix.Link(src, fmt.Sprintf("%s/a-job-of-usual-length-%07d%s", dir, j, end)); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

// idler is the program, with nothing to do.
type idler struct {
	cmd *exec.Cmd
	log string
}

func startIdle(b *testing.B, bin, dir string) *idler {
	b.Helper()
	home := b.TempDir()
	i := &idler{log: filepath.Join(home, "log")}
	log, err := os.Create(i.log)
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	i.cmd = exec.Command(bin, "run", "--profile", filepath.Join(home, "profile"), "--site", "http://127.0.0.1:9", "--rescan", (*benchIdle / 4).String(), dir)
	i.cmd.Stdout, i.cmd.Stderr = log, log
	if err := i.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = i.cmd.Process.Kill() })
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(i.log)
		switch {
		case err != nil || time.Now().After(end):
			b.Fatalf("it did not start: %v\n%s", err, text)
		case strings.Contains(string(text), "watching"):
			time.Sleep(time.Second) // and its first look ends
			for was := (usage{}); ; time.Sleep(500 * time.Millisecond) {
				if now := i.use(b); now.cpu-was.cpu < 50*time.Millisecond {
					return i
				} else {
					was = now
				}
			}
		}
	}
}

func (i *idler) stop(b *testing.B) {
	b.Helper()
	_ = i.cmd.Process.Signal(syscall.SIGTERM)
	if err := i.cmd.Wait(); err != nil {
		text, _ := os.ReadFile(i.log)
		b.Fatalf("%v\n%s", err, text)
	}
}

// usage is what a process has used so far.
type usage struct {
	wakes     int           // times that a thread went to sleep by itself
	cpu       time.Duration // of all threads
	rss, peak float64       // MB
}

func (i *idler) use(b *testing.B) (u usage) {
	b.Helper()
	proc := fmt.Sprintf("/proc/%d", i.cmd.Process.Pid)
	u.rss, u.peak = field(b, proc+"/status", "VmRSS:")/1e3, field(b, proc+"/status", "VmHWM:")/1e3
	tasks, err := filepath.Glob(proc + "/task/*")
	if err != nil || len(tasks) == 0 {
		b.Fatalf("%s has no threads: %v", proc, err)
	}
	for _, task := range tasks {
		u.wakes += int(field(b, task+"/status", "voluntary_ctxt_switches:"))
		text, err := os.ReadFile(task + "/schedstat")
		if err != nil {
			b.Fatal(err)
		}
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		u.cpu += time.Duration(ns)
	}
	return u
}

func field(b *testing.B, file, key string) float64 {
	b.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			n, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatalf("%s has no %s", file, key)
	return 0
}
