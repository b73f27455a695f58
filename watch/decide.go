package watch

import (
	"fmt"
	"time"

	"watcher/state"
)

// verb is what can be done about a job.
type verb uint8

const (
	rest    verb = iota // nothing, until its files change
	wait                // nothing before action.at, or before something else changes
	send                // send the prompt
	route               // give it to another engine
	prove               // released by us: find out whether it left
	collect             // read the chat
	find                // sent, address unknown: look for the chat
	cancel              // a .cancel: end the job
	retry               // a .retry: put aside what says that it was sent
)

func (v verb) String() string {
	return [...]string{"rest", "wait", "send", "route", "prove", "collect", "find", "cancel", "retry"}[v]
}

// acts reports whether the verb is an order for the courier.
func (v verb) acts() bool { return v >= send }

// action is a decision and its reason, for the log and for callers.
type action struct {
	verb   verb
	at     time.Time // not before; zero means now for a verb that acts, and "when something changes" for wait
	reason string
	queue  bool   // the reason is the queue's, not the job's: it is not logged per job
	note   string // one more thing to say to people
}

// Reasons that callers and tests compare.
const (
	reasonEmpty      = "the prompt is empty so far"
	reasonChanging   = "the prompt is still changing"
	reasonOpen       = "the prompt is open for writing"
	reasonNotRegular = "the prompt is not a regular file"
	reasonVanished   = "the prompt vanished"
	reasonNotReady   = "waiting for its .prompt.ready"
	reasonFolderHold = "the folder is held by its watcher.hold"
	reasonLost       = "its marker vanished; waiting whether others do"
	reasonGap        = "waiting for the time between two sends"
)

// view is all that a decision depends on.
type view struct {
	now   time.Time
	files state.Files

	// For a new job.
	unsettled  string    // why it has not settled; empty when it has
	wantsReady bool      // it needs its .prompt.ready
	awaits     string    // what its options make it wait for; empty when nothing
	awaitsTill time.Time // and until when, if that is known
	banned     bool      // this process must not send it
	folderHold bool      // the folder's watcher.hold is there
	lostUntil  time.Time // its marker vanished: other markers may, too, until then
	sendAt     time.Time
	unanswered int // our chats without an answer
	inFlight   int // how many there may be

	brake Pause // what stops sending, if anything: the queue's or the folder's

	// For a sent one.
	marker    state.Marker
	owner     string    // the chat's owner; empty until it was asked
	confirmed bool      // this process saw the send succeed
	exempt    bool      // a known refusal: read at once, pause or not
	due       time.Time // of the next read

	other  otherView // what there is beside the chat
	tooOld bool      // of a sent one: Config.Expire is over since its marker's time

	// For a control file.
	askedAt time.Time     // when it was first seen
	askAt   time.Time     // not to be taken up before
	grace   time.Duration // that a marker's owner has to take up a .cancel
}

// decide is the state machine: one switch over the phases. It looks at nothing
// but the view and changes nothing.
func decide(v view) action {
	if v.files.Has(state.KindCancel) || v.files.Has(state.KindRetry) {
		return decideControl(v)
	}
	return decidePhase(v)
}

func decidePhase(v view) action {
	switch v.files.Phase() {
	case state.New:
		return decideNew(v)
	case state.Sent:
		return decideSent(v)
	case state.Failed:
		return decideFailed(v)
	case state.Done:
		return action{reason: "the answer is there"}
	}
	return action{reason: "there is no prompt"}
}

func decideNew(v view) action {
	// First what the user asked for, then the file, then the queue.
	if why := state.May(v.files, "", true); why != "" {
		return action{verb: wait, reason: why}
	}
	if v.banned {
		return action{verb: wait, reason: "it may have left already, and its .md.err cannot be written"}
	}
	if v.wantsReady && !v.files.Has(state.KindReady) {
		return action{verb: wait, reason: reasonNotReady}
	}
	if v.unsettled != "" {
		return action{verb: wait, reason: v.unsettled}
	}
	if v.awaits != "" {
		return action{verb: wait, at: v.awaitsTill, reason: v.awaits}
	}
	a := action{verb: wait, queue: true}
	switch {
	case v.now.Before(v.lostUntil) && v.brake.Class != ClassKeysGone:
		return action{verb: wait, at: v.lostUntil, reason: reasonLost}
	case v.folderHold:
		a.reason = reasonFolderHold
	case v.other.wanted:
		return v.routes("it asks for another engine")
	case v.other.pause && !v.other.barred && v.now.Before(v.brake.Until):
		return v.routes("the chat is paused (" + v.brake.Class + "), so another engine is asked")
	case v.brake.Class != "" && v.now.Before(v.brake.Until):
		a.reason, a.at = v.brake.Reason, v.brake.Until
	case v.unanswered >= v.inFlight:
		a.reason = fmt.Sprintf("%d chats are unanswered, %d may be", v.unanswered, v.inFlight)
	case v.now.Before(v.sendAt):
		a.reason, a.at = reasonGap, v.sendAt
	}
	// May has the last word, whatever was thought of above.
	if why := state.May(v.files, a.reason, v.unsettled == ""); why != "" {
		a.reason = why
		return a
	}
	return action{verb: send, reason: "it has settled and nothing holds it"}
}

func decideSent(v view) action {
	a := action{at: v.due}
	m := v.marker
	switch {
	case m.Engine != "":
		return decideAsked(v)
	case m.Address == "":
		a.verb, a.reason = find, "it was sent, and its chat's address is not known"
	case m.Stage != state.StageReleased:
		a.verb, a.reason = collect, "it was sent"
	case v.owner != "" && m.By != v.owner:
		a.verb, a.reason = collect, "another owner is sending it"
	case v.confirmed:
		a.verb, a.reason = prove, "it was sent; its marker does not say so yet"
	default:
		a.verb, a.reason = prove, "it may have left"
	}
	if stopsReading(v.brake.Class) && !v.exempt && v.brake.Class != "" &&
		v.now.Before(v.brake.Until) && a.at.Before(v.brake.Until) {
		a.at, a.queue = v.brake.Until, true
		a.reason += "; " + v.brake.Reason
	}
	return a
}
