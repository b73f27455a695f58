package main

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"watcher/qwen"
	"watcher/state"
	"watcher/watch"
)

// The test binary is the program too, so that tests run real processes.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"watcher": func() {
		signalAt(os.Getenv("WATCHER_TEST_DIE_AT"), syscall.SIGKILL)
		signalAt(os.Getenv("WATCHER_TEST_STOP_AT"), syscall.SIGSTOP)
		if ahead, err := time.ParseDuration(os.Getenv("WATCHER_TEST_AHEAD")); err == nil {
			testHooks.now = func() time.Time { return time.Now().Add(ahead) }
		}
		main()
	}})
}

// signalAt arms the process to kill or stop itself at a named step:
// "qwen:held", or "state:link:2" for the second time that step is reached.
func signalAt(where string, signal syscall.Signal) {
	parts := strings.Split(where, ":")
	if len(parts) < 2 {
		return
	}
	nth := int64(1)
	if len(parts) > 2 {
		nth, _ = strconv.ParseInt(parts[2], 10, 64)
	}
	var seen atomic.Int64
	die := func(name string) {
		if name == parts[1] && seen.Add(1) == nth {
			_ = syscall.Kill(os.Getpid(), signal)
			if signal == syscall.SIGKILL {
				select {} // until it arrives
			}
		}
	}
	switch parts[0] {
	case "qwen":
		testHooks.chat = func(o *qwen.Options) { o.Step = die }
	case "state":
		testHooks.agent = func(c *watch.Config) {
			c.DirOptions = append(c.DirOptions, state.WithStep(func(step string) error { die(step); return nil }))
		}
	}
}
