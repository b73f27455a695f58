package qwen

import (
	"context"
	"fmt"
	"time"
)

// The named steps of a send, in order; Options.Step is called right after each.
const (
	StepLoaded    = "loaded"    // page there, logged in, old enough
	StepAttached  = "attached"  // the site has the files; only of a send with some
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

// commitLimit is the longest time from the last look at the folder to the
// release.
const commitLimit = 5 * time.Second

// Outgoing is what a send has to say: the text, byte for byte; the address of the
// chat to continue, empty for a new one; what overrides the options, if not empty;
// and the paths of what goes with it. It is an alias of an unnamed struct, so that
// a caller can declare the same without importing this package.
type Outgoing = struct {
	Prompt                  string
	Chat                    string
	Model, Thinking, Search string
	Files                   []string
}

// Send types the prompt into a new chat, or into the one that it continues, and
// lets exactly one request carry it. commit is called with the chat's address
// before anything can leave, and with the id of the answer that ours follows,
// empty in a new chat; when it fails, nothing leaves. The message is the site's id of ours, empty when the
// site took the prompt without naming it.
//
// When Send fails and Error.MayHaveLeft is false, no byte of the prompt left
// and none will. Otherwise what could send it again has been ended before Send
// returns: the page when the site had answered, else the whole browser.
func (c *Client) Send(ctx context.Context, out Outgoing, commit func(address, after string) error) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.able(out); err != nil {
		return "", err
	}
	message, err := c.attempt(ctx, out, commit)
	if e, ok := err.(*Error); ok && e.Kind == KindAltered && !e.Left {
		// A draft that the page restored late looks the same, once.
		message, err = c.attempt(ctx, out, commit)
	}
	return message, err
}

// able refuses what a send can't say, before anything is opened.
func (c *Client) able(out Outgoing) error {
	if _, err := c.options.wish(out); err != nil {
		return err
	}
	_, err := enclose(out.Files)
	return err
}

// begin is a send in a page that no prompt has been in: of a new chat, or of the
// one to continue.
func (c *Client) begin(ctx context.Context, out Outgoing) (s *sending, err error) {
	s = &sending{prompt: out.Prompt}
	if s.files, err = enclose(out.Files); err != nil {
		return s, err
	}
	if out.Chat == "" {
		s.page, err = c.pristine(ctx)
	} else {
		s.page, s.chat, s.after, err = c.toFollow(ctx, out.Chat)
	}
	return s, err
}

// attempt sends once.
func (c *Client) attempt(ctx context.Context, out Outgoing, commit func(address, after string) error) (string, error) {
	s, err := c.begin(ctx, out)
	if err != nil {
		return "", err
	}
	p := s.page
	s.commit = commit
	s.wish, _ = c.options.wish(out) // it was checked
	defer s.settle()                // also when commit or a step panics
	message, err := s.run(ctx)
	if err == nil {
		s.settled = true
		c.options.Profile.noteRead(c.site.chatAddress(s.chat)) // its page was just seen
		return message, nil
	}
	err = s.explain(ctx, err)
	s.show = func() { err = c.evidence(ctx, p, err) }
	s.settle()
	s.show = nil
	e := s.outlived(*asError(err, KindBrowser, "send the prompt"))
	e.Left = s.left || p.gate.leak()
	if e.Kind == KindGone && s.after == "" {
		// Of a chat that was made a moment ago, or of a model: not this prompt's
		// fault, and the next would fare the same.
		e.Kind, e.Advice = KindSiteChanged, advice[KindSiteChanged]
	}
	return "", c.leave(ctx, &e)
}

// sending is one send, from the loaded page to the site's first word.
type sending struct {
	page     *page
	prompt   string
	wish     wish
	files    []enclosure
	commit   func(address, after string) error
	held     *paused
	chat     string
	answer   string // the site's id of the answer, once it is named
	after    string // the answer to follow in a chat that is continued
	released bool   // the browser was told to let it go
	answered bool   // the site's headers are in
	left     bool   // a byte of it may have left
	settled  bool   // nothing of this send can leave any more
	show     func() // keeps what the page shows, when nothing can leave; may be nil
}

func (s *sending) step(name string) { s.page.client.options.Step(name) }

// settle makes sure that a send that failed can't leave any more.
//
// Not released: the proxy has been shut since the hold, and the refusal is
// awaited; without the browser's word it is ended with the proxy shut, so the
// request has no way out then either. Released and not answered: Chromium may
// still try, so it is ended. Answered: only the page's own scripts could repeat
// it, and they end with the page, while the gate refuses.
func (s *sending) settle() {
	if s.settled {
		return
	}
	s.settled = true
	c := s.page.client
	switch {
	case s.answered:
		s.shown()
		c.discard(s.page)
	case s.released:
		c.stop()
	default:
		_ = s.drop(nil)
	}
}

// run is the order of design: compose, hold, shut, verify, commit, release.
func (s *sending) run(ctx context.Context) (message string, err error) {
	if err := s.compose(ctx); err != nil {
		return "", err
	}
	if err := s.unmoved(ctx); err != nil {
		return "", err
	}
	if err := s.hold(ctx); err != nil {
		return "", err
	}
	if err := s.stays(ctx); err != nil {
		return "", err
	}
	if err := s.verify(); err != nil {
		return "", err
	}
	from := bootTime()
	if err := s.commit(s.page.client.site.chatAddress(s.chat), s.after); err != nil {
		return "", fmt.Errorf("keep the chat's address: %w", err)
	}
	s.step(StepCommitted)
	if took := bootTime() - from; took > commitLimit {
		return "", fail(KindDisk, "send the prompt", "keeping the address took %v (the disk is slow, or the machine slept); nothing was sent", took.Round(time.Millisecond))
	}
	// From here on the send is finished whatever becomes of the caller's
	// context: half of it would only leave a doubt.
	return s.release(context.WithoutCancel(ctx))
}

// verify looks at what is held, and that nothing else could be sent beside it.
func (s *sending) verify() error {
	p := s.page
	if s.held.Network == "" {
		return fail(KindSiteChanged, "check the request", "the browser does not name it, so its fate could not be seen")
	}
	want := wanted{prompt: s.prompt, chats: s.chats(), after: s.after, model: s.wish.model, choice: s.wish.choice, files: s.files}
	id, err := want.verify(s.held.Request.URL, p.gate.body(*s.held))
	if err != nil {
		return err
	}
	if err := p.alone(); err != nil {
		return err
	}
	s.chat = id
	p.browser.proxy.drain()
	s.step(StepVerified)
	return nil
}

// drop refuses what is held. Nothing has left, and once the browser confirmed
// the refusal nothing will; without its word it is ended, its way out first.
// The page goes too, as its scripts may have more in store.
func (s *sending) drop(cause error) error {
	p := s.page
	p.browser.proxy.setMode(modeShut)
	if err := p.gate.abandon(s.held); err != nil {
		p.client.options.Log.Debug().Err(err).Msg("the browser did not confirm the refusal; ending it")
		p.client.stop()
	} else {
		s.shown()
		p.client.discard(p)
	}
	s.settled = true
	return cause
}

// shown keeps what the page shows.
func (s *sending) shown() {
	if s.show != nil {
		s.show()
	}
}
