package qwentest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"go.uber.org/goleak"
)

// browser is the one Chromium of all browser tests, started when first needed.
var browser struct {
	once   sync.Once
	ctx    context.Context
	cancel func()
	err    error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if browser.cancel != nil {
		browser.cancel()
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func startBrowser() {
	certificate, err := certificateOnce()
	if err != nil {
		browser.err = err
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.DisableGPU, chromedp.WindowSize(1280, 900),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("no-sandbox", os.Geteuid() == 0),
		chromedp.Flag("ignore-certificate-errors-spki-list", spki(certificate.Leaf)))
	// Debian's build without a user interface costs half as much work.
	if light := "/usr/lib/chromium/chromium-headless-shell"; exists(light) {
		options = append(options, chromedp.ExecPath(light))
	}
	allocator, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	browser.ctx = ctx
	browser.cancel = func() {
		_ = chromedp.Cancel(ctx)
		cancel()
		endAllocator()
	}
	browser.err = chromedp.Do(ctx)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// tab is a page with cookies of its own, for a person's eyes and hands.
type tab struct {
	*testing.T
	ctx  context.Context
	site *Site
	url  string

	loggedIn bool
}

// open starts a site and a tab on it, logged in unless the options say guest.
func open(t *testing.T, options Options, mode Mode) *tab {
	t.Helper()
	browser.once.Do(startBrowser)
	if browser.err != nil {
		t.Fatal(browser.err)
	}
	if options.Hydration == 0 {
		options.Hydration, options.Ready = 50*time.Millisecond, 40*time.Millisecond // most tests are about something else
	}
	site := New(options)
	server, err := site.Start(mode)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(browser.ctx, chromedp.WithNewBrowserContext())
	p := &tab{T: t, ctx: ctx, site: site, url: server.URL}
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx)
		cancel()
		server.Close()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return p
}

// visit logs in by the cookie and opens a path.
func (p *tab) visit(path string) {
	p.Helper()
	if !p.loggedIn {
		p.do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
			_, err := cdp.Call(ctx, t, network.SetCookie, network.SetCookieParams{Name: "token", Value: p.site.Token(), URL: p.url})
			return chromedp.Void{}, err
		})
		p.loggedIn = true
	}
	p.do(chromedp.Navigate(p.url + path))
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 40*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.Fatal(err)
	}
}

// js evaluates an expression in the page.
func js[T any](p *tab, expression string) T {
	p.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits for an expression to become true, across navigations.
func (p *tab) until(expression string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 30*time.Second)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		holds, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if holds {
			tick.Stop()
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			body, _ := chromedp.Run(p.ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText.slice(0, 1500)`))
			p.Fatalf("waiting for %s: %v\npage: %s", expression, err, body)
		}
	}
}

// early runs a script in every document before the page's own.
func (p *tab) early(script string) {
	p.Helper()
	_, err := chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	if err != nil {
		p.Fatal(err)
	}
}

const isReady = `window.__baxia__?.getFYModule.getUidToken() && document.querySelector("[data-r=send]")?.dataset.now`

// fill types as a browser does: the native setter, then an input event.
func (p *tab) fill(text string) {
	p.Helper()
	p.until(isReady)
	js[bool](p, fmt.Sprintf(`(() => {
		const field = document.querySelector("textarea");
		Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(field, %q);
		return field.dispatchEvent(new Event("input", { bubbles: true }));
	})()`, text))
}

// ask fills in a prompt and presses send.
func (p *tab) ask(text string) {
	p.Helper()
	p.fill(text)
	p.do(chromedp.Click(chromedp.CSS("button.send-button")))
}

const answered = `document.querySelector(".qwen-chat-package-comp-new-action-control-container-regenerate")`
