package qwen

import (
	"context"
	"errors"
	"time"
)

// moreTimeout is how long the button to go on may take to show, and goOnProof how
// long after it was pressed the answer may stay as it was.
var moreTimeout = 20 * time.Second

const goOnProof = 2 * time.Minute

const opGoOn = "have the site go on with the answer"

// GoOn presses the page's button that goes on with our message's answer, which
// the site ended at its length limit, and lets exactly one request do so. What
// becomes of it the next reads show.
//
// For one cut the button is pressed once, ever: a durable note is made before
// anything can leave, and with a note and no longer answer nobody can tell what
// became of the press. Then, and when the limit of the options is met, or the
// request is not one that is understood and harmless, the error is of
// KindGeneration and the answer stays as it is. Other kinds of error speak of the
// account or of this machine: nothing was pressed, and it can be tried again.
func (c *Client) GoOn(ctx context.Context, address, message, after string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, err := c.site.chatID(address)
	if err != nil {
		return err
	}
	if c.options.Continue <= 0 {
		return cutError(opGoOn)
	}
	p, err := c.current(ctx)
	if err != nil {
		return err
	}
	found, err := p.chat(ctx, opGoOn, id)
	if err != nil {
		return c.leave(ctx, err)
	}
	k, _, ok := found.cutOf(opGoOn, message, after)
	if !ok {
		return nil // it went on; the next read tells
	}
	if wait, err := c.mayPress(k); wait || err != nil {
		return err
	}
	return c.goOn(ctx, k, message, after)
}

// mayPress reports whether a press for this cut is still to show its effect; an
// error says that it must not be pressed any more.
func (c *Client) mayPress(k cut) (wait bool, err error) {
	at, times, err := c.options.Profile.pressed(k)
	switch {
	case err != nil:
		return false, fail(KindDisk, opGoOn, "%w", err)
	case !at.IsZero() && time.Since(at) < goOnProof:
		return true, nil
	case !at.IsZero():
		return false, stays(errors.New("its Continue button was pressed, and the answer stayed as it was"))
	case times >= c.options.Continue:
		e := stays(errors.New("its Continue button was pressed as often as --continue allows"))
		e.Advice = "allow more with --continue, or " + e.Advice
		return false, e
	}
	return false, nil
}

// stays is the error of an answer that ends where the site cut it.
func stays(why error) *Error {
	e := fail(KindGeneration, opGoOn, "the site ended the answer at its length limit: %w", why)
	e.Advice, e.More = adviceContinue, true
	return e
}

// goOn does it in a page of the chat.
func (c *Client) goOn(ctx context.Context, k cut, message, after string) error {
	p, err := c.freshAt(ctx, "/c/"+k.chat)
	if err != nil {
		return err
	}
	g := &goingOn{sending: sending{page: p, chat: k.chat}, cut: k, message: message, after: after}
	defer g.settle()
	if err = g.run(ctx); err == nil {
		g.settled = true
		c.options.Profile.noteRead(c.site.chatAddress(k.chat))
		return nil
	}
	if errors.Is(err, errMoved) {
		return nil // its page is dropped
	}
	e := g.judge(err)
	err = e
	g.show = func() { err = c.evidence(ctx, p, e) }
	g.settle()
	g.show = nil
	*e = g.outlived(*asError(err, KindBrowser, opGoOn))
	switch {
	case g.pressed && e.Kind != KindQuota && e.Kind != KindLogin && e.Kind != KindChallenge:
		c.options.Log.Warn().Err(e).Msg("the answer was asked to go on; whether it does, its chat will tell")
		return nil
	case e.Kind == KindSiteChanged || e.Kind == KindAltered:
		end := stays(e.Err)
		end.Advice = e.Advice
		return end
	}
	return c.leave(ctx, e)
}

// errMoved says that the answer is not any more what it was.
var errMoved = errors.New("the answer changes")

// goingOn is one press of the button, from the loaded page to the site's reply.
type goingOn struct {
	sending
	cut            cut
	message, after string // how our message is found
	pressed        bool   // the note is made
}

// judge makes of an error what a person can do about it.
func (g *goingOn) judge(err error) *Error {
	e := *asError(err, KindBrowser, opGoOn)
	if e.Kind == KindSiteChanged || e.Kind == KindAltered {
		e.Advice = adviceContinue
	}
	return &e
}

