package watchtest

import (
	"time"

	"watcher/watch"
)

// Fault is an error of the fake chat; it satisfies [watch.Fault].
type Fault struct {
	Kind string    // the failure class
	Text string    // what Error says; the class when empty
	Left bool      // the prompt may have left
	Back time.Time // when the site says to come back
	More bool      // a person can have the site go on with the answer
}

var _ watch.Fault = (*Fault)(nil)

func (f *Fault) Error() string {
	if f.Text == "" {
		return "fake chat: " + f.Kind
	}
	return f.Text
}

// Class is the failure class.
func (f *Fault) Class() string { return f.Kind }

// MayHaveLeft says whether the prompt may have left.
func (f *Fault) MayHaveLeft() bool { return f.Left }

// Useless says that waiting alone changes nothing.
func (f *Fault) Useless() bool {
	return f.Kind != watch.ClassUnreachable && f.Kind != watch.ClassQuota
}

// Until is when to come back.
func (f *Fault) Until() time.Time { return f.Back }

// GoesOn says that a person can have the site go on with the answer.
func (f *Fault) GoesOn() bool { return f.More }

// Hint is what a person can do.
func (f *Fault) Hint() string { return "" }
