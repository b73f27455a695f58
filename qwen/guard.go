package qwen

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// guard takes care of everything whose requests the page's gate doesn't see:
// other pages, shared workers, service workers. The browser attaches to each
// that is made and starts it paused. Our own page is let run when its gate is
// armed. A service worker runs, as pages wait for theirs, with a gate of its own
// that holds no send but refuses it (worker.go). All else is ended before it
// ran a line.
//
// A page that is opened by ours shares its process, and a paused one stops
// both. So it is let run for its end, with the site out of reach if there is a
// prompt that it might carry.
type guard struct {
	ctx context.Context // the browser's

	mu     sync.Mutex
	ours   target.ID
	gate   *gate                          // of our page
	arming bool                           // our page is being made
	paused map[target.ID]target.SessionID // made meanwhile: one of them is ours
	proxy  *proxy
	warn   func(what string)
}

// attached is what the browser says of a target that it attached to.
type attached struct {
	Session target.SessionID `json:"sessionId"`
	Waiting bool             `json:"waitingForDebugger"`
	Info    struct {
		ID   target.ID `json:"targetId"`
		Type string    `json:"type"`
	} `json:"targetInfo"`
}

// guardTimeout bounds the end of one intruder.
const guardTimeout = 5 * time.Second

// newGuard starts the guard on a browser that has only its blank first tab.
func newGuard(browser context.Context, way *proxy, warn func(string)) (*guard, error) {
	g := &guard{ctx: browser, proxy: way, warn: warn, paused: map[target.ID]target.SessionID{}}
	events, stop := chromedp.FromContext(browser).Browser.Subscribe(target.AttachedToTarget.Method)
	context.AfterFunc(browser, stop)
	go func() {
		for raw := range events {
			var a attached
			if json.Unmarshal(raw, &a) == nil && a.Waiting {
				g.meet(a)
			}
		}
	}()
	flat := true
	_, err := chromedp.CallBrowser(browser, target.SetAutoAttach, target.SetAutoAttachParams{
		AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: &flat,
		Filter: target.Filter{{Type: "page"}, {Type: "shared_worker"}, {Type: "service_worker"}, {Exclude: true}},
	})
	return g, err
}

// meet decides what becomes of a paused target.
func (g *guard) meet(a attached) {
	g.mu.Lock()
	switch {
	case a.Info.Type == "service_worker":
		g.mu.Unlock()
		go g.tame(a)
	case a.Info.Type != "page":
		g.mu.Unlock()
		go g.end(a, "a shared worker")
	case a.Info.ID == g.ours:
		g.mu.Unlock()
		g.resume(a.Session)
	case g.arming:
		g.paused[a.Info.ID] = a.Session
		g.mu.Unlock()
	default:
		g.mu.Unlock()
		go g.end(a, "another page")
	}
}

// expect announces that our page is about to be made.
func (g *guard) expect() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.arming, g.ours, g.gate = true, "", nil
}

// admit lets our page run, which has its gate now, and ends what else was made
// meanwhile. An empty id admits none.
func (g *guard) admit(id target.ID, gate *gate) {
	g.mu.Lock()
	g.arming, g.ours, g.gate = false, id, gate
	paused := g.paused
	g.paused = map[target.ID]target.SessionID{}
	g.mu.Unlock()
	for other, session := range paused {
		if other == id {
			g.resume(session)
			continue
		}
		a := attached{Session: session}
		a.Info.ID, a.Info.Type = other, "page"
		go g.end(a, "another page")
	}
}

// resume lets a paused target run: it waits for every session that is attached
// with a pause, and this one leaves.
func (g *guard) resume(session target.SessionID) {
	ctx, cancel := context.WithTimeout(g.ctx, guardTimeout)
	defer cancel()
	_, _ = chromedp.CallBrowser(ctx, target.DetachFromTarget, target.DetachFromTargetParams{SessionID: session})
}

// end closes a paused target. A page that ours opened by script stops ours too
// while it is paused, even while it closes; so it is let run for that, with the
// site out of reach if there is a prompt that it might carry.
func (g *guard) end(a attached, what string) {
	g.warn(what)
	g.mu.Lock()
	gate := g.gate
	g.mu.Unlock()
	cut := gate != nil && gate.intrude(what)
	if a.Info.Type == "page" {
		if visit, leave, err := g.visit(a.Info.ID); err == nil {
			_, _ = chromedp.Call(visit, runtime.RunIfWaitingForDebugger, cdp.Empty{})
			defer leave()
		}
	}
	ctx, cancel := context.WithTimeout(g.ctx, guardTimeout)
	defer cancel()
	g.resume(a.Session)
	_, _ = chromedp.CallBrowser(ctx, target.CloseTarget, target.CloseTargetParams{TargetID: a.Info.ID})
	for g.exists(ctx, a.Info.ID) && sleep(ctx, 10*time.Millisecond) == nil {
	}
	if cut && ctx.Err() == nil {
		g.reopen(gate)
	}
}

// reopen puts the site in reach again for a page whose send is over, unless
// that page has been followed by another.
func (g *guard) reopen(gate *gate) {
	g.proxy.drain()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gate == gate && gate.idle() {
		g.proxy.setMode(modeOpen)
	}
}

// visit attaches to a target for commands of its own. Its time is bounded;
// leave ends the target.
func (g *guard) visit(id target.ID) (visit context.Context, leave context.CancelFunc, err error) {
	visit, leave = chromedp.NewContext(g.ctx, chromedp.WithTargetID(id))
	late := time.AfterFunc(guardTimeout, leave)
	if err = chromedp.Do(visit); err == nil && !late.Stop() {
		err = context.DeadlineExceeded
	}
	if err != nil {
		leave()
	}
	return visit, leave, err
}

func (g *guard) exists(ctx context.Context, id target.ID) bool {
	r, err := chromedp.CallBrowser(ctx, target.GetTargets, target.GetTargetsParams{})
	if err != nil {
		return false
	}
	for _, info := range r.TargetInfos {
		if info.TargetID == id {
			return true
		}
	}
	return false
}
