package main

import (
	"fmt"
	"os"
	"sync"
	"syscall"
)

// logFile is a log that a person or logrotate may rename, remove or truncate
// at any time: the next line goes to the file that has the name then.
type logFile struct {
	path string

	mu   sync.Mutex
	file *os.File
	torn bool // the last write put down part of a line
}

// openLogFile opens or makes the file. An error is the caller's mistake: later
// ones never stop the work.
func openLogFile(path string) (*logFile, error) {
	l := &logFile{path: path}
	if err := l.reopen(); err != nil {
		return nil, usageError{fmt.Errorf("open the log file: %w", err)}
	}
	return l, nil
}

// Write appends one line.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.moved() {
		_ = l.open() // else the old one is better than none
	}
	if l.torn {
		p = append([]byte{'\n'}, p...)
	}
	n, err := l.file.Write(p)
	if n > 0 {
		l.torn = err != nil
	}
	return n, err
}

// reopen closes the file and opens the one that has the name now. When that
// fails, the old one stays.
func (l *logFile) reopen() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open()
}

// open needs mu. It appends, so that a file that is truncated (logrotate's
// copytruncate) is written from its new end. It doesn't wait for a FIFO's
// reader.
func (l *logFile) open() error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	if l.file != nil {
		_ = l.file.Close() // what it took is all that could be done
	}
	l.file, l.torn = f, false
	return nil
}

// moved reports whether the name belongs to another file, or to none.
func (l *logFile) moved() bool {
	mine, err := l.file.Stat()
	if err != nil {
		return true
	}
	named, err := os.Stat(l.path)
	return os.IsNotExist(err) || err == nil && !os.SameFile(mine, named)
}

// close closes it.
func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.file.Close()
}
