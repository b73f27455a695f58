package watch

import (
	"errors"
	"io/fs"
	"time"

	"watcher/state"
	"watcher/watch/frontmatter"
)

// The failure classes. Those of the first group end one job, which gets a
// name.md.err; those of the second speak of the account, the site or this
// machine: every other prompt would fare the same, so sending pauses and no
// job fails.
const (
	ClassInvalid    = "invalid"    // the text or the address cannot be used
	ClassAltered    = "altered"    // the page changes the text
	ClassFiltered   = "filtered"   // the site refuses the text
	ClassGone       = "gone"       // the chat is not there any more
	ClassGeneration = "generation" // the site failed to make an answer
	ClassStalled    = "stalled"    // the answer stopped growing
	ClassExpired    = "expired"    // no answer within Config.Expire
	ClassCancelled  = "cancelled"  // by the user
	ClassAmbiguous  = "ambiguous"  // sent or not: nobody can tell

	ClassLogin       = "login"        // not logged in
	ClassChallenge   = "challenge"    // the site asks for a person
	ClassQuota       = "quota"        // no more prompts for now
	ClassUnreachable = "unreachable"  // network or server trouble
	ClassSiteChanged = "site-changed" // the page is not understood
	ClassBrowser     = "browser"      // the browser does not start, or died
	ClassDisk        = "disk"         // the folder cannot be written
	ClassBusy        = "busy"         // the chat to be continued answers another message: that job waits, and no other
	ClassKeysGone    = "keys-gone"    // the folder's markers vanished, its prompts did not
)

// endsJob reports whether a failure of the class is one job's own.
func endsJob(class string) bool {
	switch class {
	case ClassInvalid, ClassAltered, ClassFiltered, ClassGone, ClassGeneration,
		ClassStalled, ClassExpired, ClassCancelled, ClassAmbiguous:
		return true
	}
	return false
}

// refused reports whether an error met after the release is the site's own word
// that it did not take the prompt: the driver says so, or the class does. Any
// other is a lost connection, whatever it calls itself.
func refused(err error, class string) bool {
	var said interface{ Refused() bool }
	if errors.As(err, &said) && said.Refused() {
		return true
	}
	return FaultOf(err) != nil && isRefusal(class)
}

// isRefusal reports whether the class alone says that the site refused.
func isRefusal(class string) bool {
	switch class {
	case ClassLogin, ClassChallenge, ClassQuota, ClassInvalid, ClassAltered,
		ClassFiltered, ClassGeneration:
		return true
	}
	return false
}

// goesOn reports whether a person can have the site go on with an answer that
// failed: then another look at the same chat is worth more than a new send.
func goesOn(err error) bool {
	var on interface{ GoesOn() bool }
	return errors.As(err, &on) && on.GoesOn()
}

// stopsReading reports whether a pause of the class makes polls useless too;
// a read that succeeds then ends it. The others end with a send.
func stopsReading(class string) bool {
	switch class {
	case ClassQuota, ClassSiteChanged, ClassChallenge, ClassDisk:
		return false
	}
	return true
}

// readPauses reports whether a read that failed with the class says anything
// about sending. A quota or a page that is not understood met while reading
// slows that one job's polls.
func readPauses(class string) bool {
	return !endsJob(class) && class != ClassQuota && class != ClassSiteChanged && class != ClassDisk
}

// backOff returns the first and the longest wait between two probes of a
// pause. A repeated challenge or refusal makes things worse, so those wait
// longer.
func backOff(class string) (first, longest time.Duration) {
	switch class {
	case ClassQuota:
		return time.Hour, time.Hour
	case ClassChallenge:
		return 5 * time.Minute, time.Hour
	case ClassDisk: // trying costs next to nothing, and bothers nobody
		return 10 * time.Second, 5 * time.Minute
	}
	return time.Minute, 15 * time.Minute
}

// trouble is what went wrong, reduced to what decisions and people need.
type trouble struct {
	class  string
	text   string
	hint   string
	until  time.Time
	person bool // waiting alone changes nothing
	again  bool // of a sent job: only a new send can bring an answer
}

// troubleOf reads a chat's error. One without a Fault is counted as the
// browser's.
func troubleOf(err error) *trouble {
	t := &trouble{class: ClassBrowser, text: err.Error()}
	if f := FaultOf(err); f != nil {
		t.class, t.hint, t.until, t.person = f.Class(), f.Hint(), f.Until(), f.Useless()
	}
	if t.class == "" {
		t.class = ClassBrowser
	}
	return t
}

// ownerTrouble is an error of Owner, which speaks of no job: one that claims
// to would fail every job, or be tried for ever.
func ownerTrouble(err error) *trouble {
	t := troubleOf(err)
	if endsJob(t.class) {
		t.class = ClassSiteChanged
	}
	return t
}

// diskTrouble is an error of a folder. Its text says what to do already.
func diskTrouble(err error) *trouble {
	return &trouble{class: ClassDisk, text: err.Error()}
}

// jobTrouble is a failure of one job that the program itself found.
func jobTrouble(class, text string) *trouble { return &trouble{class: class, text: text} }

// readTrouble sorts an error of reading a prompt: wait says that the file may
// still become good, else the job fails.
func readTrouble(err error) (t *trouble, wait string) {
	var bad *state.InvalidError
	switch {
	case errors.As(err, &bad):
		return &trouble{class: ClassInvalid, text: err.Error()}, ""
	case errors.Is(err, state.ErrEmpty):
		return nil, reasonEmpty
	case errors.Is(err, frontmatter.ErrUnfinished):
		return nil, frontmatter.ErrUnfinished.Error()
	case errors.Is(err, state.ErrChanged):
		return nil, reasonChanging
	case errors.Is(err, state.ErrNotRegular):
		return nil, reasonNotRegular
	case errors.Is(err, fs.ErrNotExist):
		return nil, reasonVanished
	}
	return nil, "cannot read the prompt: " + err.Error()
}
