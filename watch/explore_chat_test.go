package watch

import (
	"context"
	"time"
)

// puppet is the chat as a replayed program meets it.
type puppet struct {
	*stage
	owner int8
}

var owners = [2]string{"aaaaaaaa00000000", "bbbbbbbb00000000"}

// slip is what went wrong, with a driver's promise about it.
type slip struct {
	class string
	left  bool
	cause error
}

func (e *slip) Error() string     { return e.class }
func (e *slip) Unwrap() error     { return e.cause }
func (e *slip) Class() string     { return e.class }
func (e *slip) MayHaveLeft() bool { return e.left }
func (e *slip) Useless() bool     { return false }
func (e *slip) Until() time.Time  { return time.Time{} }
func (e *slip) Hint() string      { return "" }

// Owner is the program's own, which no world can change. With the owner left
// out, all programs sign alike.
func (p puppet) Owner(context.Context) (string, error) {
	if p.missing == "owner" {
		return owners[0], nil
	}
	return owners[p.owner], nil
}

// Send is the driver's part of the protocol: hold, commit, release.
func (p puppet) Send(_ context.Context, _ Outgoing, commit func(string, string) error) (string, error) {
	e := p.ask(question{what: askChat})
	if e.answer == ansFail {
		return "", &slip{class: ClassUnreachable}
	}
	address, after := p.addressOf(e.chat), p.after()
	if p.missing == "commit first" {
		p.ask(question{what: askRelease, address: address})
		if err := commit(address, after); err != nil {
			return "", &slip{class: ClassBrowser, left: true, cause: err}
		}
	} else {
		if err := commit(address, after); err != nil {
			return "", &slip{class: ClassBrowser, cause: err}
		}
		if p.ask(question{what: askRelease, address: address}).answer == ansSlow {
			return "", &slip{class: ClassDisk}
		}
	}
	switch p.ask(question{what: askOutcome, address: address}).answer {
	case ansUnsent:
		return "", &slip{class: ClassUnreachable}
	case ansRefuse:
		return "", &slip{class: ClassChallenge, left: true}
	case ansBroken:
		return "", &slip{class: ClassUnreachable, left: true}
	}
	return messageOf(address), nil
}

func (p puppet) Read(_ context.Context, address, _, _ string) (Turn, error) {
	switch e := p.ask(question{what: askRead, address: address}); e.answer {
	case ansEmpty:
		return Turn{Empty: true}, nil
	case ansTaken:
		return Turn{Message: messageOf(address), Text: answerOf(address)[:8], Progress: 8}, nil
	case ansDone:
		return Turn{Message: messageOf(address), Text: answerOf(address), Done: true}, nil
	}
	return Turn{}, &slip{class: ClassUnreachable}
}

func (p puppet) Find(context.Context, string) ([]string, error) {
	e := p.ask(question{what: askFind})
	if e.answer == ansFail {
		return nil, &slip{class: ClassUnreachable}
	}
	if e.answer == ansEmpty {
		return nil, nil
	}
	return []string{addressOf(e.chat)}, nil
}

func (puppet) Stop(context.Context, string, string) error { return nil }
