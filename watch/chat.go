package watch

import (
	"context"
	"errors"
	"time"
)

// Chat is a web chat as the agent needs it. It is declared here, where it is
// used, and in built-in types only, so that a driver satisfies it without
// importing this package. The agent makes one call at a time.
//
// An error of any method that tells more than its text implements [Fault].
type Chat interface {
	// Owner returns the id under which this profile and account sign their
	// markers. It may load the page; it never sends anything.
	Owner(ctx context.Context) (string, error)

	// Send types the prompt into a new chat, or into the one that it continues,
	// and lets exactly one request carry it. Before anything can leave, it calls
	// commit with the chat's address, at most once; after is the assistant
	// message that ours follows, empty in a new chat. When commit fails, nothing
	// leaves and Send returns commit's error wrapped. The message is the site's
	// id of ours; it is empty when the site confirmed the send without naming it.
	//
	// An error whose Fault says MayHaveLeft()==false is a promise that no
	// byte of the prompt left and that none will.
	Send(ctx context.Context, out Outgoing, commit func(address, after string) error) (message string, err error)

	// Read looks at the chat once. message is our message's id if known;
	// after is the assistant message that ours follows in a continued chat.
	// It opens no address outside the site. With an error about an answer that
	// failed, the turn holds what there is of it.
	Read(ctx context.Context, address, message, after string) (Turn, error)

	// Find returns the addresses of the account's recent chats whose first
	// message is exactly the prompt, newest first.
	Find(ctx context.Context, prompt string) ([]string, error)

	// Stop asks the site to end the answer that it is writing in the chat;
	// message is our message's id if known. Best effort: what came of it, the
	// next Read shows. It opens no address outside the site.
	Stop(ctx context.Context, address, message string) error
}

// Outgoing is what a send has to say. It is an alias of an unnamed struct so that
// a driver can take it without importing this package.
type Outgoing = struct {
	// Prompt is the text, byte for byte.
	Prompt string
	// Chat is the address of the chat to continue; empty: a new one.
	Chat string
	// Model, Thinking and Search override the driver's own options; empty: they
	// stand. See the flags of the same names.
	Model, Thinking, Search string
	// Files are the paths of what goes with the prompt, in order.
	Files []string
}

// Turn is what one read of a chat showed. It is an alias of an unnamed struct
// so that a driver can return it without importing this package.
type Turn = struct {
	// Empty is positive evidence that our message is not there: the chat is
	// ours, readable, complete, and holds no message at all (in a continued
	// chat: the message we follow is there, childless and current).
	Empty bool
	// Message is the site's id of our message; empty when it is not there.
	Message string
	// Asked is the site's time of our message in unix seconds, 0 if unknown.
	Asked int64
	// Fingerprint is the first 16 hex digits of the sha256 of our message's
	// text as the site shows it; empty when it was not read.
	Fingerprint string
	// Text is the answer so far, raw Markdown, without thinking.
	Text string
	// Progress grows while anything of the turn grows, thinking included.
	Progress int
	// Done is positive evidence that Text is the whole answer.
	Done bool
}

// Fault is what the agent asks of a chat's error. One of Send's may also have a
// method Refused() bool, which says that the site itself, in words that are
// understood, did not take the prompt; one of Read's a method GoesOn() bool, which
// says that a person can have the site go on with the answer in the same chat.
type Fault interface {
	error
	// Class is one of the failure classes of this package (ClassLogin, …).
	Class() string
	// MayHaveLeft reports whether any byte of the prompt may have left.
	MayHaveLeft() bool
	// Useless reports that waiting alone changes nothing.
	Useless() bool
	// Until is when the site said to come back; zero if it did not.
	Until() time.Time
	// Hint is what a person can do, one sentence; may be empty.
	Hint() string
}

// FaultOf returns the Fault in err's chain, or nil.
func FaultOf(err error) Fault {
	var f Fault
	if errors.As(err, &f) {
		return f
	}
	return nil
}
