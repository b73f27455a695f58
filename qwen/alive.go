package qwen

import (
	"context"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// Alive asks the browser for an answer, if one runs and no call is under way:
// a call has limits of its own. The error says that the browser hangs; one that
// ended by itself is no matter, as the next call starts another.
func (c *Client) Alive(ctx context.Context) error {
	if !c.mu.TryLock() {
		return nil
	}
	b := c.browser
	c.mu.Unlock()
	if b == nil || b.ctx.Err() != nil {
		return nil
	}
	asking, cancel := context.WithCancel(b.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	_, err := chromedp.CallBrowser(asking, browser.GetVersion, cdp.Empty{})
	switch {
	case err == nil, b.ctx.Err() != nil:
		return nil
	case ctx.Err() != nil:
		return fail(KindBrowser, "look after the browser", "it does not answer: %w", ctx.Err())
	}
	return fail(KindBrowser, "look after the browser", "%w", err)
}
