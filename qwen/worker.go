package qwen

import (
	"context"
	"encoding/json"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// tame puts a gate before a service worker that is about to start, and lets it
// run. One that can't have a gate is ended.
func (g *guard) tame(a attached) {
	worker, leave, err := g.visit(a.Info.ID)
	if err == nil {
		requests, _ := chromedp.FromContext(worker).Target.Subscribe(fetch.RequestPaused.Method)
		go func() {
			for raw := range requests {
				var p paused
				if json.Unmarshal(raw, &p) == nil {
					g.serveWorker(worker, p)
				}
			}
		}()
		_, err = chromedp.Call(worker, fetch.Enable, fetch.EnableParams{})
	}
	if err != nil {
		leave()
		g.end(a, "a service worker")
		return
	}
	g.resume(a.Session)
	if gone, err := chromedp.Detached(worker); err == nil {
		select {
		case <-gone:
		case <-g.ctx.Done():
		}
	}
	leave()
}

// serveWorker decides about one request of a service worker.
func (g *guard) serveWorker(worker context.Context, p paused) {
	g.mu.Lock()
	gate := g.gate
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(worker, commandTimeout)
	defer cancel()
	if gate != nil && !gate.allows(p) {
		_, _ = chromedp.Call(ctx, fetch.FailRequest, fetch.FailRequestParams{
			RequestID: p.ID, ErrorReason: network.ErrorReasonBlockedByClient})
		return
	}
	_, _ = chromedp.Call(ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: p.ID})
}

// allows is the gate's policy for requests that aren't the page's own: no send,
// nothing with the prompt, and nothing to the site while a send is under way.
func (g *gate) allows(p paused) bool {
	body := p.body()
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.isSend(p):
		return false
	case g.needle != nil && g.needle.in(p.Request.URL, body):
		g.strange = append(g.strange, p.path())
		return false
	}
	return !g.site.hosts(p.Request.URL) || (g.phase != gateHolding && g.phase != gateReleasing)
}
