package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"watcher/state"
	"watcher/watch"
)

// line is generate's answer for one file with --json. The names are stable.
type line struct {
	File    string `json:"file"`
	Code    int    `json:"code"`              // the exit code for this file alone
	Outcome string `json:"outcome"`           // the same in words
	Phase   string `json:"phase"`             // what the files say
	Class   string `json:"class,omitempty"`   // of a failure or a pause
	Reason  string `json:"reason,omitempty"`  // one sentence
	Hint    string `json:"hint,omitempty"`    // what a person can do
	Address string `json:"address,omitempty"` // of the chat
	Changed bool   `json:"changed,omitempty"` // the prompt was changed after it was sent
	Next    int    `json:"next,omitempty"`    // seconds until asking again makes sense
}

// report prints the results and returns the exit code as an error.
func (g *generate) report(ctx context.Context, results []watch.Result) error {
	codes := make([]int, len(results))
	for i, r := range results {
		codes[i] = codeOfOutcome(r.Outcome)
		if g.hold && codes[i] == codeSwitch {
			if err := each([]string{r.File}, touch, state.KindHold); err != nil {
				// Without it 1 would let another engine work on what is sent later.
				r = unknown(r, fmt.Errorf("its hold cannot be made: %w", err), g.set.poll)
				codes[i] = codeInProgress
			}
		}
		if g.json {
			g.printJSON(r, codes[i])
		} else {
			g.print(r, codes[i])
		}
	}
	var sig signalled
	if errors.As(context.Cause(ctx), &sig) {
		return exitCode(signalCode(sig.Signal))
	}
	if code := codeOfAll(codes); code != codeDone {
		return exitCode(code)
	}
	return nil
}

func (g *generate) printJSON(r watch.Result, code int) {
	b, _ := json.Marshal(line{ // strings, numbers and a bool: can't fail
		File: r.File, Code: code, Outcome: r.Outcome.String(), Phase: strings.ToLower(r.Phase.String()),
		Class: r.Class, Reason: r.Reason, Hint: r.Hint, Address: r.Address, Changed: r.Changed,
		Next: int((r.Next + time.Second - 1) / time.Second),
	})
	fmt.Fprintf(g.stdout, "%s\n", b)
}

// print says the same to a person. What needs attention goes to standard
// error, so that cron mails it and nothing else.
func (g *generate) print(r watch.Result, code int) {
	out, text := g.stdout, r.File+": "
	switch r.Outcome {
	case watch.Done:
		text += "done"
	case watch.SentNow:
		text += "sent now, " + r.Address
	case watch.InProgress:
		text += joined(r.Outcome.String(), r.Reason)
	default:
		out = g.stderr
		text += joined(r.Outcome.String(), r.Reason)
		if r.Class != "" {
			text += " [" + r.Class + "]"
		}
		if r.Hint != "" {
			text += "; " + r.Hint
		}
	}
	if r.Next > 0 && code != codeSwitch {
		text += "; ask again in " + seconds(max(r.Next, time.Second))
	}
	if r.Changed {
		fmt.Fprintf(g.stderr, "%s: changed after it was sent; the change was not sent\n", r.File)
	}
	if g.set.quiet && out == g.stdout {
		return
	}
	fmt.Fprintln(out, text)
}

func joined(parts ...string) string {
	var full []string
	for _, p := range parts {
		if p != "" {
			full = append(full, p)
		}
	}
	return strings.Join(full, ": ")
}
