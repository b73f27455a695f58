package router

import (
	"fmt"
	"time"
)

// Kind says what went wrong, by the words that the whole program uses.
type Kind string

// The kinds.
const (
	KindLogin       Kind = "login"        // the endpoint wants another key
	KindQuota       Kind = "quota"        // no more prompts for now
	KindUnreachable Kind = "unreachable"  // nobody answers, or not in time
	KindSiteChanged Kind = "site-changed" // no such model or endpoint, or no such reply
	KindInvalid     Kind = "invalid"      // the endpoint can't use this text
	KindFiltered    Kind = "filtered"     // the endpoint refuses this text
	KindGeneration  Kind = "generation"   // there is no whole answer
)

// Error is why there is no answer.
type Error struct {
	Kind   Kind
	Status int // of HTTP; 0 when there was no reply

	text    string
	hint    string
	left    bool // a byte of the prompt may have left
	refused bool // the endpoint's own word, before any work
	until   time.Time
	cause   error
}

func (e *Error) Error() string { return e.text }

func (e *Error) Unwrap() error { return e.cause }

// Class is the kind as a plain word.
func (e *Error) Class() string { return string(e.Kind) }

// MayHaveLeft reports whether any byte of the prompt may have left.
func (e *Error) MayHaveLeft() bool { return e.left }

// Refused reports whether the endpoint itself said that it did nothing with the
// prompt.
func (e *Error) Refused() bool { return e.refused }

// Useless reports that waiting alone changes nothing.
func (e *Error) Useless() bool { return e.Kind == KindLogin || e.Kind == KindSiteChanged }

// Until is when the endpoint said to come back; zero if it did not.
func (e *Error) Until() time.Time { return e.until }

// Hint is what a person can do; may be empty.
func (e *Error) Hint() string { return e.hint }

// unsent is a failure before the connection stood.
func unsent(err error) *Error {
	return &Error{Kind: KindUnreachable, cause: err, text: "the other engine cannot be reached: " + err.Error(),
		hint: "see that it runs, and that --fallback names its address"}
}

// lost is a failure after the prompt may have left, before there was a reply.
func lost(err error) *Error {
	return &Error{Kind: KindUnreachable, left: true, cause: err,
		text: "the connection to the other engine was lost, and with it the answer: " + err.Error()}
}

// broken is a reply that is no whole answer.
func broken(kind Kind, status int, format string, args ...any) *Error {
	return &Error{Kind: kind, Status: status, left: true, text: fmt.Sprintf("the other engine "+format, args...)}
}
