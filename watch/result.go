package watch

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"watcher/state"
)

// Outcome is what a step ended in.
type Outcome uint8

// The outcomes. The numbers in brackets are the exit codes that a command
// makes of them.
const (
	InProgress Outcome = iota // sent earlier and unfinished, or not ready to be sent (3)
	SentNow                   // sent during this call (42)
	Done                      // the answer is there (0)
	Failed                    // there is a name.md.err (1)
	CannotSend                // the queue is paused and nothing was sent (1)
)

func (o Outcome) String() string {
	switch o {
	case InProgress:
		return "in progress"
	case SentNow:
		return "sent now"
	case Done:
		return "done"
	case Failed:
		return "failed"
	case CannotSend:
		return "cannot send"
	}
	return fmt.Sprintf("outcome %d", uint8(o))
}

// Result is what one call of Step, Generate or Wait did for one file.
type Result struct {
	File    string // as asked
	Phase   state.Phase
	Outcome Outcome
	Class   string // a failure class, where something went wrong
	Reason  string // one sentence for a person; empty when all is said
	Hint    string // what a person can do; may be empty
	Address string // of the chat, once there is one
	Changed bool   // the prompt was changed after it was sent
	// Next is when to ask again; zero when there is nothing to ask.
	Next time.Duration
}

// ask is one caller's wish about one file.
type ask struct {
	ctx        context.Context
	file       string // as the caller wrote it
	dir        string
	name       state.Name
	stay, wait bool
	at         time.Time // when the loop took it up
	unsent     bool      // the job was New at that time
	reply      chan reply
}

type reply struct {
	Result
	err error
}

func newAsk(ctx context.Context, file string, stay, wait bool) (*ask, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("find %q: %w", file, err)
	}
	name, kind, ok := state.Parse(filepath.Base(abs))
	if !ok || kind != state.KindPrompt {
		return nil, fmt.Errorf("ask about %q: not the name of a prompt, which ends in .prompt and begins with no dot: %w",
			file, fs.ErrInvalid)
	}
	return &ask{ctx: ctx, file: file, dir: filepath.Dir(abs), name: name,
		stay: stay, wait: wait, reply: make(chan reply, 1)}, nil
}
