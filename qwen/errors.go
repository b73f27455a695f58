package qwen

import (
	"errors"
	"fmt"
	"time"
)

// Kind is the class of an error, one of the failure classes that a caller
// writes into files and exit codes. The strings are stable.
type Kind string

// The kinds. The first group speaks of one prompt, the second of the account
// or of this machine: there, every other prompt would fare the same.
const (
	KindInvalid    Kind = "invalid"    // an address or a text that can't be used
	KindAltered    Kind = "altered"    // the page changes the text
	KindFiltered   Kind = "filtered"   // the site refuses this text
	KindGone       Kind = "gone"       // the chat isn't there any more
	KindGeneration Kind = "generation" // the site failed to make an answer

	KindLogin       Kind = "login"        // not logged in, or not any longer
	KindChallenge   Kind = "challenge"    // the site asks for a person
	KindQuota       Kind = "quota"        // no more prompts for now
	KindUnreachable Kind = "unreachable"  // network or server trouble
	KindSiteChanged Kind = "site-changed" // the page isn't understood
	KindBrowser     Kind = "browser"      // Chromium doesn't start or died
	KindDisk        Kind = "disk"         // the profile can't be written
	KindBusy        Kind = "busy"         // another program holds the profile; of a send: the chat to continue is not at rest
)

// Error is an error of the driver: what was tried, what kind of trouble it is,
// what a person can do.
type Error struct {
	Op     string    // what was being done, a verb phrase
	Kind   Kind      // the class
	Advice string    // what a person can do; may be empty
	Left   bool      // a byte of the prompt may have left this machine
	Said   bool      // the site itself said no, in words that are understood
	More   bool      // a person can have the site go on with the answer
	When   time.Time // when the site said to come back; zero if it did not
	Err    error     // the cause; may be nil
}

// Error says what failed and why, without the class.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Op
	}
	return fmt.Sprintf("%s: %v", e.Op, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Class returns the kind as a string.
func (e *Error) Class() string { return string(e.Kind) }

// MayHaveLeft reports whether any byte of the prompt may have left.
func (e *Error) MayHaveLeft() bool { return e.Left }

// Refused reports whether the site itself said that it did not take the
// prompt. What a broken connection or a server in between says is not that.
func (e *Error) Refused() bool { return e.Said }

// GoesOn reports whether a person can have the site go on with the answer, in
// the same chat.
func (e *Error) GoesOn() bool { return e.More }

// Hint is what a person can do, one sentence.
func (e *Error) Hint() string { return e.Advice }

// Until is when the site said to come back.
func (e *Error) Until() time.Time { return e.When }

// Useless reports that waiting alone changes nothing: a person, or a new
// version of the program or its site table, must act first.
func (e *Error) Useless() bool {
	switch e.Kind {
	case KindUnreachable, KindQuota, KindBusy, KindGeneration:
		return false
	}
	return true
}

// fail builds an Error of the kind from a format; %w works.
func fail(kind Kind, op string, format string, args ...any) *Error {
	e := &Error{Op: op, Kind: kind, Advice: advice[kind]}
	if format != "" {
		e.Err = fmt.Errorf(format, args...)
	}
	return e
}

// asError returns err as an *Error, wrapping it as kind if it is none.
func asError(err error, kind Kind, op string) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Op: op, Kind: kind, Advice: advice[kind], Err: err}
}

// advice is what a person can do about each kind.
var advice = map[Kind]string{
	KindInvalid:     "correct the file; nothing was sent",
	KindAltered:     "change the text at that place, or send it by hand",
	KindFiltered:    "change the text: the site refuses it",
	KindGone:        "the chat was deleted or belongs to another account",
	KindGeneration:  "look at the chat in a browser; ask for a retry if the answer is missing",
	KindLogin:       "run 'watcher login' and log in",
	KindChallenge:   "run 'watcher login' and solve the site's check in the window that opens",
	KindQuota:       "wait until the site gives new quota",
	KindUnreachable: "check the network; the program tries again by itself",
	KindSiteChanged: "the page is not understood: look for a newer version of this program",
	KindBrowser:     "install Chromium, or name it with --browser",
	KindDisk:        "make room or make the profile's folder writable",
	KindBusy:        "another program uses this profile; it is asked again by itself",
}
