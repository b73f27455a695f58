package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"watcher/state"
)

// callGrace is how long a call to another engine may go on once the program was
// told to stop: its answer would be lost, and a completion takes its time.
const callGrace = time.Minute

// route gives one job to another engine. What stands in the folder decides in
// which way: a marker comes first in each.
func (c *courier) route(ctx context.Context, r *report) {
	o := &r.order
	files, err := o.dir.Lookup(o.name)
	if err != nil {
		r.trouble, r.folder = diskTrouble(err), true
		return
	}
	switch files.Phase() {
	case state.New:
		c.routeNew(ctx, r)
	case state.Failed:
		c.routeFailed(ctx, r, files)
	case state.Sent:
		c.routeAgain(ctx, r)
	}
}

// routeNew takes a job that was never sent. The marker is made as before a send
// to the chat, so that one of any number of programs and engines has it.
func (c *courier) routeNew(ctx context.Context, r *report) {
	p, _, ok := c.ready(r)
	if !ok {
		return
	}
	if r.barred = needsChat(p); r.barred || !c.reached(ctx, r) {
		return
	}
	pending, err := r.order.dir.Prepare(r.order.name, markerSize)
	if errors.Is(err, state.ErrExists) {
		return // somebody else was first; the folder is looked at after each order
	}
	if err != nil {
		r.trouble, r.folder = diskTrouble(err), true
		return
	}
	defer pending.Discard()
	e := &envelope{courier: c, order: &r.order, prompt: p, pending: pending, owner: c.cfg.Fallback.By, engine: EngineRouter}
	ectx, done := e.context(ctx, max(c.cfg.StopGrace, callGrace))
	defer done()
	if err := e.commit(c.cfg.Fallback.Engine.Address(), ""); err != nil {
		c.refused(r, e)
		return
	}
	c.call(ectx, r, *e.committed, p, func(t *trouble) { c.takeBack(r, *e.committed, t) })
}

// reached asks whether the engine is there, before anything is written down.
func (c *courier) reached(ctx context.Context, r *report) bool {
	if err := c.cfg.Fallback.Engine.Reach(ctx); err != nil {
		r.trouble = engineTrouble(err)
		return false
	}
	return ctx.Err() == nil
}

// engineTrouble reads an engine's error. What ends no job is the engine's pause.
func engineTrouble(err error) *trouble {
	t := troubleOf(err)
	if FaultOf(err) == nil {
		t.class = ClassUnreachable
	}
	return t
}

// routeFailed takes a job whose chat failed. The chat has the prompt for sure,
// or refused it for sure; either way the job is never New on the way, so that
// the chat cannot get it again.
func (c *courier) routeFailed(ctx context.Context, r *report, files state.Files) {
	o := &r.order
	r.barred = true // until all below says that it may
	f, err := o.dir.ReadError(o.name)
	if err != nil || !c.cfg.Fallback.takes(f.Class) || files.Has(state.KindHold) || barred(o.dir) != "" || !o.dir.Same() {
		return
	}
	p, err := ReadPrompt(o.dir, o.name, c.cfg.PlainText)
	if err != nil || !p.Speaks(f) || p.Short != "" || needsChat(p) {
		r.note = "it failed, and no other engine is asked: its prompt is another one by now, or needs the chat"
		return
	}
	r.barred = false
	if !c.reached(ctx, r) {
		return
	}
	if files.Has(state.KindMarker) {
		c.routeInstead(ctx, r, f, p)
	} else {
		c.routeRefused(ctx, r, p)
	}
}

// marker is the one of a call that begins now.
func (c *courier) marker(p Prompt, instead string) state.Marker {
	return state.Marker{Address: c.cfg.Fallback.Engine.Address(), Engine: EngineRouter, Prompt: p.Sum, By: c.cfg.Fallback.By,
		Stage: state.StageReleased, At: time.Now().Unix(), Instead: instead}
}

// routeInstead is routeFailed for a prompt that the chat has. First the .md.err
// goes aside: after a crash the chat is then read again, and fails again. Then
// the other engine's marker takes the place of the chat's.
func (c *courier) routeInstead(ctx context.Context, r *report, f state.Failure, p Prompt) {
	o := &r.order
	chat, err := o.dir.Believe(o.name)
	if err != nil || chat.Engine != "" || chat.Stage != state.StageSent || chat.Prompt != p.Sum || !c.cfg.Fallback.owns(chat.By) {
		r.barred = true
		return
	}
	kept, err := o.dir.ArchiveError(o.name)
	if err != nil {
		r.trouble, r.folder = diskTrouble(err), true
		return
	}
	r.wrote = true
	m := c.marker(p, chat.Address)
	if _, err := o.dir.Exchange(o.name, chat, m); err != nil {
		c.unmoved(r, err)
		return
	}
	r.note = "its chat failed (" + f.Class + "): another engine is asked; the .md.err is kept as " + kept
	ectx, done := graceful(ctx, callGrace)
	defer done()
	c.call(ectx, r, m, p, func(t *trouble) { c.putBack(r, m, chat, kept, t) })
}

