package watch

import (
	"context"
	"time"

	"watcher/state"
)

// courier carries out what was decided, one order at a time, in a goroutine of
// its own: it is the only one who talks to the chat. It shares nothing with
// the loop but the folders, which are safe for that.
type courier struct {
	cfg *Config
}

// order is one decision, with copies of all that it needs.
type order struct {
	verb     verb
	dir      *state.Dir
	name     state.Name
	settled  sight          // what two looks saw; for send
	seen     state.Identity // the prompt as it was last compared with the marker
	changed  bool           // and what came of that
	row      int            // altered sends in a row so far
	marker   state.Marker
	doubt    doubt
	patience patience
	owner    string           // the chat's, as far as it was asked
	mute     bool             // the chat cannot be asked now
	enclosed []state.Identity // what goes with the prompt, as two looks saw it; for send
	expire   time.Duration    // what the prompt's options say of it; 0: nothing
	shared   bool             // another job waits for its answer in the same chat
	wanted   bool             // the prompt asks for another engine
	kept     string           // another engine's answer that could not be written so far
}

// report is what came of an order.
type report struct {
	order    order
	ended    time.Time
	owner    string // the chat's owner, when it was asked
	spoke    verb   // send or collect: a call to the chat that worked; route: another engine replied; else rest
	trouble  *trouble
	folder   bool          // the trouble is the folder's, not the queue's
	failed   *trouble      // the job failed for good, and its .md.err is written
	wait     string        // the prompt is not ready after all, and why
	answered bool          // the answer is in the folder
	wrote    bool          // the folder took a file
	marker   *state.Marker // what stands in the folder now, if that changed
	doubt    doubt
	patience patience
	seen     state.Identity
	expire   time.Duration // as the order's
	next     time.Time     // of the next read, or, with wait, of the next try; zero: after a poll
	turn     *Turn
	changed  bool   // the prompt differs from what was sent
	altered  bool   // the page changed the text, and refused it
	away     bool   // the chat is another account's
	banned   bool   // never to be sent by this process, whatever the folder says
	barred   bool   // not to be given to another engine as its files are
	kept     string // another engine's answer that could not be written
	stale    bool   // the marker is not the one that was remembered
	note     string // one thing to say, for the log
}

// run takes orders until the channel closes. Reports never block: there is
// room for the one that is due.
func (c *courier) run(ctx context.Context, orders <-chan order, reports chan<- report) {
	for o := range orders {
		reports <- c.do(ctx, o)
	}
}

func (c *courier) do(ctx context.Context, o order) report {
	r := report{order: o, doubt: o.doubt, patience: o.patience, seen: o.seen, changed: o.changed, expire: o.expire}
	switch o.verb {
	case send:
		c.send(ctx, &r)
	case route:
		c.route(ctx, &r)
	case prove, collect, find:
		c.attend(ctx, &r)
	case cancel:
		c.cancel(ctx, &r)
	case retry:
		c.retry(ctx, &r)
	}
	r.ended = time.Now()
	if ctx.Err() != nil && r.spoke == rest {
		r.trouble = nil // the stop's doing, not the chat's
	}
	return r
}

// attend does what a sent job needs. What the folder says comes first: the
// marker on disk decides, not the one remembered.
func (c *courier) attend(ctx context.Context, r *report) {
	o := &r.order
	m, err := o.dir.Believe(o.name)
	switch {
	case isAbsent(err):
		r.stale, r.note = true, "the marker was removed"
		return
	case err != nil:
		r.trouble, r.folder = diskTrouble(err), true
		return
	case m != o.marker:
		r.marker, r.note, r.next = &m, noteReplaced, time.Now()
		r.patience, r.doubt = patience{}, doubt{}
		return
	}
	if m.Engine == "" {
		c.compare(r)
	}
	r.patience = r.patience.expires(0, m.At, time.Now(), c.expire(r))
	if m.Engine != "" {
		c.asked(ctx, r)
		return
	}
	switch o.verb {
	case prove:
		c.prove(ctx, r)
	case collect:
		c.collect(ctx, r)
	case find:
		c.find(ctx, r)
	case cancel:
		c.halt(ctx, r)
	}
}

// compare notices a prompt that was edited after it was sent. It is never sent
// again for that.
func (c *courier) compare(r *report) {
	o := &r.order
	id, err := o.dir.Identify(o.name)
	if err != nil || id == o.seen {
		return // no prompt is fine: git switches branches all the time
	}
	p, err := ReadPrompt(o.dir, o.name, c.cfg.PlainText)
	if err != nil {
		return
	}
	r.seen, r.expire = p.ID, p.Options.Expire
	r.changed = p.Differs(o.marker)
}

// expire is how long the order's chat may be without an answer.
func (c *courier) expire(r *report) time.Duration {
	if r.expire > 0 {
		return r.expire
	}
	return c.cfg.Expire
}
