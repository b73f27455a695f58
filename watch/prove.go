package watch

import (
	"context"
	"time"
)

// prove finds out whether a prompt that was released did leave.
func (c *courier) prove(ctx context.Context, r *report) {
	owner, err := c.cfg.Chat.Owner(ctx)
	if err != nil {
		r.trouble = ownerTrouble(err)
		return
	}
	r.owner = owner
	if r.order.marker.By != owner {
		return // not ours to prove: the loop decides again
	}
	if r.doubt.since.IsZero() {
		// Owner came from a living browser of this profile, so none from
		// before can be alive: the profile has one at a time.
		r.doubt.since = time.Now()
	}
	c.look(ctx, r)
}

// look reads the chat of a doubtful job once and acts on it.
func (c *courier) look(ctx context.Context, r *report) {
	m := r.order.marker
	began := time.Now()
	t, err := c.cfg.Chat.Read(ctx, m.Address, m.Message, m.After)
	if err != nil {
		c.lookFailed(r, err)
		return
	}
	r.spoke, r.turn = collect, &t
	var what ruling
	r.doubt, what, r.next = r.doubt.judge(t, began, time.Now(), c.cfg.Grace, c.cfg.gap(), c.cfg.Poll)
	switch what {
	case itLeft:
		c.left(r, t.Message)
	case itNeverLeft:
		refusal := r.doubt.refusal
		if c.retire(r, m) && refusal != nil {
			r.trouble = refusal
			c.ends(r, m.Prompt)
			r.trouble = nil // a pause it asked for began long ago
		}
	default:
		if !t.Empty { // else the proof is under way, and will end soon
			c.giveUp(r)
		}
	}
}

// left writes down that the prompt did leave, and ends the job if the site
// refused it all the same.
func (c *courier) left(r *report, message string) {
	r.doubt.confirmed = true
	if !c.advance(r, r.order.marker, message) {
		return
	}
	if t := r.doubt.refusal; t != nil && endsJob(t.class) {
		end := *t
		end.again = true
		c.failSent(r, &end, "")
	}
}

// lookFailed sorts a read that failed. Some failures tell that our message is
// there; none tells that it is not.
func (c *courier) lookFailed(r *report, err error) {
	t := troubleOf(err)
	switch {
	case goesOn(err):
		r.spoke = collect
		c.left(r, "") // the next read has the site go on
	case t.class == ClassFiltered || t.class == ClassGeneration:
		r.spoke, r.doubt.refusal = collect, t
		c.left(r, "")
	case endsJob(t.class):
		r.spoke, r.note = collect, "cannot tell yet whether it was sent: "+t.text
		c.giveUp(r)
	default:
		r.trouble = t
	}
}

// giveUp ends a doubtful job that is too old, right after a read. However old
// it looks (the machine was off for days, or a clock is wrong), this process
// tries to find out for as long as a proof would take.
func (c *courier) giveUp(r *report) {
	if r.doubt.confirmed || time.Since(r.doubt.since) < c.cfg.Grace+c.cfg.gap() || r.patience.verdict(time.Now(), 1<<62) == "" {
		return
	}
	c.failSent(r, &trouble{class: ClassAmbiguous, again: true,
		text: "nobody can tell whether this prompt was sent; look at its chat before you send it again"}, "")
}
