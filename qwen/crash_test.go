package qwen_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

// browserPid is the pid of the stage's browser, read where a later holder of
// the profile would read it, and only if that process is a browser of this
// very profile.
func (s *stage) browserPid(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.profile.Dir(), "alive"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid < 2 || !strings.Contains(commandLine(pid), "--user-data-dir="+s.profile.Dir()+"/chromium\x00") {
		t.Fatalf("%q is no browser of %s", b, s.profile.Dir())
	}
	return pid
}

func commandLine(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return string(b)
}

// descendants are the pids below a process.
func descendants(t *testing.T, root int) []int {
	t.Helper()
	parents := map[int]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		_, rest, _ := strings.Cut(string(b), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 {
			parents[pid], _ = strconv.Atoi(fields[1])
		}
	}
	var below []int
	for pid := range parents {
		for up := parents[pid]; up > 1; up = parents[up] {
			if up == root {
				below = append(below, pid)
				break
			}
		}
	}
	return below
}

// killBrowser kills the stage's browser.
func (s *stage) killBrowser(t *testing.T) {
	s.client.Forgive()
	syscall.Kill(s.browserPid(t), syscall.SIGKILL)
}

// killPage kills the processes of the stage's pages.
func (s *stage) killPage(t *testing.T) {
	s.client.Forgive()
	for _, pid := range descendants(t, s.browserPid(t)) {
		if strings.Contains(commandLine(pid), "--type=renderer") {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// killNetwork kills the process that carries the browser's connections.
func (s *stage) killNetwork(t *testing.T) {
	s.client.Forgive()
	for _, pid := range descendants(t, s.browserPid(t)) {
		if strings.Contains(commandLine(pid), "network.mojom.NetworkService") {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// consistent demands that what Send says and what the site has agree.
func (s *stage) consistent(t *testing.T, prompt, address, message string, err error) {
	t.Helper()
	got := s.site.Find(prompt)
	e := fault(err)
	switch {
	case got.Posted > 1 || got.Accepted > 1:
		t.Errorf("posted %d, accepted %d", got.Posted, got.Accepted)
	case err == nil && got.Accepted != 1:
		t.Errorf("Send succeeded, the site accepted %d", got.Accepted)
	case err != nil && e == nil:
		t.Errorf("%v is not of the driver", err)
	case err != nil && !e.MayHaveLeft() && got.Posted != 0:
		t.Errorf("%v promises that nothing left; posted %d", err, got.Posted)
	case err == nil && (address == "" || message == ""):
		t.Errorf("sent as %q to %q", message, address)
	}
	if len(got.Elsewhere) > 0 {
		t.Errorf("the text also went to %v", got.Elsewhere)
	}
}

// TestCrashAtEveryStep: the browser, the page, or the network process dies at
// each step of a send. What Send says agrees with what the site has, and the
// next send works.
func TestCrashAtEveryStep(t *testing.T) {
	t.Parallel()
	steps := map[string][]string{
		"browser": {qwen.StepHeld, qwen.StepReleased},
		"page":    {qwen.StepCommitted},
		"network": {qwen.StepReleased},
	}
	for what, kill := range map[string]func(*stage, *testing.T){
		"browser": (*stage).killBrowser, "page": (*stage).killPage, "network": (*stage).killNetwork,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := onShared(t, map[string]string{"browser": "h1", "page": "h2", "network": "http"}[what], busy())
			s.client.Close() // in order: Chromium writes its cookies half a minute late, or then
			for round := range *rounds {
				for _, step := range qwen.Steps {
					if leftOut(step, steps[what]...) {
						continue
					}
					prompt := fmt.Sprintf("Round %d: the %s dies at the step %s.", round, what, step)
					reached, at := false, time.Now()
					s.onStep(func(name string) {
						if name == step {
							reached, at = true, time.Now()
							kill(s, t)
						}
					})
					address, message, err := s.send(t.Context(), prompt)
					s.onStep(nil)
					if !reached {
						t.Fatalf("%s is not reached: %v", step, err)
					}
					if took := time.Since(at); took > 40*time.Second {
						t.Errorf("%s: Send came back after %v", step, took)
					}
					t.Logf("%s: %v", step, err)
					s.consistent(t, prompt, address, message, err)
				}
			}
			s.mustSend(t, "After the last crash of the "+what+" all is well.")
		})
	}
}

// TestCancelAtEveryStep: until the address is kept a cancelled send leaves
// nothing; after that it is finished.
func TestCancelAtEveryStep(t *testing.T) {
	t.Parallel()
	s := onLight(t, "h2", busy())
	committed := false
	for _, step := range qwen.Steps {
		committed = committed || step == qwen.StepCommitted
		prompt := "Cancelled at the step " + step + ", this prompt."
		ctx, cancel := context.WithCancel(t.Context())
		s.onStep(func(name string) {
			if name == step {
				cancel()
			}
		})
		address, message, err := s.send(ctx, prompt)
		s.onStep(nil)
		got := s.site.Find(prompt)
		s.consistent(t, prompt, address, message, err)
		// At "held" and "verified" the commit is a moment away; both ends are right.
		if early := !committed && step != qwen.StepHeld && step != qwen.StepVerified; early && (err == nil || got.Posted != 0) {
			t.Errorf("%s: %v, posted %d", step, err, got.Posted)
		}
		if committed && err != nil {
			t.Errorf("%s: %v, though the address was kept", step, err)
		}
		cancel()
	}
}

// TestPanicInCommit: the caller's code breaks while a request is held. Nothing
// leaves, and the client goes on.
func TestPanicInCommit(t *testing.T) {
	t.Parallel()
	s := onLight(t, "h1", busy())
	prompt := "The caller breaks down while this is held."
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is swallowed")
			}
		}()
		s.client.Send(t.Context(), qwen.Outgoing{Prompt: prompt}, func(string, string) error { panic("broken") })
	}()
	s.mustSend(t, "After the caller's breakdown all is well.")
	if got := s.site.Find(prompt); got.Posted != 0 || len(got.Elsewhere) > 0 {
		t.Errorf("the site has it: %+v", got)
	}
}

// TestSlowCommit: an address that takes long to keep is not released, as the
// folder may be another by then.
func TestSlowCommit(t *testing.T) {
	t.Parallel()
	s := onLight(t, "http", brisk)
	prompt := "The disk takes its time with this address."
	_, err := s.client.Send(t.Context(), qwen.Outgoing{Prompt: prompt}, func(string, string) error { time.Sleep(5100 * time.Millisecond); return nil })
	if kind(err) != qwen.KindDisk || fault(err).MayHaveLeft() || s.site.Find(prompt).Posted != 0 {
		t.Errorf("%v, %+v", err, s.site.Find(prompt))
	}
}

// TestStartsLeaveNothing: many starts and stops, half of the browsers killed,
// leave no process and no file behind. The profile's path is too long for the
// browser's socket, so its temporary folder is in /tmp.
func TestStartsLeaveNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 20))
	s, err := open(qwentest.ModeHTTP, brisk, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	sum := sha256.Sum256([]byte(filepath.Join(dir, "tmp")))
	temp := "/tmp/watcher-" + hex.EncodeToString(sum[:6])
	for i := range 4 * *rounds {
		if _, err := s.client.Owner(t.Context()); kind(err) != qwen.KindLogin {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) == 0 {
			t.Errorf("the browser's files are not in %s: %v, %v", temp, left, err)
		}
		if i%2 == 0 {
			s.killBrowser(t)
		}
		s.client.Close()
		for deadline := time.Now().Add(10 * time.Second); running(t, dir) > 0; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d processes stay", running(t, dir))
			}
		}
		if _, err := os.Lstat(temp); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s stays: %v", temp, err)
		}
	}
}

// running counts the processes whose command line names a folder.
func running(t *testing.T, dir string) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && strings.Contains(commandLine(pid), dir) {
			n++
		}
	}
	return n
}
