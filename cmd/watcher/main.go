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