// unmoved sorts an error of an exchange: nobody was asked, whatever stands there.
func (c *courier) unmoved(r *report, err error) {
	if errors.Is(err, state.ErrNotExpected) || isAbsent(err) {
		r.stale, r.note = true, noteReplaced
		return
	}
	r.trouble, r.folder, r.stale = diskTrouble(err), true, true
}

// putBack undoes routeInstead when the engine did not take the prompt.
func (c *courier) putBack(r *report, m, chat state.Marker, kept string, t *trouble) {
	o := &r.order
	if endsJob(t.class) { // it never will take this text
		c.refusedForGood(r, t)
		return
	}
	r.trouble = t
	if _, err := o.dir.Exchange(o.name, m, chat); err != nil {
		c.unmoved(r, err)
		return
	}
	r.marker = &chat
	if err := o.dir.RestoreError(o.name, kept); err != nil {
		r.note = err.Error() // the chat is read again, and says it again
	}
}

// refusedForGood ends a job whose text no engine takes, and which is not to be
// New again.
func (c *courier) refusedForGood(r *report, t *trouble) {
	end := *t
	end.again = true
	c.failSent(r, &end, "")
	c.ended(r)
}

// routeRefused is routeFailed for a prompt that the chat did not take. The
// marker comes first: without the .md.err the job would be New.
func (c *courier) routeRefused(ctx context.Context, r *report, p Prompt) {
	o := &r.order
	pending, err := o.dir.Prepare(o.name, markerSize)
	if err == nil {
		m := c.marker(p, "")
		r.order.marker = m
		if err = pending.Commit(m); err == nil {
			c.callRefused(ctx, r, m, p)
			return
		}
		if errors.Is(err, state.ErrInDoubt) {
			c.retire(r, m)
		}
	}
	if !errors.Is(err, state.ErrExists) {
		r.trouble, r.folder = diskTrouble(err), true
	}
}

func (c *courier) callRefused(ctx context.Context, r *report, m state.Marker, p Prompt) {
	kept, err := r.order.dir.ArchiveError(r.order.name)
	if err != nil {
		r.trouble, r.folder = diskTrouble(err), true
		c.retire(r, m)
		return
	}
	r.note = "its chat refused it: another engine is asked; the .md.err is kept as " + kept
	ectx, done := graceful(ctx, callGrace)
	defer done()
	c.call(ectx, r, m, p, func(t *trouble) {
		if endsJob(t.class) {
			c.refusedForGood(r, t)
			return
		}
		// The .md.err first: a job with neither is New.
		if err := r.order.dir.RestoreError(r.order.name, kept); err != nil {
			r.trouble, r.folder = diskTrouble(err), true
			return
		}
		if c.retire(r, m) {
			r.trouble = t
		}
	})
}

// routeAgain repeats a call that was cut off, under the marker that stands. That
// a second one is refused says nothing about the first.
func (c *courier) routeAgain(ctx context.Context, r *report) {
	o := &r.order
	m, err := o.dir.Believe(o.name)
	if err != nil || m != o.marker || m.Engine == "" || m.Stage != state.StageReleased || !c.cfg.Fallback.owns(m.By) {
		r.stale = true
		return
	}
	p, err := ReadPrompt(o.dir, o.name, c.cfg.PlainText)
	if err != nil || p.Sum != m.Prompt || m.Address != c.cfg.Fallback.Engine.Address() || barred(o.dir) != "" {
		r.barred = true
		return
	}
	if !c.reached(ctx, r) {
		return
	}
	r.note = "the call to another engine was cut off; it is asked again"
	ectx, done := graceful(ctx, callGrace)
	defer done()
	c.call(ectx, r, m, p, func(t *trouble) {
		if endsJob(t.class) {
			c.refusedForGood(r, t)
			return
		}
		r.trouble = t
	})
}

