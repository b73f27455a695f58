package qwen

import (
	"context"

	"github.com/chromedp/cdproto/inspector"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// noticeCrash ends the page's use when its process crashes: commands to it
// would wait for ever. The tab stays until it is closed.
func (p *page) noticeCrash() {
	live, crash := context.WithCancel(p.ctx)
	p.live = live
	events, _ := chromedp.FromContext(p.ctx).Target.Subscribe(inspector.TargetCrashed.Method)
	go func() {
		for range events {
			p.client.mourn(p.opened, "the page's process")
			crash()
		}
		crash()
	}()
}

// answerDialogs accepts what would block the page: alerts, and the question
// whether to leave.
func (p *page) answerDialogs() {
	events, _ := chromedp.FromContext(p.ctx).Target.Subscribe(cdppage.JavascriptDialogOpening.Method)
	go func() {
		for range events {
			p.client.options.Log.Debug().Msg("the page opened a dialog; closed it")
			_, _ = chromedp.Call(p.ctx, cdppage.HandleJavaScriptDialog, cdppage.HandleJavaScriptDialogParams{Accept: true})
		}
	}()
}

// ours reports whether a target is this page or the browser's blank first one.
func (p *page) ours(id target.ID) bool {
	return id == chromedp.FromContext(p.ctx).Target.TargetID ||
		id == chromedp.FromContext(p.browser.ctx).Target.TargetID
}

// alone is an error when the browser has another page. The guard ends those
// that are made; this makes sure.
func (p *page) alone() error {
	r, err := chromedp.CallBrowser(p.browser.ctx, target.GetTargets, target.GetTargetsParams{})
	if err != nil {
		return fail(KindBrowser, "look for other pages", "%w", err)
	}
	for _, info := range r.TargetInfos {
		if info.Type == "page" && !p.ours(info.TargetID) {
			return fail(KindSiteChanged, "look for other pages", "the site opened another page, which the gate does not hold")
		}
	}
	return nil
}

// alive reports whether the page can still be used.
func (p *page) alive() bool {
	if p.live.Err() != nil || p.browser.ctx.Err() != nil {
		return false
	}
	gone, err := chromedp.Detached(p.ctx)
	if err != nil {
		return false
	}
	select {
	case <-gone:
		return false
	default:
		return true
	}
}
