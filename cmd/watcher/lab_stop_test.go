//go:build crash

package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"watcher/qwen"
)

var stopped = flag.Duration("stopped", 130*time.Second, "let a program stand still for so long")

// TestStopped lets a program stand still, as a suspended one does, for longer
// than the grace time: before its address is kept, between that and the
// release, and after it. Meanwhile others try the same job. When it wakes, it
// must not send what may be another's by then.
func TestStopped(t *testing.T) {
	for _, step := range []string{"qwen:" + qwen.StepPressed, "qwen:" + qwen.StepHeld, "qwen:" + qwen.StepVerified,
		"state:link:1", "state:linked:1", "qwen:" + qwen.StepCommitted, "qwen:" + qwen.StepReleased, "qwen:" + qwen.StepHeaders} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.browser = ""
			text := strings.TrimSpace(d.unique("What sleeps at %s?", step))
			d.drop("job", text)
			cmd := d.command([]string{"WATCHER_TEST_STOP_AT=" + step}, "generate", "--wait=60s", "job.prompt")
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			d.awaitStop(cmd.Process.Pid)
			woken := time.Now().Add(*stopped) // how long it sleeps is what is tried, not what is waited for
			second := d.secondProfile()
			for time.Now().Before(woken) {
				for _, profile := range []string{d.home + "/profile", second} {
					code, out := d.run([]string{"WATCHER_PROFILE=" + profile}, "generate", "--wait=3s", "job.prompt")
					if code != codeInProgress && code != codeQueued && code != codeDone {
						t.Errorf("exit code %d\n%s", code, out)
					}
				}
			}
			if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // the code hangs on who was first
			d.finishAll([]string{d.home + "/profile", second}, []string{"job"})
			d.once(text)
			d.answered("job", text)
			d.endPause()
			d.drop("next", d.unique("Who tidies up after %s?", step))
			d.finishAll([]string{d.home + "/profile"}, []string{"next"})
			d.tidyButTemps()
			if t.Failed() {
				t.Logf("the one that slept said:\n%s", out.String())
			}
		})
	}
}

// awaitStop waits until a process stands still.
func (d *desk) awaitStop(pid int) {
	d.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			d.t.Fatal(err)
		}
		if _, after, _ := strings.Cut(string(b), ") "); strings.HasPrefix(after, "T") {
			return
		}
		if time.Now().After(end) {
			d.t.Fatalf("process %d does not stand still: %s", pid, b)
		}
	}
}
