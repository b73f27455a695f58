package qwen_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

// TestFigures prints what a browser costs with the program's flags: the start,
// the memory, and the work of a page with a timer and an animation, let run and
// frozen. The figures are for docs/browser.md; only what has no doubt is demanded.
func TestFigures(t *testing.T) {
	if !*every {
		return // it watches browsers that do nothing
	}
	const span = 20 * time.Second
	for name, path := range map[string]string{"chromium": "", "headless-shell": lightPath()} {
		s, err := open(qwentest.ModeHTTP, brisk, t.TempDir(), func(o *qwen.Options) { o.Browser = path })
		if err != nil {
			t.Fatal(err)
		}
		s.login(t)
		address, message := s.mustSend(t, "What does it cost?")
		s.answer(t, address, message)
		var starts []string
		for range 3 {
			s.client.Close()
			began := time.Now()
			s.answer(t, address, message)
			starts = append(starts, fmt.Sprint(time.Since(began).Round(time.Millisecond)))
		}
		if err := s.client.Animate(); err != nil {
			t.Fatal(err)
		}
		memory := s.client.Health().Memory >> 20
		pid := s.browserPid(t)
		work := func() time.Duration {
			before := groupWork(t, pid)
			time.Sleep(span)
			return groupWork(t, pid) - before
		}
		free := work()
		if !s.client.Quiet(time.Minute) {
			t.Error("not frozen")
		}
		frozen := work()
		began := time.Now()
		s.answer(t, address, message)
		t.Logf("%s: start to a chat that is read %v; %d MB; in %v: %v of work, frozen %v; thaw and read %v",
			name, starts, memory, span, free, frozen, time.Since(began).Round(time.Millisecond))
		if frozen >= free {
			t.Errorf("%s: freezing saves nothing", name)
		}
		s.close()
	}
}

// groupWork is the processor time that a process group has used.
func groupWork(t *testing.T, group int) (sum time.Duration) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if err != nil || len(fields) < 13 || fields[2] != strconv.Itoa(group) {
			continue
		}
		for _, f := range fields[11:13] { // user and system, in hundredths of a second
			n, _ := strconv.Atoi(f)
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return sum
}
