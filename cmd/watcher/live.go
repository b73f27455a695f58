package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"watcher/watch"
)

// live writes to standard error and, on a terminal, keeps one line at its
// bottom that says what is going on. In a pipe there is no such line.
type live struct {
	mu    sync.Mutex
	out   io.Writer
	shown bool // whether there is a line to be kept at all
	line  string
}

// newLive writes to out, which goes to standard error.
func (a *app) newLive(out io.Writer) *live {
	return &live{out: out, shown: terminal(a.stderr) && !a.set.quiet}
}

const eraseLine = "\r\x1b[K"

// Write puts a log line above the live line.
func (l *live) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.line == "" {
		return l.out.Write(p)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%s%s", eraseLine, p, l.line)
	if _, err := l.out.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// progress is the agent's news of one job.
func (l *live) progress(p watch.Progress) {
	if !l.shown {
		return
	}
	text := fmt.Sprintf("%s: %s %s", filepath.Base(p.Job), p.Phase, seconds(p.Elapsed))
	if p.Characters > 0 {
		text += fmt.Sprintf(", %d characters", p.Characters)
	}
	if runes := []rune(text); len(runes) > 78 {
		text = string(runes[:77]) + "…"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line = text
	fmt.Fprint(l.out, eraseLine, text)
}

// clear removes the live line for good.
func (l *live) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.line != "" {
		fmt.Fprint(l.out, eraseLine)
	}
	l.line, l.shown = "", false
}
