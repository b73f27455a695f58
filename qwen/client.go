package qwen

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// Options say how a Client drives the site. The zero value of each field has
// a usable meaning where one is named.
type Options struct {
	Site    string   // the site's address; required
	Table   Site     // what is known of the site; DefaultSite() is usual
	Profile *Profile // whose login; required, and held until Close
	Browser string   // Chromium's path; "" looks in the usual places
	Visible bool     // show a window instead of running headless
	Model   string   // lower-case model id that the send must ask; "" accepts the page's

	// What else the send must ask; "" accepts the page's choice. The held
	// request is the proof, whatever the page's controls show.
	Thinking Thinking
	Search   Search

	// Continue is how often at most the page's button to go on is pressed for
	// one answer that the site ended at its length limit; 0: never.
	Continue int

	// Sources adds the pages that a search found to the end of an answer, under
	// a heading of their own.
	Sources bool

	// PageAge is how old a page must be before text is put into it; younger
	// ones throw it away. 3 s is what the real site needs.
	PageAge time.Duration

	// TrustSPKI makes the browser accept one certificate: the base64 sha256
	// of its public key. For rehearsals on loopback only.
	TrustSPKI string

	// Evidence is the folder in which is kept what a page showed that was not
	// understood, or that asks for a person: without texts and secrets, the last
	// twenty times. "" keeps none. Version names this program in it.
	Evidence, Version string

	// Life bounds how a browser is used; DefaultLife() is usual, and the zero
	// value keeps it for ever.
	Life Life

	Log zerolog.Logger

	// Ended, if set, is called when the page that sent a prompt sees its
	// answer's stream end. It must return fast.
	Ended func(address string)

	// LoginEnds, if set, is told at most once a day when a page that was loaded
	// shows that the login ends within LoginWarning.
	LoginEnds func(time.Time)

	// Step, if set, is called at each named step of a send; for tests.
	Step func(name string)
}

// Client is the driver: one browser, at most one loaded page, one call at a
// time. It starts the browser when a call first needs it.
type Client struct {
	options Options
	site    origin

	mu      sync.Mutex // one call at a time
	browser *chromium
	page    *page
	owner   string

	keeper  keeper
	resting *time.Timer // of rest
	called  time.Time   // when a call last used the browser
	looked  time.Time   // when its memory, program and tabs were last looked at

	tokenless bool      // the scripts' token was waited for in vain
	warned    time.Time // when the login's end was last spoken of

	latest atomic.Pointer[chromium] // the last one that was started

	headersTimeout, namedTimeout time.Duration
}

// New returns a Client; it starts nothing.
func New(o Options) (*Client, error) {
	site, err := parseOrigin(o.Site)
	if err != nil {
		return nil, err
	}
	if err := o.choice().check(); err != nil {
		return nil, err
	}
	if o.TrustSPKI != "" && !site.loopback() {
		return nil, fail(KindInvalid, "trust a certificate", "only for a site on this machine")
	}
	if o.Step == nil {
		o.Step = func(string) {}
	}
	if o.Ended == nil {
		o.Ended = func(string) {}
	}
	c := &Client{options: o, site: site, headersTimeout: headersTimeout, namedTimeout: namedTimeout}
	c.keeper.limits = o.Life
	c.resting = time.AfterFunc(time.Hour, c.rest)
	c.resting.Stop() // until the first call
	return c, nil
}

// Close ends the browser in order. The profile stays the caller's.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resting.Stop()
	c.stop()
	c.keeper.forgive()
}

// stop closes the page and ends the browser.
func (c *Client) stop() {
	b := c.browser
	died := b != nil && b.ctx.Err() != nil
	if died {
		c.mourn(b.born, "the browser")
	}
	if p := c.page; p != nil {
		c.page = nil
		p.close()
	}
	if b != nil {
		b.stop()
		c.browser = nil
		c.keeper.ended(!died, time.Now())
	}
}

// mourn counts something that was born then and ended by itself.
func (c *Client) mourn(born time.Time, what string) {
	row := c.keeper.died(born, time.Now())
	c.options.Log.Warn().Int("row", row).Msg(what + " ended by itself")
}

// running returns the browser, started if need be.
func (c *Client) running(ctx context.Context) (*chromium, error) {
	if c.browser != nil && c.browser.ctx.Err() == nil {
		return c.browser, nil
	}
	c.stop()
	if err := ctx.Err(); err != nil {
		return nil, fail(KindBrowser, "start the browser", "%w", err)
	}
	if err := c.keeper.mayStart(time.Now()); err != nil {
		return nil, err
	}
	b, err := startBrowser(ctx, &c.options, c.site)
	if err != nil {
		return nil, err
	}
	c.looked = b.born
	c.keeper.started(b.born)
	c.options.Log.Debug().Str("browser", b.version).Msg("browser started")
	c.browser = b
	c.latest.Store(b)
	return b, nil
}

// discard ends a page. Where the browser doesn't confirm that, it is ended too:
// with the site in reach again, the page might still send.
func (c *Client) discard(p *page) {
	if p == nil {
		return
	}
	if c.page == p {
		c.page = nil
	}
	if !p.close() {
		c.options.Log.Warn().Msg("the page did not end; ending the browser")
		c.stop()
	}
}

// fresh replaces the page by a new one at the site's home, logged in.
func (c *Client) fresh(ctx context.Context) (*page, error) {
	return c.freshAt(ctx, c.options.Table.Home)
}

// freshAt is fresh at another path of the site.
func (c *Client) freshAt(ctx context.Context, path string) (*page, error) {
	c.discard(c.page)
	p, err := c.openPage(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := p.entered(ctx); err != nil {
		err = c.evidence(ctx, p, err)
		c.discard(p)
		return nil, err
	}
	owner, err := c.options.Profile.Owner(p.account)
	if err != nil {
		c.discard(p)
		return nil, err
	}
	c.page, c.owner = p, owner
	c.warnExpiry(p.expires)
	return p, nil
}

// pristineLife is how old a page may be to be sent from without a new load.
const pristineLife = 5 * time.Minute

// pristine returns a page for a send, which no prompt has been in: the loaded one
// if it is young, else a new one.
func (c *Client) pristine(ctx context.Context) (*page, error) {
	c.tend(ctx)
	if p := c.page; p != nil && p.path == c.options.Table.Home && p.alive() && !p.stale && !p.gate.prompted() && time.Since(p.opened) < pristineLife {
		return p, nil
	}
	return c.fresh(ctx)
}

// pageLife is how long a page is used for reading. A load renews the login,
// which the site gives for 30 days from each load.
const pageLife = 12 * time.Hour

// current returns the loaded page, or a new one.
func (c *Client) current(ctx context.Context) (*page, error) {
	c.tend(ctx)
	if c.page != nil && c.page.alive() && time.Since(c.page.opened) < pageLife {
		return c.page, nil
	}
	return c.fresh(ctx)
}

// leave drops the page after trouble that a new one may not have, a person's
// login or a solved check among them.
func (c *Client) leave(ctx context.Context, err error) error {
	if err == nil || c.page == nil {
		return err
	}
	switch asError(err, KindBrowser, "").Kind {
	case KindLogin, KindChallenge, KindSiteChanged, KindBrowser, KindUnreachable:
		err = c.evidence(ctx, c.page, err)
		c.discard(c.page)
	}
	return err
}

// Owner returns the id under which this profile and account sign markers.
func (c *Client) Owner(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.current(ctx); err != nil {
		return "", err
	}
	return c.owner, nil
}
