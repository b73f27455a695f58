package state

import "strings"

// Files is the set of a job's files that exist.
type Files uint16

// Has reports whether the file of this kind exists.
func (f Files) Has(k Kind) bool { return f&(1<<k) != 0 }

// With is the set with one more file.
func (f Files) With(k Kind) Files { return f | 1<<k }

// Without is the set with one file less.
func (f Files) Without(k Kind) Files { return f &^ (1 << k) }

// String lists the suffixes, for messages and tests.
func (f Files) String() string {
	var list []string
	for k, suffix := range suffixes {
		if f.Has(Kind(k)) {
			list = append(list, suffix)
		}
	}
	return strings.Join(list, " ")
}

// Phase is where a job stands. It follows from the names alone.
type Phase uint8

// The phases.
const (
	Absent Phase = iota // no job: at most control files
	New                 // a prompt, and nothing says that it was ever sent
	Sent                // it may have left; it is never sent again, only collected
	Failed              // it failed for good; the .md.err says why
	Done                // the answer is there
)

// Phase is the whole state machine: the first file that is there decides.
func (f Files) Phase() Phase {
	switch {
	case f.Has(KindAnswer):
		return Done
	case f.Has(KindError):
		return Failed
	case f.Has(KindMarker):
		return Sent
	case f.Has(KindPrompt):
		return New
	}
	return Absent
}

// String is the phase in one lower-case word.
func (p Phase) String() string {
	return [...]string{"absent", "new", "sent", "failed", "done"}[p]
}

// May says why the job must not be sent now, in words for a person; "" means
// that it may. It can only say no: what it allows, [Pending.Commit] can still
// refuse. pause is why nothing is sent at present ("" when nothing holds the
// queue or the folder); settled says that the prompt's file has stopped
// changing and, where required, that its .ready file is there.
//
// A .retry is a no even to a new job. Were the job sent first, the .retry
// would then retire the fresh marker and send it once more.
func May(f Files, pause string, settled bool) (reason string) {
	switch f.Phase() {
	case Absent:
		return "there is no prompt"
	case Sent:
		return "it was sent: its .md.url is there"
	case Failed:
		return "it failed: its .md.err says why"
	case Done:
		return "it is done: its .md is there"
	}
	switch {
	case f.Has(KindCancel):
		return "it is cancelled by its .prompt.cancel"
	case f.Has(KindRetry):
		return "its .prompt.retry is to be taken up first"
	case f.Has(KindHold):
		return "it is held by its .prompt.hold"
	case pause != "":
		return pause
	case !settled:
		return "its file may still be changing"
	}
	return ""
}
