package watch_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"watcher/state"
	"watcher/watch"
	"watcher/watch/watchtest"
)

// rig is an agent with a fake chat over a real folder. Most tests run it in a
// bubble of testing/synctest, where time passes only when all wait.
type rig struct {
	t    *testing.T
	dir  string
	chat *watchtest.Fake
	cfg  watch.Config
	log  *lines
	last *watch.Agent // the one that was started last
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, dir: folder(t), chat: watchtest.NewFake(), log: &lines{}}
	r.cfg = watch.Defaults()
	r.cfg.Chat, r.cfg.ID, r.cfg.Roots = r.chat, "00112233", []string{r.dir}
	r.cfg.Events = watchtest.NoEvents
	r.cfg.Log = zerolog.New(r.log)
	return r
}

// folder makes a temporary folder, in memory where it can: what these tests are
// about does not need a disk that keeps it, and fsync takes most of their time.
func folder(t *testing.T) string {
	parent, err := os.MkdirTemp("/dev/shm", "watch-test-")
	if err != nil {
		parent = t.TempDir()
	}
	// With a parent of its own, what a test puts beside it goes, too.
	t.Cleanup(func() { os.RemoveAll(parent) })
	dir := filepath.Join(parent, "d")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// start runs an agent; what it returns stops it and waits for its end.
func (r *rig) start() (a *watch.Agent, stop func()) {
	r.t.Helper()
	a, err := watch.New(r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.last = a
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := a.Run(ctx); err != nil {
			r.t.Error(err)
		}
	})
	return a, func() { cancel(); done.Wait() }
}

// running is start that stops at the end of the test.
func (r *rig) running() *watch.Agent {
	a, stop := r.start()
	r.t.Cleanup(stop)
	return a
}

func (r *rig) path(file string) string { return filepath.Join(r.dir, file) }

func (r *rig) write(file, text string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(r.path(file)), 0o777); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.path(file), []byte(text), 0o666); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) remove(files ...string) {
	r.t.Helper()
	for _, f := range files {
		if err := os.Remove(r.path(f)); err != nil {
			r.t.Fatal(err)
		}
	}
}

// read returns a file's content, "" if there is none.
func (r *rig) read(file string) string {
	r.t.Helper()
	b, err := os.ReadFile(r.path(file))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	return string(b)
}

func (r *rig) has(file string) bool {
	_, err := os.Lstat(r.path(file))
	return err == nil
}

func (r *rig) marker(name string) state.Marker {
	return state.ParseMarker([]byte(r.read(name + ".md.url")))
}

// answered checks that a job is done with the fake's answer to its prompt, and
// that the prompt was taken exactly once.
func (r *rig) answered(name, prompt string) {
	r.t.Helper()
	if got := r.read(name + ".md"); got != watchtest.Answer(prompt) {
		r.t.Errorf("%s.md = %q, want the answer to %q\nlog:\n%s", name, got, prompt, r.log)
	}
	if n := r.chat.Count(prompt); n != 1 {
		r.t.Errorf("the site took %q %d times, want once\nlog:\n%s", prompt, n, r.log)
	}
}

// unsent checks that a job has left no trace.
func (r *rig) unsent(name string) {
	r.t.Helper()
	if r.has(name+".md.url") || r.has(name+".md") || len(r.chat.Accepted()) > 0 {
		r.t.Errorf("%s was sent\nlog:\n%s", name, r.log)
	}
}

// failed checks the class of a .md.err.
func (r *rig) failed(name, class string) state.Failure {
	r.t.Helper()
	f := state.ParseFailure([]byte(r.read(name + ".md.err")))
	if f.Class != class {
		r.t.Errorf("%s.md.err has class %q, want %q\nlog:\n%s", name, f.Class, class, r.log)
	}
	return f
}

// logged counts the log lines that hold all of the words.
func (r *rig) logged(words ...string) (n int) {
next:
	for line := range strings.Lines(r.log.String()) {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue next
			}
		}
		n++
	}
	return n
}

// pass lets time pass in the bubble.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// bubble runs a test of an agent in a bubble.
func bubble(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newRig(t)) })
}

// lines collects a log.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
