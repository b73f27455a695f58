package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// surroundings are what a daemon may be started in, or get into, without a
// service manager. None of it may stop or hang the work.
var surroundings = map[string]struct {
	wrap     []string
	settings []string
	with     func(in *intake, cmd *exec.Cmd)
	then     func(in *intake) // after the first answer
}{
	"all streams closed": {wrap: []string{"sh", "-c", `exec "$@" <&- >&- 2>&-`, "sh"}},
	"a full disk for standard error": {wrap: []string{"sh", "-c", `exec "$@" >/dev/full 2>&1`, "sh"},
		settings: []string{"WATCHER_LOG_LEVEL=debug"}},
	"a full disk for the log": {settings: []string{"WATCHER_LOG_FILE=/dev/full", "WATCHER_LOG_LEVEL=debug"}},
	"a reader that went away": {with: func(in *intake, cmd *exec.Cmd) { intoPipe(in, cmd, true) }},
	"a reader that stopped":   {with: func(in *intake, cmd *exec.Cmd) { intoPipe(in, cmd, false) }},
	"cron":                    {wrap: []string{"env", "-u", "HOME", "-u", "TMPDIR", "PATH=/usr/bin:/bin", "setsid"}},
	"nohup": {wrap: []string{"nohup"}, then: func(in *intake) {
		in.must(in.cmd.Process.Signal(syscall.SIGHUP))
	}},
	"a terminal that closes": {with: onTerminal, then: func(in *intake) {
		in.must(in.terminal.Close()) // the kernel sends SIGHUP, and each write fails
	}},
}

// TestSurvives drops a prompt in each of the surroundings, and another one
// later: both are answered, each sent once, and the daemon ends in order.
func TestSurvives(t *testing.T) {
	t.Parallel()
	for name, c := range surroundings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := newIntake(t, fastDir(t))
			in.wrap = c.wrap
			if c.with != nil {
				in.with = func(cmd *exec.Cmd) { c.with(in, cmd) }
			}
			in.launch(c.settings...)
			first := in.text("first", 1, 1)
			in.write("first.prompt", first)
			in.answered("first", first)
			if c.then != nil {
				c.then(in)
			}
			second := in.text("second", 1, 1)
			in.write("second.prompt", second)
			in.answered("second", second)
			in.stop()
			for _, file := range []string{"first.prompt", "first.md", "first.md.url", filepath.Join("..", "profile", "pace")} {
				if b, err := os.ReadFile(in.path(file)); err != nil || strings.Contains(string(b), `"level"`) {
					t.Errorf("%s: a log line went into it, or %v", file, err)
				}
			}
		})
	}
}

// intoPipe has the daemon write into a pipe: one without a reader, or one whose
// reader has not read for a while, so that it is full.
func intoPipe(in *intake, cmd *exec.Cmd, broken bool) {
	r, w, err := os.Pipe()
	in.must(err)
	in.t.Cleanup(func() { w.Close(); r.Close() })
	cmd.Stdout, cmd.Stderr = w, w
	if broken {
		in.must(r.Close())
		return
	}
	fd := w.Fd() // it blocks from now on, as the daemon's will
	size, err := unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0)
	in.must(err)
	if n, err := unix.Write(int(fd), make([]byte, size)); n != size || err != nil {
		in.t.Fatalf("fill the pipe: %d of %d, %v", n, size, err)
	}
}

// onTerminal starts the daemon in the foreground of a terminal of its own, as
// the leader of its session. Nobody reads what it writes there.
func onTerminal(in *intake, cmd *exec.Cmd) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	in.must(err)
	in.t.Cleanup(func() { master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	in.must(err)
	in.must(unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	in.must(err)
	in.t.Cleanup(func() { slave.Close() })
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	in.terminal = master
}

// TestBareSurroundings is the whole program, browser and all, as cron's @reboot
// may start it: no home, no terminal, no streams, and hardly a PATH.
func TestBareSurroundings(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	text := strings.TrimSpace(d.unique("From nowhere, at %d", time.Now().UnixNano()))
	d.drop("job", text)
	r := &daemon{desk: d, cmd: d.command(nil, "run", d.dir), out: &syncBuffer{}}
	r.cmd.Args = append([]string{"sh", "-c", `exec "$@" <&- >&- 2>&-`, "sh", r.cmd.Path}, r.cmd.Args[1:]...)
	r.cmd.Path = "/bin/sh"
	r.cmd.Dir = "/"
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	bare := []string{"PATH=/usr/bin:/bin"}
	for _, v := range r.cmd.Env {
		if strings.HasPrefix(v, "WATCHER_") {
			bare = append(bare, v)
		}
	}
	r.cmd.Env = bare
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			_ = r.cmd.Process.Kill()
			_ = r.cmd.Wait()
		}
	})
	r.until("the answer", func() bool { return d.exists("job.md") })
	d.once(text)
	d.answered("job", text)
	if code := r.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
	d.tidy()
}
