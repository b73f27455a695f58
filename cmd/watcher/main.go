package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A reader of our output that goes away must not end the work.
	signal.Ignore(syscall.SIGPIPE)
	ctx := untilSignal(context.Background())
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// signalled is the cause of a context that a signal ended.
type signalled struct{ syscall.Signal }

func (s signalled) Error() string { return s.Signal.String() }

// untilSignal returns a context that the first signal ends, so that what is
// under way is finished or undone in order. The second signal quits at once.
func untilSignal(parent context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		first := (<-signals).(syscall.Signal)
		cancel(signalled{first})
		second := (<-signals).(syscall.Signal)
		os.Exit(signalCode(second))
	}()
	return ctx
}

// run is the whole program; it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.command()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var coded exitCode
	switch {
	case err == nil:
		return codeDone
	case errors.As(err, &coded):
		return int(coded)
	}
	fmt.Fprintf(stderr, "watcher: %v\n", err)
	if hint := hintOf(err); hint != "" {
		fmt.Fprintf(stderr, "  %s\n", hint)
	}
	if isUsage(err) {
		fmt.Fprintln(stderr, "  see 'watcher --help'")
	}
	return codeOf(ctx, err)
}
