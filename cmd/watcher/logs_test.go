package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/rs/zerolog"
)

// stuck is a writer that takes nothing until it is freed.
type stuck struct {
	free chan struct{}
	syncBuffer
}

func (s *stuck) Write(p []byte) (int, error) { <-s.free; return s.syncBuffer.Write(p) }

// TestQueueNeverWaits: a writer that hangs costs lines, and the number of those
// is told once it goes on.
func TestQueueNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &stuck{free: make(chan struct{})}
		q := startQueue(out, jsonNote)
		const lines = 3 * queueLines
		for i := range lines {
			if _, err := fmt.Fprintf(q, "line %d\n", i); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				synctest.Wait() // the writer hangs with it
			}
		}
		close(out.free)
		synctest.Wait()
		fmt.Fprintln(q, "the last one")
		q.close()
		got := out.String()
		kept := strings.Count(got, "line ")
		if kept != queueLines+1 || !strings.HasPrefix(got, "line 0\n") || !strings.HasSuffix(got, "the last one\n") {
			t.Errorf("%d lines kept", kept)
		}
		if n := strings.Count(got, "log lines were lost"); n != 1 || !strings.Contains(got, fmt.Sprintf(`"count":%d`, lines-kept)) {
			t.Errorf("%d lines of %d kept; told %d times: %.300s", kept, lines, n, got[strings.Index(got, "{"):])
		}
	})
}

// TestQueueEndsInTime: the end of the program doesn't wait for a writer that
// hangs for good.
func TestQueueEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &stuck{free: make(chan struct{})}
		q := startQueue(out, jsonNote)
		fmt.Fprintln(q, "a line")
		began := time.Now()
		q.close()
		if took := time.Since(began); took != queueFarewell {
			t.Errorf("it took %v", took)
		}
		close(out.free)
	})
}

// TestQueueOfABrokenWriter: errors stop nothing, and are counted.
func TestQueueOfABrokenWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &flaky{broken: true}
		q := startQueue(out, jsonNote)
		for range 5 {
			fmt.Fprintln(q, "lost")
		}
		synctest.Wait()
		out.mend()
		fmt.Fprintln(q, "kept")
		q.close()
		if got := out.String(); !strings.Contains(got, `"count":5`) || strings.Contains(got, "lost\n") || !strings.HasSuffix(got, "kept\n") {
			t.Errorf("%q", got)
		}
	})
}

type flaky struct {
	mu     sync.Mutex
	broken bool
	bytes.Buffer
}

func (f *flaky) mend() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = false
}

func (f *flaky) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		return 0, syscall.EPIPE
	}
	return f.Buffer.Write(p)
}

func TestLogFileMoves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	say := func(l *logFile, text string) {
		t.Helper()
		if _, err := l.Write([]byte(text + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(path, want string) {
		t.Helper()
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%s holds %q, %v; want %q", filepath.Base(path), b, err, want)
		}
	}
	if err := os.WriteFile(path, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := openLogFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	say(l, "one")
	holds(path, "before\none\n")

	// logrotate's way: rename.
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	say(l, "two")
	holds(path, "two\n")
	holds(path+".1", "before\none\n")

	// Its other way: copytruncate. Without O_APPEND there would be a hole now.
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	say(l, "three")
	holds(path, "three\n")

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	say(l, "four")
	holds(path, "four\n")

	// Where no new one can be made, the old one goes on.
	if err := os.Rename(path, path+".2"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	say(l, "five")
	holds(path+".2", "four\nfive\n")
	if err := l.reopen(); err == nil {
		t.Error("a folder was opened as a log")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	say(l, "six")
	holds(path, "six\n")
}

func TestLogFileRefused(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "missing", "log"), fifo} { // a FIFO that nobody reads
		if _, err := openLogFile(path); !isUsage(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestLogFileTorn: on a disk that was full, a line that was cut is ended before
// the next one begins.
func TestLogFileTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := openLogFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if _, err := l.Write([]byte("half a li")); err != nil {
		t.Fatal(err)
	}
	l.torn = true // as after a short write
	if _, err := l.Write([]byte("whole\n")); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); string(b) != "half a li\nwhole\n" || l.torn {
		t.Errorf("%q, torn: %v", b, l.torn)
	}
}

// TestJournalFields: what the journal gets of a line.
func TestJournalFields(t *testing.T) {
	var message string
	var prio journal.Priority
	var got map[string]string
	fail := errors.New("no journal")
	var answer error
	w := journalWriter{func(m string, p journal.Priority, f map[string]string) error {
		message, prio, got = m, p, f
		return answer
	}}
	log := zerolog.New(w).With().Timestamp().Logger()
	log.Warn().Str("job", "/in/a").Str("class", "login").Str("job_quoted", "x").Int("count", 3).Msg("paused")
	want := map[string]string{"SYSLOG_IDENTIFIER": "watcher", "WATCHER_JOB": "/in/a", "WATCHER_CLASS": "login",
		"WATCHER_JOB_QUOTED": "x", "WATCHER_COUNT": "3"}
	if message != "paused class=login count=3 job=/in/a job_quoted=x" || prio != journal.PriWarning || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, %v, %v", message, prio, got)
	}
	for level, want := range map[zerolog.Level]journal.Priority{zerolog.DebugLevel: journal.PriDebug, zerolog.InfoLevel: journal.PriInfo,
		zerolog.ErrorLevel: journal.PriErr, zerolog.FatalLevel: journal.PriErr} {
		if p := priority(level.String()); p != want {
			t.Errorf("%v has priority %v", level, p)
		}
	}
	answer = fail
	if _, err := w.Write([]byte(`{"level":"info"}`)); !errors.Is(err, fail) {
		t.Errorf("a journal that fails: %v", err)
	}
	if _, err := w.Write([]byte("no JSON")); err == nil {
		t.Error("what is no line was taken")
	}
}

// logLines are the lines of a JSON log that say this.
func logLines(t *testing.T, text, message string) (found []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if fields["message"] == message {
			found = append(found, fields)
		}
	}
	return found
}

// TestReopenOnHangup: SIGHUP opens the log anew, and ends nothing.
func TestReopenOnHangup(t *testing.T) {
	t.Parallel()
	in := newIntake(t, fastDir(t))
	log := filepath.Join(in.home, "log")
	in.launch("WATCHER_LOG_FILE=" + log)
	read := func(path string) string {
		b, _ := os.ReadFile(path) // "" until it is there
		return string(b)
	}
	in.until("it watches", func() bool { return strings.Contains(read(log), `"watching"`) })
	in.must(os.Rename(log, log+".1"))
	in.must(in.cmd.Process.Signal(syscall.SIGHUP))
	in.until("the new log", func() bool { return len(logLines(t, read(log), "log file opened again")) == 1 })
	text := in.text("a", 1, 1)
	in.write("a.prompt", text)
	in.answered("a", text)
	in.stop()
	if n := len(logLines(t, read(log), "answered")); n != 1 {
		t.Errorf("%d answers in the new log\n%s", n, read(log))
	}
	if in.out.String() != "" {
		t.Errorf("standard error has %q", in.out)
	}
}
