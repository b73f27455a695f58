package qwen

import (
	"context"
	"encoding/json"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Impatient shortens the waits for a page or a site that does nothing.
func Impatient() {
	holdTimeout, pressAgain = 20*time.Second, 500*time.Millisecond
	headersTimeout, checkTimeout, replyTimeout = 10*time.Second, 3*time.Second, 3*time.Second
	moreTimeout, parseTimeout, attachAgain = 5*time.Second, 8*time.Second, 700*time.Millisecond
	checkTime, markupTimeout, composeTimeout = 10*time.Second, 2*time.Second, 25*time.Second
}

// Hurry shortens this client's waits for a site that has the prompt.
func (c *Client) Hurry(headers, named time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headersTimeout, c.namedTimeout = headers, named
}

// Forgive forgets how often the browser died, so that tests can kill it in a row.
func (c *Client) Forgive() { c.keeper.forgive() }

// Forget makes the next call load a new page.
func (c *Client) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.discard(c.page)
}

// Restore puts a text into the composer as a page does that restores a draft.
func (c *Client) Restore(ctx context.Context, draft string) error {
	tab, cancel := c.page.within(ctx)
	defer cancel()
	_, err := call[*string](tab, "fill", c.options.Table, draft)
	return err
}

// Tamper takes away what CheckBrowser looks at, until restore is called.
func Tamper(what string) (restore func()) {
	checkTamper = func(s *sending) {
		switch what {
		case "service workers":
			_, _ = chromedp.Call(s.page.live, network.SetBypassServiceWorker, network.SetBypassServiceWorkerParams{Bypass: false})
		case "windows":
			flat := true
			_, _ = chromedp.CallBrowser(s.page.browser.ctx, target.SetAutoAttach, target.SetAutoAttachParams{Flatten: &flat})
		case "one connection":
			s.page.gate.mu.Lock()
			defer s.page.gate.mu.Unlock()
			s.page.gate.shut = func() {}
		}
	}
	return func() { checkTamper = func(*sending) {} }
}

// SetEvidence names the folder for what a page shows.
func (c *Client) SetEvidence(dir string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.discard(c.page)
	c.options.Evidence, c.options.Version = dir, "v1.2.3"
}

// SetTable makes the client take other things for granted about the site.
func (c *Client) SetTable(table Site) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.discard(c.page)
	c.options.Table = table
}

// JudgeClock and JudgeLogin are what CheckSite makes of times.
var (
	JudgeClock = judgeClock
	JudgeLogin = judgeLogin
)

// Console makes the page say something in its console; called within a step.
func (c *Client) Console(what ...string) error {
	b, err := json.Marshal(what)
	if err == nil {
		_, err = evaluate(c.page, "console.log(..."+string(b)+"), ''")
	}
	return err
}

// Scrub is what is kept of a text and of a reply, given these secrets.
func Scrub(text string, secrets ...string) (asText, asReply string) {
	s := newScrubber("", secrets...)
	return s.text(text), s.reply(text)
}

// ScrubLine is what is kept of a line, given this prompt.
func ScrubLine(line, prompt string) string { return newScrubber(prompt).line(line) }

// KeepEvidence writes a folder as the driver does.
func KeepEvidence(dir, class string, files map[string][]byte) (string, error) {
	return evidenceBox{dir}.write(class, files)
}

// EvidenceFolders is how many are kept.
const EvidenceFolders = evidenceFolders

// Keeper is a keeper that a test tells what happens.
type Keeper struct{ k keeper }

func NewKeeper(l Life) *Keeper { return &Keeper{keeper{limits: l}} }

func (k *Keeper) Started(now time.Time)             { k.k.started(now) }
func (k *Keeper) Ended(inOrder bool, now time.Time) { k.k.ended(inOrder, now) }
func (k *Keeper) Died(born, now time.Time) int      { return k.k.died(born, now) }
func (k *Keeper) MayStart(now time.Time) error      { return k.k.mayStart(now) }
func (k *Keeper) Sent()                             { k.k.sent() }
func (k *Keeper) Worn(memory int64, replaced, watching bool, now time.Time) string {
	return k.k.worn(usage{memory, replaced, watching}, now)
}

// Replaced reports whether a process's program was replaced.
func Replaced(pid int) bool { return replaced(pid) }

// Quiet does what happens when nothing is asked of the client for so long.
func (c *Client) Quiet(d time.Duration) (frozen bool) {
	c.mu.Lock()
	c.called = c.called.Add(-d)
	c.mu.Unlock()
	c.rest()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.page != nil && c.page.frozen
}

// Bound sets new bounds, and makes the next call look at the browser closely.
func (c *Client) Bound(l Life) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.options.Life, c.keeper.limits, c.looked = l, l, time.Time{}
}

// Stray opens a page of which the guard learns nothing.
func (c *Client) Stray() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	flat := true
	_, err := chromedp.CallBrowser(c.browser.ctx, target.SetAutoAttach, target.SetAutoAttachParams{Flatten: &flat})
	if err == nil {
		_, err = chromedp.CallBrowser(c.browser.ctx, target.CreateTarget, target.CreateTargetParams{URL: "about:blank"})
	}
	return err
}

// Animate gives the page a timer and an animation without end, as busy sites
// have.
func (c *Client) Animate() error {
	_, err := evaluate(c.page, `(() => {
	setInterval(() => { document.title = 'at ' + Date.now() }, 1000)
	const dot = document.createElement('div')
	dot.style.cssText = 'position:fixed;width:9px;height:9px;background:red'
	document.body.append(dot)
	dot.animate([{opacity: 0}, {opacity: 1}], {duration: 1000, iterations: Infinity})
	return ''
})()`)
	return err
}
