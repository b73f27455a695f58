package watch

import (
	"context"
	"time"

	"watcher/state"
)

// Reasons for a .retry that is left alone.
const (
	reasonTheirs   = "its owner is another program; stop that one, then 'watcher retry --force'"
	reasonNobodys  = "its marker names no owner; 'watcher retry --force' sends it again"
	reasonNoPrompt = "its .prompt.retry waits for the prompt"
)

// decideControl takes up what a user asked for with a file. A .cancel comes
// before a .retry, because the order in which they were made is not known and
// sending nothing can be mended.
func decideControl(v view) action {
	phase := v.files.Phase()
	switch {
	case phase == state.Absent:
		return decidePhase(v)
	case v.files.Has(state.KindCancel):
		a := action{verb: cancel, at: v.askAt, reason: "it is cancelled by its .prompt.cancel"}
		if phase == state.Sent && v.theirs() {
			// Its owner can press the site's stop, so that one goes first.
			a.at = later(a.at, v.askedAt.Add(v.grace))
			a.note = "cancelled by its .prompt.cancel, which is left to its owner, another program, for a while"
		}
		return a
	case !v.files.Has(state.KindPrompt):
		return leave(v, reasonNoPrompt)
	case v.files.Has(state.KindMarker) && v.marker.By == "":
		return leave(v, reasonNobodys)
	case v.files.Has(state.KindMarker) && v.theirs():
		return leave(v, reasonTheirs)
	}
	a := action{verb: retry, at: v.askAt, reason: "its .prompt.retry is being taken up"}
	unknown := v.files.Has(state.KindMarker) && v.owner == "" && v.marker.Engine == ""
	if unknown && v.brake.Class != "" && stopsReading(v.brake.Class) {
		a.at, a.queue = later(a.at, v.brake.Until), true
		a.reason = "its .prompt.retry waits; " + v.brake.Reason
	}
	return a
}

// theirs reports whether the marker is known to be another owner's.
func (v view) theirs() bool {
	if v.marker.Engine != "" {
		return !v.other.owned
	}
	return v.owner != "" && v.marker.By != "" && v.marker.By != v.owner
}

// leave goes on with the job as if its .retry were not there, and says why.
func leave(v view, why string) action {
	a := decidePhase(v)
	if a.verb == rest {
		return action{verb: wait, reason: why}
	}
	a.note = why
	return a
}

// cancel ends a job for its user. One that was not sent gets a .md.err without
// the prompt's fingerprint, so that it stays cancelled however the text is
// edited: nothing but the removal of that file sends it.
func (c *courier) cancel(ctx context.Context, r *report) {
	o := &r.order
	files, err := o.dir.Lookup(o.name)
	switch {
	case err != nil:
		r.trouble, r.folder = diskTrouble(err), true
		return
	case !files.Has(state.KindCancel):
		return // taken back
	case files.Phase() == state.Sent:
		c.attend(ctx, r)
		return
	case files.Phase() == state.New:
		c.fail(r, jobTrouble(ClassCancelled, "cancelled by its .prompt.cancel before it was sent; remove this file to "+
			"send it after all"), "", nil, "")
	}
	c.acknowledge(r, state.KindRetry, state.KindCancel)
}

// halt ends a job that was sent: by its answer if that is whole, else by a
// .md.err after the site was asked to stop. Trouble with the chat is no reason
// to go on with what the user does not want.
func (c *courier) halt(ctx context.Context, r *report) {
	m := r.order.marker
	t := &trouble{class: ClassCancelled,
		text: "cancelled by its .prompt.cancel; the site could not be asked to stop, so the answer may still come"}
	if m.Address != "" && !r.order.mute && c.peek(ctx, r) && !r.order.shared { // else it is the other's answer that would be stopped
		if err := c.cfg.Chat.Stop(ctx, m.Address, m.Message); err == nil {
			t.text, t.again = "cancelled by its .prompt.cancel; the site was asked to stop", true
			c.peek(ctx, r) // it may have become whole, and what there is now is all there will be
		}
	}
	if ctx.Err() != nil {
		return // the program stops; the .cancel stays for the next one
	}
	partial := ""
	if r.turn != nil {
		partial = r.turn.Text
	}
	if r.turn != nil && r.turn.Done && partial != "" {
		c.answer(r, partial)
	} else {
		c.failSent(r, t, partial)
	}
	c.acknowledge(r, state.KindRetry, state.KindCancel)
}

// peek reads the chat, unless its answer is known to be whole, and reports
// whether there is anything to stop.
func (c *courier) peek(ctx context.Context, r *report) bool {
	m := r.order.marker
	t, err := c.cfg.Chat.Read(ctx, m.Address, m.Message, m.After)
	if err != nil {
		if t.Text != "" { // of an answer that was stopped
			r.turn = &t
		}
		return false
	}
	r.spoke, r.turn = collect, &t
	return !t.Done
}

// acknowledge removes control files that have been obeyed.
func (c *courier) acknowledge(r *report, kinds ...state.Kind) {
	o := &r.order
	if r.trouble != nil {
		return
	}
	files, err := o.dir.Lookup(o.name)
	for _, k := range kinds {
		if err == nil && files.Has(k) {
			err = o.dir.Remove(o.name, k)
		}
	}
	if err != nil { // a folder of that name, for example: no fault of the disk
		r.note, r.next = err.Error(), time.Now().Add(askAgain)
		return
	}
	r.wrote = true
}

// askAgain is when a control file is looked at again that could not be removed.
const askAgain = time.Minute
