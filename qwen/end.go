package qwen

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// close ends the page. Everything it holds is failed first, with the site out
// of reach: a page that is merely closed, or only let go by us, would send what
// is held. It reports whether the browser confirmed the end; if it did not, the
// browser must end too before the site may be in reach again.
func (p *page) close() bool {
	p.browser.proxy.setMode(modeShut)
	if p.ctx != nil {
		p.thaw(p.live) // a frozen page doesn't end
	}
	prompt := false
	if p.gate != nil {
		_ = p.gate.abandon(nil)
		prompt = p.gate.prompted()
	}
	ended := p.end()
	if p.cancel != nil {
		p.cancel()
	}
	if prompt {
		p.browser.proxy.drain() // what its end set off, a beacon for instance
	}
	return ended
}

// endTimeout is how long a page may take to end.
const endTimeout = 5 * time.Second

// end closes the tab and waits until the browser says that it is gone.
func (p *page) end() bool {
	if p.ctx == nil || p.browser.ctx.Err() != nil {
		return true
	}
	gone, err := chromedp.Detached(p.ctx)
	if err != nil {
		return true // there never was a tab
	}
	ctx, cancel := context.WithTimeout(p.browser.ctx, endTimeout)
	defer cancel()
	_, _ = chromedp.CallBrowser(ctx, target.CloseTarget, target.CloseTargetParams{TargetID: chromedp.FromContext(p.ctx).Target.TargetID})
	select {
	case <-gone:
		return true
	case <-ctx.Done():
		return p.browser.ctx.Err() != nil
	}
}