// call makes the call whose marker stands, and writes what came of it. untaken is
// what to do when the engine did not take the prompt.
func (c *courier) call(ctx context.Context, r *report, m state.Marker, p Prompt, untaken func(*trouble)) {
	r.order.marker, r.marker = m, &m
	model := ""
	if p.Options.Engine == EngineRouter {
		model = p.Options.Model // else it is the chat's
	}
	text, err := c.cfg.Fallback.Engine.Complete(ctx, model, p.Text)
	if err == nil {
		r.spoke = route
		c.answered(ctx, r, text)
		return
	}
	t := engineTrouble(err)
	if endsJob(t.class) {
		r.spoke = route
	}
	switch {
	case !mayHaveLeft(err, true) || FaultOf(err) != nil && saidNo(err):
		untaken(t)
	case ctx.Err() != nil:
		r.note = "the program was stopped before the other engine had answered; the answer is lost"
	case !endsJob(t.class) && c.cfg.Fallback.Again:
		r.trouble = t
	default:
		c.unanswered(r, t, text)
	}
}

// saidNo reports whether the engine itself refused. No class means that by
// itself: what came after the work was begun can have any.
func saidNo(err error) bool {
	var said interface{ Refused() bool }
	return errors.As(err, &said) && said.Refused()
}

// answered writes an answer down, into the folder where its marker is, whatever
// became of that folder's path. There is no other copy: one that the disk does
// not take is tried again soon, and then kept in memory for the next order.
func (c *courier) answered(ctx context.Context, r *report, text string) {
	o := &r.order
	var err error
	for wait := 50 * time.Millisecond; wait < time.Second; wait *= 2 {
		m, seen := o.dir.Believe(o.name)
		if err = seen; seen == nil && m.Engine == o.marker.Engine && m.Prompt == o.marker.Prompt {
			err = o.dir.WriteAnswer(o.name, text)
		} else if seen == nil || isAbsent(seen) {
			r.note = "the marker was taken away or replaced; the answer is not written"
			return
		}
		if err == nil || errors.Is(err, state.ErrExists) {
			r.wrote = true
			c.ended(r)
			return
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	r.trouble, r.folder, r.kept = diskTrouble(err), true, text
}

// unanswered ends a job whose call was taken, or may have been, without a whole
// answer.
func (c *courier) unanswered(r *report, t *trouble, partial string) {
	end := *t
	end.again = true
	if !endsJob(t.class) {
		end.class = ClassAmbiguous
		end.text += "; it may have been done all the same, and paid for"
	}
	c.failSent(r, &end, partial)
	c.ended(r)
	if r.trouble == nil && !endsJob(t.class) {
		r.trouble = t // the next prompt would fare the same
	}
}

// ended notes that the call is over. The files say so already.
func (c *courier) ended(r *report) {
	if m := r.order.marker; r.trouble == nil && m.Stage == state.StageReleased {
		c.advance(r, m, "")
		r.trouble, r.folder = nil, false
	}
}

// takeBack takes the marker away of a prompt that the engine did not take.
func (c *courier) takeBack(r *report, m state.Marker, t *trouble) {
	r.trouble = t
	if !c.retire(r, m) {
		return
	}
	r.marker = nil
	if endsJob(t.class) {
		r.trouble = nil
		if r.order.wanted {
			c.fail(r, t, m.Prompt, nil, "")
			return
		}
		r.barred, r.note = true, t.text // the chat may take it
	}
}

// asked attends to a job whose marker is another engine's: there is nothing to
// read.
func (c *courier) asked(ctx context.Context, r *report) {
	m := r.order.marker
	switch {
	case r.order.kept != "":
		c.answered(ctx, r, r.order.kept)
	case r.order.verb == cancel:
		c.failSent(r, &trouble{class: ClassCancelled, again: true,
			text: "cancelled by its .prompt.cancel; another engine was asked, and its answer is lost"}, "")
		c.acknowledge(r, state.KindRetry, state.KindCancel)
	case !c.cfg.Fallback.owns(m.By):
		if r.patience.verdict(time.Now(), 1<<62) != "" {
			c.failSent(r, &trouble{class: ClassExpired, again: true,
				text: fmt.Sprintf("another program asked another engine, and there is no answer after %v", c.cfg.Expire)}, "")
		}
	case m.Stage == state.StageReleased:
		c.failSent(r, &trouble{class: ClassAmbiguous, again: true,
			text: "the program was stopped while another engine was asked; the answer is lost, and may have been paid for"}, "")
	default:
		c.failSent(r, &trouble{class: ClassGone, again: true,
			text: "another engine gave this answer, and keeps none: it cannot be fetched again"}, "")
	}
}

// graceful is a context that ends so long after another one.
func graceful(ctx context.Context, grace time.Duration) (context.Context, func()) {
	gctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
		case <-gctx.Done():
		}
		cancel()
	})
	return gctx, func() { stop(); cancel() }
}
