package qwen

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// How long a page may take. The facts behind: the site's scripts patch fetch
// about 1.3 s after a cold load, and in some headless runs their token never
// appears; text set in the first 3 s is thrown away by hydration.
const (
	tabTimeout    = 30 * time.Second
	loadTimeout   = 60 * time.Second
	settleTimeout = 12 * time.Second // for the scripts' token, then go on without
	checkTimeout  = 15 * time.Second // for a check page that clears itself
	pollInterval  = 100 * time.Millisecond
	fetchTimeout  = 60 * time.Second
)

// page is one loaded tab on the site, with its gate.
type page struct {
	client  *Client
	browser *chromium
	ctx     context.Context
	cancel  context.CancelFunc
	gate    *gate
	account string // the site's id of who is logged in
	opened  time.Time
}

// pageState is what js/state.js returns.
type pageState struct {
	Href        string  `json:"href"`
	Title       string  `json:"title"`
	Age         float64 `json:"age"` // milliseconds since the navigation
	Loading     bool    `json:"loading"`
	Initialised bool    `json:"initialised"`
	UID         bool    `json:"uid"`
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
	Punish   bool   `json:"punish"`
	Blocked  bool   `json:"blocked"`
}

// within derives a context of the tab that also ends with ctx.
func (p *page) within(ctx context.Context) (context.Context, context.CancelFunc) {
	tab, cancel := context.WithCancel(p.ctx)
	stop := context.AfterFunc(ctx, cancel)
	return tab, func() { stop(); cancel() }
}

