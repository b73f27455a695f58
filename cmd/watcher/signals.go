package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// signalled is the cause of a context that a signal ended.
type signalled struct{ syscall.Signal }

func (s signalled) Error() string { return s.Signal.String() }

// untilSignal returns a context that the first signal ends, so that what is
// under way is finished or undone in order. The second signal quits at once.
// SIGHUP counts too, unless the program was started with it ignored (nohup), or
// a command takes it for itself with onHangup.
func untilSignal(parent context.Context) context.Context {
	h := &hangup{signals: make(chan os.Signal, 2)}
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, hangupKey{}, h))
	signal.Notify(h.signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(h.signals, syscall.SIGHUP)
	}
	go func() {
		for s := range h.signals {
			switch {
			case s == syscall.SIGHUP && h.handled():
			case ctx.Err() != nil:
				os.Exit(signalCode(s.(syscall.Signal)))
			default:
				cancel(signalled{s.(syscall.Signal)})
			}
		}
	}()
	return ctx
}

// hangup says what a SIGHUP does.
type hangup struct {
	signals chan os.Signal

	mu sync.Mutex
	do func() // nil: it ends the program
}

type hangupKey struct{}

// onHangup has SIGHUP call do, which must not block, instead of ending the
// program: from then on a terminal that closes ends nothing. It does nothing
// where the context comes from a test.
func onHangup(ctx context.Context, do func()) {
	h, ok := ctx.Value(hangupKey{}).(*hangup)
	if !ok {
		return
	}
	h.mu.Lock()
	h.do = do
	h.mu.Unlock()
	signal.Notify(h.signals, syscall.SIGHUP)
}

// handled calls what the command wants of a SIGHUP, if it wants anything.
func (h *hangup) handled() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.do == nil {
		return false
	}
	h.do()
	return true
}