// run is the order of a send: look, press, hold, shut, verify, note, release.
func (g *goingOn) run(ctx context.Context) error {
	p := g.page
	if err := p.rendered(ctx, opGoOn, g.chat, g.cut.answer); err != nil {
		return err
	}
	if err := g.same(ctx); err != nil {
		return err
	}
	p.gate.lookFor(g.cut.prompt)
	p.gate.expectGoOn(g.cut)
	g.step(StepLoaded)
	if err := g.press(ctx); err != nil {
		return err
	}
	g.step(StepPressed)
	if err := g.hold(ctx); err != nil {
		return err
	}
	if err := g.verify(); err != nil {
		return err
	}
	if err := p.client.options.Profile.notePressed(g.cut); err != nil {
		return fail(KindDisk, opGoOn, "note that the button is pressed: %w", err)
	}
	g.pressed = true
	g.step(StepCommitted)
	return g.goes(context.WithoutCancel(ctx))
}

// same looks once more whether the chat ends with this very cut.
func (g *goingOn) same(ctx context.Context) error {
	found, err := g.page.chat(ctx, opGoOn, g.chat)
	if err != nil {
		return err
	}
	k, current, ok := found.cutOf(opGoOn, g.message, g.after)
	switch {
	case !ok || k != g.cut:
		return errMoved
	case !current:
		return fail(KindSiteChanged, opGoOn, "the chat went on behind it")
	}
	return nil
}

// spot is where the button is.
type spot struct {
	X       float64 `json:"x"`
	Y       float64 `json:"y"`
	Covered bool    `json:"covered"`
}

// press clicks the button, once.
func (g *goingOn) press(ctx context.Context) error {
	p := g.page
	tab, cancel := p.within(ctx)
	defer cancel()
	tab, cancelTime := context.WithTimeout(tab, moreTimeout+commandTimeout)
	defer cancelTime()
	var at *spot
	_, err := p.until(ctx, moreTimeout, func(s pageState) (bool, error) {
		if err := p.trouble(s); err != nil {
			return false, err
		}
		at, _ = call[*spot](tab, "more", p.client.options.Table, g.cut.answer, false)
		return at != nil, nil
	}, func(pageState, error) error {
		return fail(KindSiteChanged, opGoOn, "the page shows no Continue button that is known")
	})
	if err != nil {
		return err
	}
	if at.Covered {
		_, err = call[*spot](tab, "more", p.client.options.Table, g.cut.answer, true)
	} else {
		err = click(tab, at.X, at.Y)
	}
	if err != nil {
		return fail(KindBrowser, opGoOn, "press Continue: %w", err)
	}
	return nil
}

// hold waits until the gate holds what the button makes the page send.
func (g *goingOn) hold(ctx context.Context) error {
	p := g.page
	limit := time.After(holdTimeout)
	look := time.NewTicker(pollInterval)
	defer look.Stop()
	for {
		select {
		case held := <-p.gate.held:
			g.held = &held
			g.step(StepHeld)
			return nil
		case err := <-p.gate.refused:
			return err
		case <-ctx.Done():
			return fail(KindUnreachable, opGoOn, "%w", ctx.Err())
		case <-p.live.Done():
			return fail(KindBrowser, opGoOn, "the browser ended, or the page crashed")
		case <-look.C:
			if strange := p.gate.strangers(); len(strange) > 0 {
				return fail(KindSiteChanged, opGoOn, "its page goes on in a way that is not known (%s); that was refused", strange[0])
			}
		case <-limit:
			return fail(KindSiteChanged, opGoOn, "its page sends nothing when Continue is pressed")
		}
	}
}

// verify looks at what is held, and that nothing else could be sent beside it.
func (g *goingOn) verify() error {
	p := g.page
	if g.held.Network == "" {
		return fail(KindSiteChanged, "check the request", "the browser does not name it, so its fate could not be seen")
	}
	if err := g.cut.verify(g.held.Request.Method, g.held.Request.URL, p.gate.body(*g.held)); err != nil {
		return err
	}
	if err := p.alone(); err != nil {
		return err
	}
	p.browser.proxy.drain()
	g.step(StepVerified)
	return nil
}

// goes lets the request go, and waits for the site's first words.
func (g *goingOn) goes(ctx context.Context) error {
	stream, done, err := g.deliver(ctx)
	if err != nil {
		return err
	}
	first, err := stream.first(ctx)
	if err != nil {
		done()
		return err
	}
	g.answer = first.Answer
	g.step(StepNamed)
	go g.attend(stream, done)
	return nil
}
