package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"watcher/watch"
)

// The exit codes. Of generate's, only 0, 1, 3 and 42 speak about the job.
const (
	codeDone       = 0  // the answer is there
	codeSwitch     = 1  // it won't come by itself: switch strategy
	codeUsage      = 2  // wrong usage, no such file; also Go's code of a crash
	codeInProgress = 3  // sent and not finished, or not to be sent yet
	codeQueued     = 42 // sent now
)

// exitCode is an error that carries nothing but a code: all was said already.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// usageError is a mistake in how the program was called.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func isUsage(err error) bool {
	var usage usageError
	return errors.As(err, &usage)
}

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// signalCode is what a shell expects of a program that a signal ended.
func signalCode(s syscall.Signal) int { return 128 + int(s) }

// codeOf is the exit code of an error that ended the program.
func codeOf(ctx context.Context, err error) int {
	var sig signalled
	switch {
	case errors.As(context.Cause(ctx), &sig):
		return signalCode(sig.Signal)
	case isUsage(err):
		return codeUsage
	}
	return codeSwitch
}

// hintOf is what a person can do about an error, if it says.
func hintOf(err error) string {
	if f := watch.FaultOf(err); f != nil {
		return f.Hint()
	}
	return ""
}

// codeOfOutcome is generate's exit code for one file.
func codeOfOutcome(o watch.Outcome) int {
	switch o {
	case watch.Done:
		return codeDone
	case watch.SentNow:
		return codeQueued
	case watch.Failed, watch.CannotSend:
		return codeSwitch
	}
	return codeInProgress
}

// codeOfAll is the exit code for several files: 1 if any is 1, else 42 if any
// was sent now, else 3, else 0.
func codeOfAll(codes []int) int {
	for _, worst := range []int{codeSwitch, codeQueued, codeInProgress} {
		for _, c := range codes {
			if c == worst {
				return c
			}
		}
	}
	return codeDone
}
