package main

import (
	"bytes"
	"io"
	"sync/atomic"
	"time"
)

// logQueue stands between the work and where its log goes. A write never
// waits: a reader that stopped, a terminal that was frozen or a disk that hangs
// cost lines, not work. How many were lost is said as soon as a line gets
// through again.
type logQueue struct {
	out   io.Writer
	notes func(lost int64) []byte // the line about lost ones

	lines chan []byte
	lost  atomic.Int64
	quit  chan struct{}
	ended chan struct{}
}

// How many lines wait for a slow writer, and how long the end of the program
// does.
const (
	queueLines    = 1024
	queueFarewell = 2 * time.Second
)

// startQueue begins to write to out. close ends it.
func startQueue(out io.Writer, notes func(lost int64) []byte) *logQueue {
	q := &logQueue{out: out, notes: notes,
		lines: make(chan []byte, queueLines), quit: make(chan struct{}), ended: make(chan struct{})}
	go q.run()
	return q
}

// Write takes over a copy. It always succeeds.
func (q *logQueue) Write(p []byte) (int, error) {
	select {
	case q.lines <- bytes.Clone(p):
	default:
		q.lost.Add(1)
	}
	return len(p), nil
}

// close writes what waits, unless that takes too long: the rest is given up
// then, and with it the goroutine, for the program ends.
func (q *logQueue) close() {
	close(q.quit)
	select {
	case <-q.ended:
	case <-time.After(queueFarewell):
	}
}

func (q *logQueue) run() {
	defer close(q.ended)
	for {
		select {
		case p := <-q.lines:
			q.put(p)
			continue
		default:
		}
		select {
		case p := <-q.lines:
			q.put(p)
		case <-q.quit:
			if len(q.lines) == 0 {
				return
			}
		}
	}
}

// put writes one line, and before it how many were lost.
func (q *logQueue) put(p []byte) {
	if n := q.lost.Load(); n > 0 {
		if _, err := q.out.Write(q.notes(n)); err != nil {
			q.lost.Add(1)
			return
		}
		q.lost.Add(-n)
	}
	if _, err := q.out.Write(p); err != nil {
		q.lost.Add(1)
	}
}
