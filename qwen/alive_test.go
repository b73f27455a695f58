package qwen_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"watcher/qwen/qwentest"
)

// TestAlive: a browser that is stopped gives no answer, one that was ended is no
// matter, and what it uses is told.
func TestAlive(t *testing.T) {
	t.Parallel()
	s := newStage(t, qwentest.ModeHTTP, qwentest.Options{}, nil)
	alive := func(limit time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		return s.client.Alive(ctx)
	}
	if err := alive(time.Minute); err != nil || s.client.Health().Running || s.client.Health().Starts != 0 {
		t.Errorf("before the start: %v, %+v", err, s.client.Health())
	}
	_, _ = s.client.Owner(t.Context()) // nobody is logged in, but a browser runs
	h := s.client.Health()
	if !h.Running || h.Starts != 1 || h.Memory < 30<<20 || h.Memory > 8<<30 {
		t.Errorf("%+v", h)
	}
	if err := alive(time.Minute); err != nil {
		t.Errorf("a browser that runs: %v", err)
	}
	b, err := os.ReadFile(filepath.Join(s.profile.Dir(), "alive"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	signal := func(sig syscall.Signal) {
		if err := syscall.Kill(-pid, sig); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	if err := alive(300 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("a browser that is stopped: %v", err)
	}
	signal(syscall.SIGCONT)
	if err := alive(time.Minute); err != nil {
		t.Errorf("one that goes on: %v", err)
	}
	signal(syscall.SIGKILL)
	for end := time.Now().Add(time.Minute); s.client.Health().Running; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a browser that was killed still counts as running")
		}
	}
	if err := alive(time.Minute); err != nil {
		t.Errorf("one that was killed: %v", err)
	}
	_, _ = s.client.Owner(t.Context())
	if h := s.client.Health(); !h.Running || h.Starts != 2 {
		t.Errorf("after the next start: %+v", h)
	}
}
