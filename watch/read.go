package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"watcher/state"
)

// collect reads the chat once; a whole answer is written.
func (c *courier) collect(ctx context.Context, r *report) {
	m := r.order.marker
	t, err := c.cfg.Chat.Read(ctx, m.Address, m.Message, m.After)
	if err != nil {
		c.collectFailed(ctx, r, err, t)
		return
	}
	now := time.Now()
	r.spoke, r.turn = collect, &t
	if t.Fingerprint != "" && m.Prompt != "" && t.Fingerprint != m.Prompt {
		r.note = "the chat shows another text than was sent"
	}
	r.patience = r.patience.expires(t.Asked, m.At, now, c.expire(r))
	if m.Stage != state.StageReleased || t.Message != "" {
		r.patience = r.patience.grow(t, now, c.cfg.Poll)
	} // else its owner may be sending it right now: nothing can stall yet
	if t.Done && t.Text != "" {
		c.answer(r, t.Text)
		return
	}
	c.verdict(r, now, t.Text)
}

func (c *courier) verdict(r *report, now time.Time, partial string) {
	class := r.patience.verdict(now, c.cfg.Stall)
	text := fmt.Sprintf("the answer did not grow for %v", c.cfg.Stall)
	switch class {
	case "":
		return
	case ClassExpired:
		text = fmt.Sprintf("there is no whole answer after %v", c.expire(r))
	}
	c.failSent(r, &trouble{class: class, text: text, hint: "look at the chat; delete this file to go on waiting"}, partial)
}

// collectFailed sorts a read that failed. A chat that is gone may be another
// account's: it fails the job only while the owner of its marker is logged in.
// shown is what the chat shows of an answer that failed.
func (c *courier) collectFailed(ctx context.Context, r *report, err error, shown Turn) {
	m, t := r.order.marker, troubleOf(err)
	if t.class == ClassGone && m.By != "" {
		owner, err := c.cfg.Chat.Owner(ctx)
		if err != nil {
			r.trouble = ownerTrouble(err)
			return
		}
		if r.owner = owner; owner != m.By {
			r.note = "the chat belongs to another account; log in as that one to collect its answer"
			r.away = true
			c.verdict(r, time.Now(), "")
			return
		}
	}
	if !endsJob(t.class) {
		r.trouble = t
		return
	}
	if goesOn(err) && c.goOn(ctx, r, t, shown) {
		return
	}
	r.spoke = collect
	t.again = t.class != ClassInvalid && !goesOn(err) // an address can be corrected
	c.failSent(r, t, shown.Text)
}

// answer writes the answer, unless the folder says that nobody waits for it.
func (c *courier) answer(r *report, text string) {
	o := &r.order
	if !o.dir.Same() {
		r.note = "the folder was replaced or unmounted; the answer is fetched again when it is back"
		return
	}
	m, err := o.dir.Believe(o.name)
	if err == nil && !sameTurn(m, o.marker) || err != nil && isAbsent(err) {
		r.note = "the marker was taken away or replaced; the answer is not written"
		return
	}
	if err == nil {
		c.ending(o, EventDone, "")
		err = o.dir.WriteAnswer(o.name, text)
	}
	if err != nil && !errors.Is(err, state.ErrExists) {
		r.trouble, r.folder = diskTrouble(err), true
		return
	}
	r.wrote, r.answered = true, true
}

// find looks for the chat of a marker that holds no address.
func (c *courier) find(ctx context.Context, r *report) {
	o := &r.order
	p, err := ReadPrompt(o.dir, o.name, c.cfg.PlainText)
	if err != nil {
		r.note = "the marker holds no address, and the prompt to look for cannot be read"
		c.lost(r, "its prompt cannot be read")
		return
	}
	if p.Options.Chat != "" { // a chat that begins with this text is another job's
		c.lost(r, "it continues another prompt's chat")
		return
	}
	found, err := c.cfg.Chat.Find(ctx, p.Text)
	if err != nil {
		r.trouble = troubleOf(err)
		return
	}
	r.spoke = collect
	if len(found) != 1 {
		c.lost(r, fmt.Sprintf("%d chats of this account begin with this prompt", len(found)))
		return
	}
	to := o.marker
	to.Address, to.Stage = found[0], state.StageSent
	if to.Prompt == "" {
		to.Prompt = p.Sum
	}
	c.rewrite(r, o.marker, to)
}

// lost gives a chat that was not found, or found twice, the grace time to
// become clear.
func (c *courier) lost(r *report, why string) {
	now := time.Now()
	if r.doubt.since.IsZero() {
		r.doubt.since = now
	}
	if end := r.doubt.since.Add(c.cfg.Grace); now.Before(end) {
		r.next = end
		return
	}
	c.failSent(r, jobTrouble(ClassAmbiguous, "the prompt was sent, but its chat cannot be told: "+why+
		"; put the chat's address into the .md.url by hand, or send it again"), "")
}

// sameTurn reports whether two markers speak of the same message's place: in a
// chat that is continued the address alone does not tell.
func sameTurn(a, b state.Marker) bool {
	return a.Address == b.Address && a.After == b.After && a.By == b.By
}
