package watch

import (
	"context"
	"errors"
	"time"

	"watcher/state"
)

// sent judges what Send returned: was there a commit, and may it have left?
func (c *courier) sent(ctx context.Context, r *report, e *envelope, message string, err error) {
	m := e.committed
	left := err == nil || mayHaveLeft(err, m != nil && e.refused == nil)
	switch {
	case err == nil && m != nil && e.refused == nil:
		c.confirm(r, *m, message)
	case left && m == nil:
		// The driver broke its promise. Nothing on the disk says so, and a
		// second try would be a second send.
		c.fail(r, jobTrouble(ClassAmbiguous, "the prompt may have left before its marker was written; look at the "+
			"account's chats before you send it again"), e.prompt.Sum, nil, "")
		r.banned = true
	case left:
		r.trouble, r.marker = troubleOf(err), m
		c.doubtful(ctx, r, err)
	case e.refused != nil:
		c.refused(r, e)
	case m != nil:
		r.trouble = troubleOf(err)
		if c.retire(r, *m) {
			c.ends(r, e.prompt.Whole)
		}
	default:
		r.trouble = troubleOf(err)
		c.ends(r, e.prompt.Whole)
	}
}

// mayHaveLeft reads the promise in an error of Send. One that is no Fault
// promises nothing: then it is the commit that tells.
func mayHaveLeft(err error, committed bool) bool {
	if f := FaultOf(err); f != nil {
		return f.MayHaveLeft()
	}
	return committed
}

// confirm writes down that the site has our message. Should that fail, the
// marker still says "released", this process knows better, and the next reads
// try again.
func (c *courier) confirm(r *report, m state.Marker, message string) {
	r.spoke, r.doubt.confirmed, r.marker = send, true, &m
	c.advance(r, m, message)
}

// advance moves the marker on to "sent".
func (c *courier) advance(r *report, from state.Marker, message string) bool {
	to := from
	to.Stage, to.Message = state.StageSent, message
	return c.rewrite(r, from, to)
}

// rewrite replaces a marker of ours by one that knows more.
func (c *courier) rewrite(r *report, from, to state.Marker) bool {
	if err := r.order.dir.Advance(r.order.name, from, to); err != nil {
		if errors.Is(err, state.ErrNotExpected) || isAbsent(err) {
			r.marker, r.stale, r.note = nil, true, noteReplaced
			return false
		}
		r.trouble, r.folder = diskTrouble(err), true
		return false
	}
	r.marker, r.wrote = &to, true
	return true
}

// refused sorts why our own commit said no. The driver then sent nothing.
func (c *courier) refused(r *report, e *envelope) {
	switch err := e.refused; {
	case errors.Is(err, state.ErrExists):
		r.note = "somebody else was first with its marker"
	case errors.Is(err, errRecall):
		r.wait = reasonChanging
		r.note = err.Error()
	case errors.Is(err, errPlace):
		r.trouble = &trouble{class: ClassSiteChanged, text: err.Error()}
	case errors.Is(err, errStopping):
		r.note = err.Error()
	default:
		r.trouble, r.folder = diskTrouble(err), true
		if e.committed != nil { // perhaps written, perhaps not
			c.retire(r, *e.committed)
		}
	}
}

const noteReplaced = "the marker was replaced; the one in the folder counts"

// retire takes back the marker of a prompt that did not leave. When that
// fails, the marker goes on saying "may have left": then the chat is read, as
// after a refusal, and the marker taken back when it proves empty.
func (c *courier) retire(r *report, m state.Marker) bool {
	archive, err := r.order.dir.Retire(r.order.name, m)
	switch {
	case err == nil:
		r.note = "nothing was sent; the marker is kept as " + archive
		return true
	case isAbsent(err):
		return true
	case errors.Is(err, state.ErrNotExpected):
		r.marker, r.stale, r.note = nil, true, noteReplaced
		return false
	}
	r.doubt = doubt{since: time.Now(), refusal: r.trouble}
	r.marker = &m
	r.trouble, r.folder = diskTrouble(err), true
	return false
}

// ends lets the class of r.trouble decide about a job that was not sent: its
// own failure, or the queue's pause.
func (c *courier) ends(r *report, prompt string) {
	t := r.trouble
	if t.class == ClassBusy {
		r.trouble, r.wait, r.next = nil, "its chat is busy: "+t.text, time.Now().Add(jitter(c.cfg.Poll))
		return
	}
	r.altered = t.class == ClassAltered
	if r.altered && r.order.row+1 >= alteredRow {
		r.trouble = &trouble{class: ClassSiteChanged, hint: t.hint,
			text: "the page changed the text of several prompts in a row: " + t.text}
		return
	}
	if endsJob(t.class) {
		r.trouble = nil
		c.fail(r, t, prompt, nil, "")
	}
}

// doubtful is a send whose outcome nobody knows. The driver has closed the tab
// and shut the way out, so from now on nothing more can leave. After the
// site's own refusal the chat is read at once.
//
// Whatever it was, the queue pauses or the job ends: a prompt that is proved
// not to have left must not go out again at once, to the same end, for ever.
func (c *courier) doubtful(ctx context.Context, r *report, err error) {
	r.doubt = doubt{since: time.Now()}
	r.next = r.doubt.since
	if !refused(err, r.trouble.class) {
		if endsJob(r.trouble.class) {
			r.trouble.class = ClassUnreachable // a lost connection, whatever it calls itself
		}
		return
	}
	t := r.trouble
	r.doubt.refusal = t
	r.order.marker = *r.marker
	if c.look(ctx, r); r.trouble == nil {
		r.trouble = t // the refusal, not the read, is what the queue must know
	}
}