// openPage makes a tab, arms its gate, and only then lets it out.
func (c *Client) openPage(ctx context.Context, path string) (*page, error) {
	b, err := c.running(ctx)
	if err != nil {
		return nil, err
	}
	p := &page{client: c, browser: b, opened: time.Now()}
	if err := p.arm(ctx); err != nil {
		p.close()
		return nil, asError(err, KindBrowser, "open a page")
	}
	b.proxy.setMode(modeOpen)
	if err := p.navigate(ctx, path); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// arm starts the tab and puts the gate before it, in this order: the tab is
// blank, the proxy is closed, and nothing is navigated yet.
func (p *page) arm(ctx context.Context) error {
	p.ctx, p.cancel = chromedp.NewContext(p.browser.ctx)
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
	tab, cancel := p.within(ctx)
	defer cancel()
	if _, err := chromedp.Call(tab, network.SetBypassServiceWorker, network.SetBypassServiceWorkerParams{Bypass: true}); err != nil {
		return err
	}
	p.answerDialogs()
	p.closeStrangers()
	var err error
	p.gate, err = newGate(tab, p.ctx, p.client.site, p.client.options.Table)
	return err
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

// closeStrangers closes every page that isn't ours: its requests would pass
// beside the gate.
func (p *page) closeStrangers() {
	events, stop := chromedp.FromContext(p.ctx).Browser.Subscribe(target.TargetCreated.Method)
	context.AfterFunc(p.ctx, stop)
	go func() {
		for raw := range events {
			var ev struct {
				Info struct {
					ID   target.ID `json:"targetId"`
					Type string    `json:"type"`
				} `json:"targetInfo"`
			}
			if json.Unmarshal(raw, &ev) == nil && ev.Info.Type == "page" && !p.ours(ev.Info.ID) {
				p.client.options.Log.Warn().Msg("the page opened another page; closed it")
				_ = p.closeTarget(ev.Info.ID)
			}
		}
	}()
}

func (p *page) closeTarget(id target.ID) error {
	_, err := chromedp.CallBrowser(p.browser.ctx, target.CloseTarget, target.CloseTargetParams{TargetID: id})
	return err
}

// ours reports whether a target is this page or the browser's blank first one.
func (p *page) ours(id target.ID) bool {
	return id == chromedp.FromContext(p.ctx).Target.TargetID ||
		id == chromedp.FromContext(p.browser.ctx).Target.TargetID
}

// alone closes every other page and reports whether none is left.
func (p *page) alone() error {
	r, err := chromedp.CallBrowser(p.browser.ctx, target.GetTargets, target.GetTargetsParams{})
	if err != nil {
		return fail(KindBrowser, "look for other pages", "%w", err)
	}
	for _, info := range r.TargetInfos {
		if info.Type == "page" && !p.ours(info.TargetID) {
			_ = p.closeTarget(info.TargetID)
			return fail(KindSiteChanged, "look for other pages", "the site opened another page, which the gate does not hold")
		}
	}
	return nil
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
		if p.ctx.Err() != nil {
			return s, fail(KindBrowser, "look at the page", "the browser ended")
		}
		if time.Now().After(deadline) {
			return s, late(s, err)
		}
		if err := sleep(ctx, pollInterval); err != nil {
			return s, fail(KindUnreachable, "look at the page", "%w", err)
		}
	}
}

// entered waits until the site's own page is there with its scripts, and a
// person is logged in.
func (p *page) entered(ctx context.Context) error {
	const op = "load the page"
	_, err := p.until(ctx, loadTimeout, func(s pageState) (bool, error) {
		if trouble := p.trouble(s); trouble != nil {
			return false, trouble
		}
		if s.Loading || !strings.HasPrefix(s.Href, p.client.site.base.String()) {
			return false, nil
		}
		return (s.Initialised && s.UID) || s.Age >= float64(settleTimeout.Milliseconds()), nil
	}, func(s pageState, err error) error {
		return fail(KindUnreachable, op, "it does not finish: at %q, %w", oneLine(s.Href, 80), errors.Join(err, errors.New("time is up")))
	})
	if err != nil {
		return err
	}
	return p.whoami(ctx)
}

// trouble recognises pages that ask for a person. A page that checks by
// script alone gets the time to clear itself.
func (p *page) trouble(s pageState) error {
	const op = "load the page"
	asks := s.Blocked || strings.Contains(s.Title, "Verification") || strings.HasPrefix(s.Title, "Just a moment")
	switch {
	case s.Punish:
		return fail(KindChallenge, op, "the site asks for a person")
	case asks && time.Since(p.opened) > checkTimeout:
		return fail(KindChallenge, op, "the site shows a check page")
	}
	return nil
}

// whoami finds out who is logged in: from the page's own data, and by the
// site's word where the page says nobody.
func (p *page) whoami(ctx context.Context) error {
	const op = "see who is logged in"
	s, err := p.look(ctx)
	if err != nil {
		return fail(KindBrowser, op, "%w", err)
	}
	if s.User != nil && s.User.ID != "" && !s.LogIn {
		p.account = s.User.ID
		return nil
	}
	r, err := p.get(ctx, p.client.options.Table.Account)
	if err != nil {
		return err
	}
	if err := r.check(op, time.Now()); err != nil {
		return err
	}
	var who struct {
		ID   string `json:"id"`
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(r.Body), &who); err != nil || firstOf(who.ID, who.Data.ID) == "" {
		return fail(KindLogin, op, "nobody is")
	}
	p.account = firstOf(who.ID, who.Data.ID)
	return nil
}

// get fetches a path of the site from inside the page.
func (p *page) get(ctx context.Context, path string) (reply, error) {
	tab, cancel := p.within(ctx)
	defer cancel()
	tab, cancelTime := context.WithTimeout(tab, fetchTimeout+10*time.Second)
	defer cancelTime()
	r, err := call[reply](tab, "get", path, fetchTimeout.Milliseconds())
	if err != nil {
		return reply{}, fail(KindUnreachable, "ask the site for "+path, "%w", err)
	}
	return r, nil
}

// close ends the page. Everything it holds is failed first, with the site out
// of reach: a page that is merely closed would let go what is held.
func (p *page) close() {
	p.browser.proxy.setMode(modeShut)
	if p.gate != nil {
		_ = p.gate.abandon(nil)
	}
	if p.cancel != nil {
		p.cancel()
	}
}

// alive reports whether the page can still be used.
func (p *page) alive() bool {
	if p.ctx.Err() != nil || p.browser.ctx.Err() != nil {
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
