package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// drop makes a prompt that no other job has, and returns its text.
func (in *intake) drop(job string) string {
	in.t.Helper()
	text := in.expect(job, "What is asked in "+job+"?")
	in.write(job+".prompt", text+"\n")
	return text
}

// TestFoldersComeAndGo takes the watched folder and one below it away, makes
// them anew and gives their names to others, filled at once. A rescan finds
// all.
func TestFoldersComeAndGo(t *testing.T) {
	t.Parallel()
	in := newIntake(t, fastDir(t))
	in.start("WATCHER_RESCAN=200ms", "WATCHER_SETTLE=20ms")
	round := func(what string, change func()) {
		t.Helper()
		change()
		texts := map[string]string{}
		for _, job := range []string{what, "sub/" + what, "sub/deep/" + what} {
			texts[job] = in.drop(job)
		}
		for job, text := range texts {
			in.answered(job, text)
		}
	}
	away := func(name string) {
		t.Helper()
		in.must(os.Rename(in.path(name), in.home+"/away"+fmt.Sprint(time.Now().UnixNano())))
	}
	remove := func(dir string) { // the program may be about to tidy up in it
		t.Helper()
		err := os.RemoveAll(dir)
		for range 100 {
			if !errors.Is(err, syscall.ENOTEMPTY) {
				break
			}
			err = os.RemoveAll(dir)
		}
		in.must(err)
	}
	round("first", func() {})
	round("sub-removed", func() { remove(in.path("sub")) })
	round("sub-renamed", func() { in.must(os.Rename(in.path("sub"), in.path("other"))) })
	in.answered("other/later", in.drop("other/later"))
	round("sub-moved-out", func() { away("sub") })
	round("root-removed", func() { remove(in.dir) })
	round("root-renamed", func() { away("") })
	round("root-replaced", func() {
		in.must(os.Mkdir(in.home+"/new", 0o755))
		away("")
		in.must(os.Rename(in.home+"/new", in.dir))
	})
	for i := range 20 { // faster than anybody looks
		remove(in.dir)
		in.write(fmt.Sprint("sub/r", i, ".txt"), "x")
	}
	round("root-often", func() {})
	in.stop()
}

// TestNewFolders fills new folders within new folders faster than they can be
// watched. No rescan helps.
func TestNewFolders(t *testing.T) {
	t.Parallel()
	in := newIntake(t, fastDir(t))
	in.start("WATCHER_RESCAN=1h")
	texts := map[string]string{}
	for i := range 60 {
		job := strings.Repeat(fmt.Sprint("d", i, "/"), 1+i%4) + "a"
		texts[job] = in.drop(job)
	}
	for job, text := range texts {
		in.answered(job, text)
	}
	in.stop()
}

// TestOverflow drops prompts after the kernel's queue of events is full, as
// nobody reads it. No rescan helps.
func TestOverflow(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Fatal(err)
	}
	most, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	in := newIntake(t, fastDir(t))
	in.start("WATCHER_RESCAN=1h")
	in.answered("sub/before", in.drop("sub/before"))
	in.must(in.cmd.Process.Signal(syscall.SIGSTOP))
	for n := 0; n <= most+100; n += 2 { // each time two events
		in.must(os.Mkdir(in.path(".x"), 0o755))
		in.must(os.Remove(in.path(".x")))
	}
	texts := map[string]string{}
	for _, job := range []string{"a", "sub/b", "new/deep/c"} {
		texts[job] = in.drop(job)
	}
	in.must(in.cmd.Process.Signal(syscall.SIGCONT))
	for job, text := range texts {
		in.answered(job, text)
	}
	in.stop()
}
