package qwen

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// How long a page may take. The facts behind: the site's scripts patch fetch
// about 1.3 s after a cold load, and in some headless runs their token never
// appears; text set in the first 3 s is thrown away by hydration.
const (
	tabTimeout     = 30 * time.Second
	loadTimeout    = 60 * time.Second
	settleTimeout  = 8 * time.Second  // for the scripts' token, then go on without
	scriptsTimeout = 16 * time.Second // for the scripts themselves
	pollInterval   = 100 * time.Millisecond
	fetchTimeout   = 60 * time.Second // until it is whole
)

// keptReplies is how many bytes of replies the browser keeps for us.
const keptReplies = 4 << 20

// Waits that a rehearsal shortens.
var (
	checkTimeout = 15 * time.Second // for a check page that clears itself
	replyTimeout = 15 * time.Second // until a reply begins: a punished request hangs
)

// page is one loaded tab on the site, with its gate.
type page struct {
	client  *Client
	browser *chromium
	ctx     context.Context // the tab's; its end closes the tab
	cancel  context.CancelFunc
	live    context.Context // ends with the tab, or when its process crashes
	gate    *gate
	record  *recorder // nil unless evidence is kept
	account string    // the site's id of who is logged in
	expires time.Time // when that ends; zero if nobody says
	opened  time.Time
	path    string // what it was opened at

	following atomic.Int64 // unix nanoseconds since an answer's stream is followed; 0: none is
	frozen    bool         // its scripts are stopped, see freeze
	stale     bool         // they were once
}

// pageState is what js/state.js returns.
type pageState struct {
	Href        string  `json:"href"`
	Title       string  `json:"title"`
	Age         float64 `json:"age"`    // milliseconds since the navigation
	Status      int     `json:"status"` // of the page's own reply; 0 if unknown
	Loading     bool    `json:"loading"`
	Initialised bool    `json:"initialised"`
	UID         bool    `json:"uid"`
	Scripts     bool    `json:"scripts"`
	Data        bool    `json:"data"`
	User        *struct {
		ID      string  `json:"id"`
		Expires float64 `json:"expires"`
	} `json:"user"`
	Composer string `json:"composer"`
	Length   int    `json:"length"`
	Send     string `json:"send"`
	Stop     bool   `json:"stop"`
	Avatar   bool   `json:"avatar"`
	LogIn    bool   `json:"logIn"`
	Chooser  bool   `json:"chooser"`
	Punish   bool   `json:"punish"`
	Blocked  bool   `json:"blocked"`
}

// within derives a context of the tab that also ends with ctx.
func (p *page) within(ctx context.Context) (context.Context, context.CancelFunc) {
	tab, cancel := context.WithCancel(p.live)
	stop := context.AfterFunc(ctx, cancel)
	return tab, func() { stop(); cancel() }
}

// openPage makes a tab, arms its gate, and only then lets it out.
func (c *Client) openPage(ctx context.Context, path string) (*page, error) {
	b, err := c.running(ctx)
	if err != nil {
		return nil, err
	}
	p := &page{client: c, browser: b, opened: time.Now(), path: path}
	b.guard.expect()
	if err := p.arm(ctx); err != nil {
		b.guard.admit("", nil)
		c.discard(p)
		return nil, asError(err, KindBrowser, "open a page")
	}
	b.proxy.setMode(modeOpen)
	if err := p.navigate(ctx, path); err != nil {
		c.discard(p)
		return nil, err
	}
	return p, nil
}

// arm starts the tab and puts the gate before it, in this order: the tab is
// blank, the proxy is closed, and nothing is navigated yet.
func (p *page) arm(ctx context.Context) error {
	// A tab, not a window: each new window costs the browser a second of work.
	p.ctx, p.cancel = chromedp.NewContext(p.browser.ctx, chromedp.WithNewWindow(false))
	p.live = p.ctx
	started := make(chan error, 1)
	go func() { started <- chromedp.Do(p.ctx) }()
	select {
	case err := <-started:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(tabTimeout):
		return errors.New("the browser makes no tab")
	}
	p.noticeCrash()
	if p.client.options.Evidence != "" {
		p.record = recordPage(p.ctx, p.client.site)
	}
	tab, cancel := p.within(ctx)
	defer cancel()
	if _, err := chromedp.Call(tab, network.SetBypassServiceWorker, network.SetBypassServiceWorkerParams{Bypass: true}); err != nil {
		return err
	}
	// The browser keeps replies for whoever asks later, 100 MB of them; only a
	// refusal's is ever asked for.
	total, one := int64(keptReplies), int64(keptReplies/4)
	if _, err := chromedp.Call(tab, network.Enable, network.EnableParams{MaxTotalBufferSize: &total, MaxResourceBufferSize: &one}); err != nil {
		return err
	}
	p.answerDialogs()
	var err error
	p.gate, err = newGate(tab, p.ctx, p.client.site, p.client.options.Table, func() { p.browser.proxy.setMode(modeShut) })
	if err == nil {
		p.browser.guard.admit(chromedp.FromContext(p.ctx).Target.TargetID, p.gate)
	}
	return err
}

// navigate opens a path of the site. It doesn't wait for the load event, which
// one pending image can keep away for ever.
func (p *page) navigate(ctx context.Context, path string) error {
	const op = "open the site"
	tab, cancel := p.within(ctx)
	defer cancel()
	tab, cancelTime := context.WithTimeout(tab, loadTimeout)
	defer cancelTime()
	r, err := chromedp.Call(tab, cdppage.Navigate, cdppage.NavigateParams{URL: p.client.site.url(path)})
	switch {
	case err != nil && ctx.Err() != nil:
		return fail(KindUnreachable, op, "%w", ctx.Err())
	case errors.Is(err, context.DeadlineExceeded):
		return fail(KindUnreachable, op, "%s gives no page within %v", p.client.site.base, loadTimeout)
	case err != nil:
		return fail(KindBrowser, op, "%w", err)
	case r.ErrorText != "":
		return fail(KindUnreachable, op, "%s: %s", p.client.site.base, r.ErrorText)
	}
	return nil
}

// look reads the page's state; an error means that it can't be read now.
func (p *page) look(ctx context.Context) (pageState, error) {
	tab, cancel := p.within(ctx)
	defer cancel()
	tab, cancelTime := context.WithTimeout(tab, 10*time.Second)
	defer cancelTime()
	return call[pageState](tab, "state", p.client.options.Table)
}

// until polls the page's state until the condition says yes or an error, or
// the time is up; then it returns the last state and the error that late makes.
func (p *page) until(ctx context.Context, limit time.Duration, met func(pageState) (bool, error), late func(pageState, error) error) (pageState, error) {
	deadline := time.Now().Add(limit)
	for {
		s, err := p.look(ctx)
		if err == nil {
			ok, verdict := met(s)
			if ok || verdict != nil {
				return s, verdict
			}
		}
		if p.live.Err() != nil {
			return s, fail(KindBrowser, "look at the page", "the browser ended, or the page crashed")
		}
		if time.Now().After(deadline) {
			return s, late(s, err)
		}
		if err := sleep(ctx, pollInterval); err != nil {
			return s, fail(KindUnreachable, "look at the page", "%w", err)
		}
	}
}

// sleep waits, or returns the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
