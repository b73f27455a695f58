package qwen

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// orphanPatience is how long a browser of a dead holder gets to end by itself
// (its pipe is broken and its parent dead, so milliseconds are usual).
const orphanPatience = 10 * time.Second

// endOrphan waits until no browser of an earlier holder is alive: it would
// still be able to send. The browser inherits the descriptor of the file
// alive, so the kernel's lock on it tells, whatever became of its parent.
func (p *Profile) endOrphan() error {
	path := filepath.Join(p.dir, "alive")
	deadline := time.Now().Add(orphanPatience)
	for {
		alive, err := tryLock(path)
		if err == nil {
			p.alive = alive
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return fail(KindDisk, "lock the profile "+p.dir, "%w", err)
		}
		if time.Now().After(deadline) {
			return fail(KindBrowser, "use the profile "+p.dir,
				"a browser of an earlier run is still alive and does not end (see %s)", path)
		}
		p.killRecorded(path)
		time.Sleep(20 * time.Millisecond)
	}
}

// killRecorded ends the browser whose pid the file alive names, if that
// process is still a browser of this very profile.
func (p *Profile) killRecorded(path string) {
	b, err := os.ReadFile(path)
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid < 2 || !p.isOurs(pid) {
		return
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// isOurs reports whether the process is a browser on this profile's folder.
func (p *Profile) isOurs(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.Contains(string(b), "\x00--user-data-dir="+p.browserDir()+"\x00")
}

// recordBrowser notes the browser's pid for a later holder.
func (p *Profile) recordBrowser(pid int) {
	_ = p.alive.Truncate(0)
	_, _ = p.alive.WriteAt([]byte(strconv.Itoa(pid)+"\n"), 0)
}
