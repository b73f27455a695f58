package qwen

import (
	"context"
	"time"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// freezeAfter is how long nothing was asked of a page before its scripts are
// stopped until the next call. Its timers and animations would otherwise cost
// seconds of work a minute.
var freezeAfter = 10 * time.Second

// lookEvery is how often a running browser's memory, program and tabs are
// looked at, at most.
var lookEvery = time.Minute

// tend is the beginning of each call that uses the browser. One that has served
// long enough is ended in order: the call starts the next. It is never done
// within a send, as the caller holds the lock of calls.
func (c *Client) tend(ctx context.Context) {
	now := time.Now()
	c.called = now
	c.resting.Reset(c.options.Life.firstRest())
	b := c.browser
	if b == nil || b.ctx.Err() != nil {
		return
	}
	u := usage{watching: c.watching(now)}
	if now.Sub(c.looked) >= lookEvery {
		c.looked = now
		u.memory, u.replaced = treeMemory(b.pid), replaced(b.pid)
		c.sweepTabs()
	}
	if why := c.keeper.worn(u, now); why != "" {
		c.keeper.replace()
		c.options.Log.Info().Str("reason", why).Msg("replacing the browser")
		c.stop()
		return
	}
	if p := c.page; p != nil && !p.thaw(ctx) {
		c.discard(p)
	}
}

// watching reports whether the loaded page follows an answer's stream.
func (c *Client) watching(now time.Time) bool {
	p := c.page
	if p == nil {
		return false
	}
	since := p.following.Load()
	return since != 0 && now.Sub(time.Unix(0, since)) < streamLongest
}

// rest runs when nothing was asked of the browser for a while: its page is
// frozen, and later the browser is closed. The next call thaws or starts it.
func (c *Client) rest() {
	if !c.mu.TryLock() {
		c.resting.Reset(freezeAfter) // a call is under way
		return
	}
	defer c.mu.Unlock()
	if c.browser == nil {
		return
	}
	now := time.Now()
	quiet, idle := now.Sub(c.called), c.options.Life.Idle
	switch {
	case c.watching(now):
		c.resting.Reset(freezeAfter)
	case idle > 0 && quiet >= idle:
		c.options.Log.Info().Str("reason", "nothing was asked of it for "+idle.String()).Msg("closing the browser")
		c.stop()
	default:
		if c.page != nil {
			c.page.freeze()
		}
		if idle > 0 {
			c.resting.Reset(idle - quiet)
		}
	}
}

// firstRest is how long after a call rest looks first.
func (l Life) firstRest() time.Duration {
	if l.Idle > 0 {
		return min(l.Idle, freezeAfter)
	}
	return freezeAfter
}

// lifecycleTimeout bounds the freezing and the thawing of a page.
const lifecycleTimeout = 5 * time.Second

// freeze stops the page's scripts, timers and animations. A page that was
// frozen is read from, but no prompt is put into it: who knows what its scripts
// make of the time that they missed.
func (p *page) freeze() {
	if p.frozen || p.client.options.Visible || !p.alive() {
		return // somebody may be looking at a window
	}
	p.frozen, p.stale = true, true
	if err := p.lifecycle(p.live, "frozen"); err != nil {
		p.client.options.Log.Debug().Err(err).Msg("the page can't be frozen")
	}
}

// thaw undoes freeze. It reports false when the page doesn't confirm that: a
// frozen page answers no request for data.
func (p *page) thaw(ctx context.Context) bool {
	if !p.frozen {
		return true
	}
	tab, cancel := p.within(ctx)
	defer cancel()
	if err := p.lifecycle(tab, "active"); err != nil {
		return ctx.Err() != nil // then it is not the page's fault, and it stays frozen
	}
	p.frozen = false
	return true
}

func (p *page) lifecycle(tab context.Context, state cdppage.SetWebLifecycleStateState) error {
	tab, cancel := context.WithTimeout(tab, lifecycleTimeout)
	defer cancel()
	_, err := chromedp.Call(tab, cdppage.SetWebLifecycleState, cdppage.SetWebLifecycleStateParams{State: state})
	return err
}

// sweepTabs closes pages that are neither ours nor the browser's blank first
// one. The guard ends those as they are made; one that it missed would use
// memory for months, and keep every send from being let go.
func (c *Client) sweepTabs() {
	ctx, cancel := context.WithTimeout(c.browser.ctx, lifecycleTimeout)
	defer cancel()
	r, err := chromedp.CallBrowser(ctx, target.GetTargets, target.GetTargetsParams{})
	if err != nil {
		return
	}
	for _, info := range r.TargetInfos {
		first := info.TargetID == chromedp.FromContext(c.browser.ctx).Target.TargetID
		if info.Type != "page" || first || c.page != nil && c.page.ours(info.TargetID) {
			continue
		}
		c.options.Log.Warn().Msg("the browser has a page that nobody opened; closing it")
		_, _ = chromedp.CallBrowser(ctx, target.CloseTarget, target.CloseTargetParams{TargetID: info.TargetID})
	}
}
