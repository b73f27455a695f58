//go:build crash

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFullLogDisk fills the log's disk, a real one: the work goes on, and when
// there is room again the log says how much of it is missing, in whole lines.
func TestFullLogDisk(t *testing.T) {
	in := newIntake(t, fastDir(t))
	disk := filepath.Join(in.home, "logs")
	in.must(os.Mkdir(disk, 0o755))
	in.must(unix.Mount("tmpfs", disk, "tmpfs", 0, "size=16k"))
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	filler := filepath.Join(disk, "filler")
	in.must(os.WriteFile(filler, make([]byte, 8<<10), 0o600))
	log := filepath.Join(disk, "log")
	in.launch("WATCHER_LOG_FILE=" + log)
	texts := map[string]string{}
	for i := range 40 {
		job := fmt.Sprintf("full%02d", i)
		texts[job] = in.drop(job)
	}
	for job, text := range texts {
		in.answered(job, text)
	}
	read := func() string {
		b, err := os.ReadFile(log)
		in.must(err)
		return string(b)
	}
	if n := len(read()); n != 4<<10 && n != 8<<10 {
		t.Fatalf("the log has %d bytes: its disk is not full", n)
	}
	in.must(os.Remove(filler))
	in.answered("later", in.drop("later"))
	in.until("the log goes on", func() bool { return strings.Contains(read(), "/later") })
	in.stop()
	var torn int
	for line := range strings.Lines(read()) {
		if !strings.HasPrefix(line, "{") || !strings.HasSuffix(line, "}\n") {
			torn++
		}
	}
	if torn > 1 || strings.Count(read(), "log lines were lost") != 1 {
		t.Errorf("%d torn lines\n%s", torn, read())
	}
}
