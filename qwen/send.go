package qwen

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// The named steps of a send, in order; Options.Step is called right after each.
const (
	StepLoaded    = "loaded"    // page there, logged in, old enough
	StepFilled    = "filled"    // the composer holds the text
	StepPressed   = "pressed"   // send button clicked
	StepHeld      = "held"      // the request is held, the proxy shut
	StepVerified  = "verified"  // it is the send that was wanted
	StepCommitted = "committed" // the address is durable
	StepReleased  = "released"  // the browser may send it
	StepHeaders   = "headers"   // the site has it
	StepNamed     = "named"     // the site named our message
)

// Steps lists them all.
var Steps = []string{StepLoaded, StepFilled, StepPressed, StepHeld, StepVerified,
	StepCommitted, StepReleased, StepHeaders, StepNamed}

// How long the parts of a send may take.
const (
	composeTimeout = 60 * time.Second
	steady         = 300 * time.Millisecond // the text must stay that long
	holdTimeout    = 45 * time.Second       // from the click to the held request
	pressAgain     = 5 * time.Second        // a click without effect is repeated
	drainQuiet     = 60 * time.Millisecond  // no more attempts of what the shut broke
	drainLimit     = 2 * time.Second
	commitLimit    = 5 * time.Second // from the last look at the folder to the release
)

// Send types the prompt into a new chat and lets exactly one request carry it.
// commit is called with the chat's address before anything can leave; when it
// fails, nothing leaves. The message is the site's id of ours, empty when the
// site took the prompt without naming it.
//
// When Send fails and Error.MayHaveLeft is false, no byte of the prompt left
// and none will. Otherwise the browser has been ended before Send returns: no
// later send can come from it.
func (c *Client) Send(ctx context.Context, prompt string, commit func(address string) error) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.fresh(ctx)
	if err != nil {
		return "", err
	}
	s := &sending{page: p, prompt: prompt, commit: commit}
	message, err := s.run(ctx)
	if err == nil {
		c.options.Profile.noteRead(c.site.chatAddress(s.chat)) // its state is known as of now
		return message, nil
	}
	if s.released {
		c.stop() // nothing that could send again may live on
	}
	e := asError(err, KindBrowser, "send the prompt")
	e.Left = s.left
	return "", c.leave(e)
}

// sending is one send, from the loaded page to the site's first word.
type sending struct {
	page     *page
	prompt   string
	commit   func(address string) error
	held     *paused
	chat     string
	released bool // the browser was told to let it go
	left     bool // a byte of it may have left
}

func (s *sending) step(name string) { s.page.client.options.Step(name) }

// run is the order of design: compose, hold, shut, verify, commit, release.
func (s *sending) run(ctx context.Context) (message string, err error) {
	if err := s.compose(ctx); err != nil {
		return "", err
	}
	if err := s.hold(ctx); err != nil {
		return "", s.drop(err)
	}
	if err := s.verify(); err != nil {
		return "", s.drop(err)
	}
	from := bootTime()
	if err := s.commit(s.page.client.site.chatAddress(s.chat)); err != nil {
		return "", s.drop(fmt.Errorf("keep the chat's address: %w", err))
	}
	s.step(StepCommitted)
	if took := bootTime() - from; took > commitLimit {
		return "", s.drop(fail(KindDisk, "send the prompt", "keeping the address took %v; nothing was sent", took.Round(time.Millisecond)))
	}
	// From here on the send is finished whatever becomes of the caller's
	// context: half of it would only leave a doubt.
	return s.release(context.WithoutCancel(ctx))
}

// compose puts the text into an old enough page and sees that it stays.
func (s *sending) compose(ctx context.Context) error {
	p := s.page
	_, err := p.until(ctx, composeTimeout, func(state pageState) (bool, error) {
		old := state.Age >= float64(p.client.options.PageAge.Milliseconds())
		return state.Composer != "" && old, p.trouble(state)
	}, func(pageState, error) error {
		return fail(KindSiteChanged, "find the composer", "the page has none that is known")
	})
	if err != nil {
		return err
	}
	s.step(StepLoaded)
	p.gate.lookFor(s.prompt)
	f := filling{sending: s}
	if _, err := p.until(ctx, composeTimeout, func(state pageState) (bool, error) {
		return f.look(ctx, state)
	}, f.late); err != nil {
		return err
	}
	s.step(StepFilled)
	return nil
}

// filling is the text on its way into the composer: a page that starts up, or
// restores a draft, may throw it away, so it is put in until it stays.
type filling struct {
	*sending
	got   string    // what the composer held last
	since time.Time // how long it has held the whole text
}

func (f *filling) look(ctx context.Context, state pageState) (bool, error) {
	p := f.page
	if err := p.trouble(state); err != nil {
		return false, err
	}
	tab, cancel := p.within(ctx)
	defer cancel()
	got, err := call[*string](tab, "value", p.client.options.Table)
	if err != nil || got == nil {
		return false, nil
	}
	if f.got = *got; f.got != f.prompt {
		f.since = time.Time{}
		_, _ = call[bool](tab, "fill", p.client.options.Table, f.prompt)
		return false, nil
	}
	if f.since.IsZero() {
		f.since = time.Now()
	}
	return state.Send != "" && time.Since(f.since) >= steady, nil
}

