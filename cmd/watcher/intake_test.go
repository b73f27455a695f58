package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"watcher/state"
)

// intake is a daemon that watches a folder, with the laboratory's chat: all of
// the program but its browser. It knows every text that may arrive, so that a
// part of one, or a mix of two, is seen at once.
type intake struct {
	t        testing.TB
	site     *labSite
	home     string
	dir      string // what is watched, subfolders too
	bin      string
	wrap     []string // what the daemon is started by, if it is
	user     uint32   // who it runs as, if that is not the test's user
	cmd      *exec.Cmd
	out      *syncBuffer
	with     func(*exec.Cmd) // changes how the daemon is started, if it is set
	terminal *os.File        // the other side of the daemon's terminal, if it has one

	mu      sync.Mutex
	texts   map[string]string // the job of each text that may arrive
	arrived []arrival
}

// arrival is one prompt that the chat was sent.
type arrival struct {
	text string
	at   time.Time
}

// intakeSettle is the settle time of these tests: long enough that a tool's
// next step is usually within it, short enough to wait for.
const intakeSettle = 300 * time.Millisecond

func newIntake(t testing.TB, home string) *intake {
	t.Helper()
	in := &intake{t: t, site: newLabSite(t), home: home, dir: filepath.Join(home, "in"), texts: map[string]string{}}
	in.site.onPost = func(p labPost) {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.arrived = append(in.arrived, arrival{p.Prompt, time.Now()})
	}
	self, err := os.Executable()
	in.must(err)
	in.bin = filepath.Join(home, "watcher")
	in.must(os.Symlink(self, in.bin))
	profile := filepath.Join(home, "profile")
	in.must(os.Mkdir(profile, 0o700))
	in.must(os.WriteFile(filepath.Join(profile, "id"), []byte("00000000000000aa\n"), 0o600))
	in.must(os.Mkdir(in.dir, 0o755))
	return in
}

// fastDir is a temporary folder in memory, if there is one: nearly all the time
// of a send goes into making it durable.
func fastDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "watcher-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (in *intake) must(err error) {
	in.t.Helper()
	if err != nil {
		in.t.Fatal(err)
	}
}

func (in *intake) path(name string) string { return filepath.Join(in.dir, name) }

// text is what a job's prompt holds in one version: it is told from every other
// one, and from a part or a mix, in each line. The last line has no newline.
func (in *intake) text(job string, version, lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "This is line %d of %d of %s, version %d.\n", i+1, lines, job, version)
	}
	return in.expect(job, strings.TrimSuffix(b.String(), "\n"))
}

// expect lets a text arrive, once for its job.
func (in *intake) expect(job, text string) string {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.texts[text] = job
	return text
}

// write makes a file below the folder.
func (in *intake) write(name, content string) {
	in.t.Helper()
	in.must(os.MkdirAll(filepath.Dir(in.path(name)), 0o755))
	in.must(os.WriteFile(in.path(name), []byte(content), 0o644))
}

// start starts the daemon and waits until it watches; settings are further
// variables of its environment.
func (in *intake) start(settings ...string) {
	in.t.Helper()
	in.launch(settings...)
	in.until("the daemon watches", func() bool { return strings.Contains(in.out.String(), `"watching"`) })
}

// launch starts the daemon.
func (in *intake) launch(settings ...string) {
	in.t.Helper()
	args := append(slices.Clone(in.wrap), in.bin, "run", in.dir)
	in.cmd, in.out = exec.Command(args[0], args[1:]...), &syncBuffer{}
	if in.user != 0 {
		in.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: in.user, Gid: in.user}}
	}
	in.cmd.Dir = "/"
	in.cmd.Env = append([]string{
		"HOME=" + in.home, "TMPDIR=" + os.TempDir(), "PATH=" + os.Getenv("PATH"),
		"WATCHER_TEST_CHAT=" + in.site.socket, "WATCHER_SITE=https://chat.example", "WATCHER_MAX_CHARS=0",
		"WATCHER_PROFILE=" + filepath.Join(in.home, "profile"),
		"WATCHER_SETTLE=" + intakeSettle.String(), "WATCHER_RESCAN=5s", "WATCHER_POLL=50ms",
		"WATCHER_SEND_GAP=0s", "WATCHER_IN_FLIGHT=1000", "WATCHER_MAX_CHARS=0", "WATCHER_LOG_FORMAT=json",
	}, settings...)
	in.cmd.Stdout, in.cmd.Stderr = in.out, in.out
	if in.with != nil {
		in.with(in.cmd)
	}
	in.must(in.cmd.Start())
	in.t.Cleanup(in.kill)
}

func (in *intake) kill() {
	if in.cmd != nil && in.cmd.ProcessState == nil {
		_ = in.cmd.Process.Kill()
		_ = in.cmd.Wait()
	}
}

// stop ends the daemon and demands what must be at any time: every prompt that
// arrived is a whole one, and none arrived twice, in whatever version.
func (in *intake) stop() {
	in.t.Helper()
	in.must(in.cmd.Process.Signal(syscall.SIGTERM))
	if err := in.cmd.Wait(); err != nil {
		in.t.Errorf("the daemon: %v\n%s", err, in.out)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	jobs := map[string]int{}
	for _, a := range in.arrived {
		job, whole := in.texts[a.text]
		if !whole {
			in.t.Errorf("%d bytes arrived that are no whole prompt: %.60q ... %.60q", len(a.text), a.text, a.text[max(0, len(a.text)-60):])
			continue
		}
		if jobs[job]++; jobs[job] > 1 {
			in.t.Errorf("%s arrived %d times", job, jobs[job])
		}
	}
}

// until waits for something, without a limit that a slow machine could meet.
func (in *intake) until(what string, done func() bool) {
	in.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			in.t.Fatalf("%s does not happen\n%s", what, in.out)
		}
	}
}

func (in *intake) has(name string) bool {
	_, err := os.Lstat(in.path(name))
	return err == nil
}

// answered waits until a job is done, and demands that the text was sent, and
// that the answer is its own.
func (in *intake) answered(job, text string) {
	in.t.Helper()
	in.until(job+".md", func() bool {
		if in.has(job + ".md.err") {
			in.t.Fatalf("%s failed\n%s", job, in.out)
		}
		return in.has(job + ".md")
	})
	got, err := os.ReadFile(in.path(job + ".md"))
	in.must(err)
	if string(got) != labAnswer(text) {
		in.t.Errorf("%s.md is not the answer to what should have been sent", job)
	}
	if posted, taken := in.site.count(text); posted != 1 || taken != 1 {
		in.t.Errorf("%s was posted %d times and taken %d times", job, posted, taken)
	}
}

// arrivals are the times at which a text was sent.
func (in *intake) arrivals(text string) (times []time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, a := range in.arrived {
		if a.text == text {
			times = append(times, a.at)
		}
	}
	return times
}

// waits reports whether the log says why a job waits.
func (in *intake) waits(job, why string) bool {
	for line := range strings.Lines(in.out.String()) {
		if strings.Contains(line, `"waiting"`) && strings.Contains(line, in.path(job)+`"`) && strings.Contains(line, why) {
			return true
		}
	}
	return false
}

// unsent demands that jobs left no trace in the folder.
func (in *intake) unsent(jobs ...string) {
	in.t.Helper()
	for _, job := range jobs {
		for _, k := range []state.Kind{state.KindMarker, state.KindAnswer, state.KindError} {
			if file := state.Name(job).File(k); in.has(file) {
				in.t.Errorf("there is a %s", file)
			}
		}
	}
}
