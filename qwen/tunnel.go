package qwen

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// tunnel is one connection of the browser, from its request to its end.
type tunnel struct {
	site   bool
	client net.Conn
	cancel context.CancelFunc
	sent   atomic.Int64  // bytes handed to the kernel towards the site
	ended  chan struct{} // closed when it is cut
	once   *once         // of the one tunnel that carries a send; else nil

	mu       sync.Mutex
	upstream net.Conn
	cut      bool
}

// attach gives the tunnel its far end; false when it was cut meanwhile.
func (t *tunnel) attach(upstream net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		upstream.Close()
		return false
	}
	t.upstream = upstream
	return true
}

// close cuts both ends. It is safe to call more than once.
func (t *tunnel) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.cut {
		close(t.ended)
	}
	t.cut = true
	t.cancel()
	t.client.Close()
	if t.upstream != nil {
		t.upstream.Close()
	}
}

// carry copies both ways until either side ends, then cuts the other: a half
// open tunnel has no use here, and a kernel buffer must not outlive it.
func (t *tunnel) carry() {
	done := make(chan struct{}, 2)
	go func() { io.Copy(countingWriter{t}, t.client); done <- struct{}{} }()
	go func() { io.Copy(t.answers(), t.upstream); done <- struct{}{} }()
	<-done
	t.close()
	<-done
}

// answers is where what comes from the site goes.
func (t *tunnel) answers() io.Writer {
	if t.once == nil {
		return t.client
	}
	return answerWriter{t}
}

// answerWriter keeps an answer back for as long as once needs.
type answerWriter struct{ t *tunnel }

func (w answerWriter) Write(b []byte) (int, error) {
	w.t.once.answer()
	return w.t.client.Write(b)
}

// countingWriter counts before it writes, so that a count of 0 is proof.
type countingWriter struct{ t *tunnel }

func (w countingWriter) Write(b []byte) (int, error) {
	if w.t.once != nil {
		if err := w.t.once.write(b); err != nil {
			return 0, err
		}
	}
	w.t.sent.Add(int64(len(b)))
	return w.t.upstream.Write(b)
}
