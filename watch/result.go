package watch

import (
	"fmt"
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

// unseen is the result for a job whose files cannot be looked at: nobody can
// tell whether it was sent.
func unseen(file string, err error, next time.Duration) Result {
	return Result{File: file, Outcome: InProgress, Class: ClassDisk, Reason: err.Error(), Next: next}
}

// result describes where a request's job stands.
func (l *loop) result(k *ask) Result {
	r := Result{File: k.file}
	j := l.jobOf(k)
	if j == nil {
		r.Reason, r.Next = "its folder went away", l.cfg.Rescan
		return r
	}
	r.Phase, r.Address, r.Changed = j.phase(), j.marker.Address, j.changed
	switch j.phase() {
	case state.Done:
		r.Outcome = Done
		if m, err := j.folder.dir.Believe(j.name); err == nil {
			r.Address = m.Address
		}
	case state.Failed:
		r.Outcome = Failed
		if l.asking(j) {
			r.Outcome, r.Reason, r.Next = InProgress, reasonAsking, l.cfg.Poll
			break
		}
		if j.unseen != nil { // its last order may have brought its answer
			r.Outcome, r.Class, r.Reason, r.Next = InProgress, ClassDisk, j.unseen.Error(), l.cfg.Poll
			break
		}
		f, err := j.folder.dir.ReadError(j.name)
		if r.Class, r.Reason, r.Address = f.Class, f.Sentence, f.Address; err != nil {
			r.Reason = err.Error()
		}
	case state.New:
		l.resultNew(&r, j)
	case state.Sent:
		l.resultSent(&r, k, j)
	}
	if j.asks() {
		l.resultAsked(&r, j)
	}
	return r
}

// resultAsked adds what became of a control file that is still there.
func (l *loop) resultAsked(r *Result, j *job) {
	switch {
	case j.action.verb >= cancel:
		r.Outcome, r.Class, r.Reason, r.Next = InProgress, "", j.action.reason, l.cfg.Poll
	case j.action.note != "":
		r.Reason = j.action.note
	case j.phase() == state.Done:
		r.Reason = j.action.reason
	}
}

func (l *loop) resultNew(r *Result, j *job) {
	r.Reason, r.Next = j.action.reason, l.cfg.Poll
	switch {
	case l.busy(j):
		r.Reason = "it is being sent"
		if l.asking(j) {
			r.Reason = reasonAsking
		}
		return
	case j.unseen != nil: // it may have been sent
		r.Class, r.Reason = ClassDisk, j.unseen.Error()
		return
	}
	p := l.brake.Pause
	if j.wantsEngine() {
		p = l.other.Pause
	}
	if p.Class == "" {
		p = j.folder.brake.Pause
	}
	now := time.Now()
	if at := j.action.at; j.action.verb == wait && at.After(now) {
		r.Next = at.Sub(now)
	}
	if gone := j.folder.gone; gone.Class != "" && j.action.queue && !j.folder.hold {
		r.Outcome, r.Class, r.Reason, r.Hint, r.Next = CannotSend, gone.Class, gone.Reason, gone.Hint, 0
		return
	}
	if p.Class == "" || !now.Before(p.Until) || !j.action.queue || j.folder.hold {
		return
	}
	r.Outcome, r.Class, r.Reason, r.Hint, r.Next = CannotSend, p.Class, p.Reason, p.Hint, p.Until.Sub(now)
	if o := l.other.Pause; o.Class != "" && l.cfg.Fallback.takes(p.Class) && !j.wantsEngine() {
		r.Reason = j.action.reason // which names both
		r.Hint = o.Hint
	}
}

func (l *loop) resultSent(r *Result, k *ask, j *job) {
	r.Next = l.cfg.Poll
	switch {
	case j.marker.Stage == state.StageSent && (k.unsent && ours(j.marker, l.owner) || j.sentAt.After(k.at)),
		j.doubt.confirmed && j.sentAt.After(k.at):
		r.Outcome = SentNow
	case j.marker.Engine != "":
		r.Reason = j.action.reason
	case j.trouble != nil:
		r.Class, r.Reason, r.Hint = j.trouble.class, j.trouble.text, j.trouble.hint
	case !j.believed:
		r.Reason = "its marker cannot be read"
	case l.mute(time.Now()):
		r.Class, r.Reason, r.Hint = l.brake.Class, l.brake.Reason, l.brake.Hint
	case j.action.verb == collect:
		r.Reason = "its answer is not complete yet"
	default:
		r.Reason = j.action.reason
	}
}
