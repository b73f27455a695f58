package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// daemon is a running 'watcher run' of a desk.
type daemon struct {
	*desk
	cmd *exec.Cmd
	out *syncBuffer
}

// syncBuffer is a buffer that two goroutines may use.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (d *desk) start(extra ...string) *daemon {
	d.t.Helper()
	r := &daemon{desk: d, cmd: d.command(extra, "run", d.dir), out: &syncBuffer{}}
	r.cmd.Stdout, r.cmd.Stderr = r.out, r.out
	if err := r.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			_ = r.cmd.Process.Kill()
			_ = r.cmd.Wait()
		}
	})
	return r
}

// end sends the signal and returns the exit code; -1 after a kill.
func (r *daemon) end(s syscall.Signal) int {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
	_ = r.cmd.Wait() // its code says all
	return r.cmd.ProcessState.ExitCode()
}

// until waits for something that the program does, as long as it lives.
func (r *daemon) until(what string, done func() bool) {
	r.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("%s does not happen\n%s", what, r.out)
		}
	}
}

func (d *desk) exists(name string) bool {
	_, err := os.Stat(d.path(name))
	return err == nil
}

// TestDaemonMany drops many prompts at once: all are answered, each sent once,
// in the order of their names.
func TestDaemonMany(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	texts := map[string]string{}
	var names []string
	prompts := 5
	if *every {
		prompts = 20
	}
	for i := range prompts {
		name := fmt.Sprintf("p%02d", i)
		names = append(names, name)
		texts[name] = strings.TrimSpace(d.unique("Number %d of many", i))
	}
	for _, i := range rand.Perm(len(names)) {
		d.drop(names[i], texts[names[i]])
	}
	r := d.start()
	for _, name := range names {
		r.until(name+" is answered", func() bool { return d.exists(name + ".md") })
	}
	if code := r.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d after SIGTERM\n%s", code, r.out)
	}
	var times []time.Time
	for _, name := range names {
		d.once(texts[name])
		d.answered(name, texts[name])
		times = append(times, d.site.Find(texts[name]).Times[0])
	}
	if !slices.IsSortedFunc(times, time.Time.Compare) {
		t.Errorf("not sent in the order of the names: %v", times)
	}
	d.tidy()
}

// TestStartStop starts and stops the daemon often while prompts are sent,
// every other time by kill -9: no process, temporary file or folder is left
// anywhere, every prompt is sent once, and the login survives.
func TestStartStop(t *testing.T) {
	t.Parallel()
	starts := 2
	if *every {
		starts = 30
	}
	d := newDesk(t)
	texts := map[string]string{}
	for i := range starts {
		name := fmt.Sprintf("p%02d", i)
		texts[name] = strings.TrimSpace(d.unique("Start number %d", i))
		d.drop(name, texts[name])
		r := d.start()
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Millisecond) // anywhere in a send
		if i%2 == 0 {
			r.end(syscall.SIGKILL)
		} else if code := r.end(syscall.SIGTERM); code != 0 {
			t.Errorf("exit code %d after SIGTERM\n%s", code, r.out)
		}
	}
	r := d.start()
	for name, text := range texts {
		r.until(name+" is answered", func() bool { return d.exists(name + ".md") })
		d.once(text)
		d.answered(name, text)
	}
	if code := r.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d after SIGTERM\n%s", code, r.out)
	}
	d.tidy()
	if left := d.litter(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// litter lists what the browser or the program left in its temporary folders.
// The folder for temporary files is the desk's own, as other tests run beside.
func (d *desk) litter() []string {
	d.t.Helper()
	var found []string
	for _, pattern := range []string{"tmp/*", "tmp/.*", "profile/tmp/*", "profile/tmp/.*", "profile/chromium/Singleton*"} {
		paths, err := filepath.Glob(filepath.Join(d.home, pattern))
		if err != nil {
			d.t.Fatal(err)
		}
		found = append(found, paths...)
	}
	return found
}

// TestSecondSignal quits at once, even in the middle of a send.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	text := strings.TrimSpace(d.unique("Two signals"))
	d.drop("job", text)
	r := d.start()
	r.until("the send begins", func() bool { return len(d.browsers()) > 0 })
	_ = r.cmd.Process.Signal(syscall.SIGINT)
	_ = r.cmd.Process.Signal(syscall.SIGINT)
	_ = r.cmd.Wait()
	if code := r.cmd.ProcessState.ExitCode(); code != 130 && code != 0 {
		t.Errorf("exit code %d\n%s", code, r.out)
	}
	d.finish("job")
	d.once(text)
	d.tidy()
}
