package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestTenCallers: ten generate at once, on one prompt and on ten. Each prompt
// is sent once, and nobody says 1 because another was busy.
func TestTenCallers(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	one := strings.TrimSpace(d.unique("Ten callers on one prompt"))
	d.drop("one", one)
	texts := map[string]string{"one": one}
	files := [][]string{{"one.prompt"}}
	others := 3
	if *every {
		others = 9
	}
	for i := range others {
		name := fmt.Sprintf("n%d", i)
		texts[name] = strings.TrimSpace(d.unique("Ten callers, prompt %d", i))
		d.drop(name, texts[name])
		files = append(files, []string{name + ".prompt"})
	}
	var callers sync.WaitGroup
	codes := make([]int, 10)
	outputs := make([]string, len(codes))
	d.command(nil) // makes the link to the program before ten want it
	for i := range codes {
		callers.Go(func() {
			codes[i], outputs[i] = d.run(nil, append([]string{"generate"}, files[i%len(files)]...)...)
		})
	}
	callers.Wait()
	for i, code := range codes {
		if code != codeQueued && code != codeInProgress && code != codeDone {
			t.Errorf("caller %d: exit code %d\n%s", i, code, outputs[i])
		}
	}
	if !slices.Contains(codes, codeQueued) {
		t.Errorf("nobody says 42: %v", codes)
	}
	for name, text := range texts {
		d.finish(name)
		d.once(text)
		d.answered(name, text)
	}
	d.tidy()
}

// standsStill reports that no thread of a process runs any more. The signal reaches
// one thread first, and the others go on for a while when the machine is busy.
func standsStill(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("process %d is gone: %v", pid, err)
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil || !strings.Contains(string(stat), ") T ") {
			return false
		}
	}
	return true
}

// TestStoppedHolder: a holder that is stopped (SIGSTOP) answers nobody; the
// caller says 3 soon and does not wait without limit.
func TestStoppedHolder(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	r := d.start()
	r.until("the daemon listens", func() bool {
		_, err := os.Stat(filepath.Join(d.home, "profile", "socket"))
		return err == nil
	})
	if err := r.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	r.until("the daemon stands still", func() bool { return standsStill(t, r.cmd.Process.Pid) })
	text := strings.TrimSpace(d.unique("Nobody answers"))
	d.drop("job", text)
	code, out := d.run(nil, "generate", "job.prompt")
	if code != codeInProgress || !strings.Contains(out, "does not answer") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if err := r.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	r.until("the daemon goes on", func() bool { return d.exists("job.md") })
	d.once(text)
	r.end(syscall.SIGTERM)
	d.tidy()
}