// late says why the text isn't in, or why it can't be sent.
func (f *filling) late(state pageState, err error) error {
	const op = "put the text into the page"
	switch {
	case err != nil:
		return fail(KindBrowser, op, "%w", err)
	case f.got == f.prompt:
		return fail(KindSiteChanged, "find the send button", "the page has none that is known and takes clicks")
	case f.got != "":
		return altered(f.prompt, f.got)
	}
	return fail(KindSiteChanged, op, "it does not stay (composer found by %q)", state.Composer)
}

// hold presses the button and waits until the gate holds the send. A click
// that has no effect is repeated: nothing can leave while the gate stands, and
// it holds one send only.
func (s *sending) hold(ctx context.Context) error {
	const op = "press the send button"
	p := s.page
	p.gate.expect(func() { p.browser.proxy.setMode(modeShut) })
	deadline := time.After(holdTimeout)
	again := time.NewTicker(pressAgain)
	defer again.Stop()
	if err := s.press(ctx); err != nil {
		return err
	}
	s.step(StepPressed)
	for {
		select {
		case held := <-p.gate.held:
			s.held = &held
			s.step(StepHeld)
			return nil
		case err := <-p.gate.refused:
			return err
		case <-ctx.Done():
			return fail(KindUnreachable, op, "%w", ctx.Err())
		case <-p.ctx.Done():
			return fail(KindBrowser, op, "the browser ended")
		case <-again.C:
			if err := s.pressIfIdle(ctx); err != nil {
				return err
			}
		case <-deadline:
			return s.notSent(ctx, op)
		}
	}
}

// press clicks where a person would, or from within the page when something
// lies over the button.
func (s *sending) press(ctx context.Context) error {
	const op = "press the send button"
	tab, cancel := s.page.within(ctx)
	defer cancel()
	table := s.page.client.options.Table
	at, err := call[*struct {
		X       float64 `json:"x"`
		Y       float64 `json:"y"`
		Covered bool    `json:"covered"`
	}](tab, "aim", table)
	switch {
	case err != nil:
		return fail(KindBrowser, op, "%w", err)
	case at == nil:
		return fail(KindSiteChanged, op, "it is gone")
	case at.Covered:
		_, err = call[bool](tab, "press", table)
	default:
		err = click(tab, at.X, at.Y)
	}
	if err != nil {
		return fail(KindBrowser, op, "%w", err)
	}
	return nil
}

// click is a mouse's press and release at a point of the page.
func click(tab context.Context, x, y float64) error {
	for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMouseMoved,
		input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		event := input.DispatchMouseEventParams{Type: kind, X: x, Y: y}
		if kind != input.DispatchMouseEventTypeMouseMoved {
			event.Button, event.ClickCount = input.MouseButtonLeft, 1
		}
		if _, err := chromedp.Call(tab, input.DispatchMouseEvent, event); err != nil {
			return err
		}
	}
	return nil
}

// pressIfIdle presses again when the page shows no sign of the first click:
// the text is still in, nothing runs, and no chat was asked for.
func (s *sending) pressIfIdle(ctx context.Context) error {
	state, err := s.page.look(ctx)
	if err != nil {
		return nil // the page is busy; the deadline decides
	}
	if trouble := s.page.trouble(state); trouble != nil {
		return trouble
	}
	if state.Length > 0 && !state.Stop && state.Send != "" && len(s.page.gate.given()) == 0 {
		return s.press(ctx)
	}
	return nil
}

// notSent says what is known when no send came.
func (s *sending) notSent(ctx context.Context, op string) error {
	if strange := s.page.gate.strangers(); len(strange) > 0 {
		return fail(KindSiteChanged, op, "the page sends the text in a way that is not known (%s); it was refused", strange[0])
	}
	if state, err := s.page.look(ctx); err == nil {
		if trouble := s.page.trouble(state); trouble != nil {
			return trouble
		}
	}
	return fail(KindSiteChanged, op, "the page sends nothing; perhaps it refuses a text of %d characters", len([]rune(s.prompt)))
}

// verify looks at what is held, and that nothing else could be sent beside it.
func (s *sending) verify() error {
	p := s.page
	if s.held.Network == "" {
		return fail(KindSiteChanged, "check the request", "the browser does not name it, so its fate could not be seen")
	}
	want := wanted{prompt: s.prompt, chats: p.gate.given(), model: p.client.options.Model}
	id, err := want.verify(s.held.Request.URL, p.gate.body(*s.held))
	if err != nil {
		return err
	}
	if err := p.alone(); err != nil {
		return err
	}
	s.chat = id
	p.drain()
	s.step(StepVerified)
	return nil
}

// drain waits until what the shut broke has failed: until then a broken
// request might take the one connection that the send will get.
func (p *page) drain() {
	stopWorkers(p.ctx)
	for end := time.Now().Add(drainLimit); time.Now().Before(end); {
		quiet := p.browser.proxy.quiet()
		if quiet >= drainQuiet {
			return
		}
		time.Sleep(drainQuiet - quiet)
	}
}

// drop refuses what is held. Nothing has left, and once the browser confirmed
// the refusal nothing will; without its word it is ended, its way out first.
func (s *sending) drop(cause error) error {
	p := s.page
	p.browser.proxy.setMode(modeShut)
	if err := p.gate.abandon(s.held); err != nil {
		p.client.options.Log.Debug().Err(err).Msg("the browser did not confirm the refusal; ending it")
		p.client.stop()
	}
	return cause
}

var errNoHeaders = errors.New("the connection broke before the site answered")
