package qwen

import (
	"strings"
	"sync"
)

// tail keeps the last bytes of the browser's output, for errors.
type tail struct {
	mu    sync.Mutex
	buf   []byte
	limit int
}

// Write keeps the end of what was written so far.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.limit; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// indented is what the browser said of its end, ready to follow an error's
// text: the fatal lines if there are any, else the last ones.
func (t *tail) indented() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var fatal, last []string
	for line := range strings.Lines(string(t.buf)) {
		line = "\n  " + strings.TrimSpace(line)
		if strings.Contains(line, "FATAL") || strings.Contains(line, "sandbox") {
			fatal = append(fatal, line)
		}
		last = append(last, line)
	}
	if len(fatal) > 0 {
		last = fatal
	}
	return strings.Join(last[max(0, len(last)-5):], "")
}

// String is what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
