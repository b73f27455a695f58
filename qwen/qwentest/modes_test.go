package qwentest

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

const failedAnswer = `document.querySelector(".qwen-chat-message-assistant [role=alert]")`

// TestUnrulyPages counts what a page posts that does more than it was asked.
func TestUnrulyPages(t *testing.T) {
	p := open(t, Options{}, ModeHTTP)
	slowStart := Options{FirstByte: time.Second} // so that the second of two posts finds the first at work
	for _, c := range []struct {
		name             string
		options          Options
		fault            Fault
		posted, accepted int
		chats            int
		elsewhere        string
		directive        string // in the prompt
	}{
		{name: "retry", options: Options{PageRetry: 2}, fault: Fault{Kind: LoseRST, Times: Always}, posted: 3, chats: 1},
		{name: "double in two chats", options: Options{DoubleSubmit: "chat"}, posted: 2, accepted: 2, chats: 2},
		{name: "double in one chat", options: Options{DoubleSubmit: "post", FirstByte: time.Second}, posted: 2, accepted: 1, chats: 1},
		{name: "wished retry", directive: "\n!rehearsal fault=lose-fin times=2 page=retry:9", posted: 3, accepted: 1, chats: 1},
		{name: "wished double", directive: "\n!rehearsal page=double:post", options: slowStart, posted: 2, accepted: 1, chats: 1},
		{name: "popup", options: Options{Popup: "post"}, posted: 2, accepted: 1, chats: 1},
		{name: "autosave", options: Options{Autosave: true}, posted: 1, accepted: 1, chats: 1, elsewhere: "/api/v2/drafts"},
		{name: "title", options: Options{AskTitle: true}, posted: 1, accepted: 1, chats: 1, elsewhere: "/api/v2/chats/title"},
		{name: "address first", options: Options{URLBefore: true}, posted: 1, accepted: 1, chats: 1},
		{name: "deaf at first", options: Options{IgnoreClicks: 1}, posted: 1, accepted: 1, chats: 1},
	} {
		p.site.Clear()
		p.site.Configure(func(o *Options) { *o = c.options })
		p.visit("/")
		if c.fault.Kind != "" {
			p.site.Fault(c.fault)
		}
		prompt := "a prompt for " + c.name + c.directive
		p.fill(prompt)
		for range 1 + c.options.IgnoreClicks {
			p.do(chromedp.Click(chromedp.CSS("button.send-button")))
		}
		p.until(answered + " || " + failedAnswer)
		p.waitFor(c.name, func() bool {
			e := p.site.Find(prompt)
			loose := c.name == "retry" || c.name == "wished retry" || c.name == "popup" // repeats of Chromium's own; a late window finds the chat free
			return (e.Accepted == c.accepted || loose && e.Accepted > c.accepted) && len(e.ChatIDs) == c.chats &&
				strings.Join(e.Elsewhere, " ") == c.elsewhere && (e.Posted == c.posted || loose && e.Posted > c.posted)
		}, func() any { return p.site.Find(prompt) })
	}
}

// waitFor waits for something on the site's side.
func (p *tab) waitFor(what string, holds func() bool, got func() any) {
	p.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.Fatalf("%s: %+v", what, got())
		}
	}
}

// TestChromiumRepeats: a reused connection that breaks before the reply makes
// Chromium itself post again.
func TestChromiumRepeats(t *testing.T) {
	for name, mode := range map[string]Mode{"h1": ModeHTTP, "h1 over TLS": ModeHTTPS1, "h2": ModeHTTPS2} {
		t.Run(name, func(t *testing.T) {
			p := open(t, Options{Background: 50 * time.Millisecond}, mode)
			p.visit("/")
			p.site.Fault(Fault{Kind: LoseRST, Times: Always})
			p.ask("drop me")
			p.until(failedAnswer)
			e := p.site.Find("drop me")
			if e.Posted < 2 || e.Accepted != 0 {
				t.Errorf("%+v; want more than one body for one press", e)
			}
			for _, id := range e.RequestIDs {
				if id != e.RequestIDs[0] {
					t.Errorf("the repeats have different X-Request-Ids: %v", e.RequestIDs)
				}
			}
			for _, status := range []string{"421", "307"} { // these too are repeated below the page
				p.site.Clear()
				p.visit("/")
				prompt := "answer with " + status + "\n!rehearsal fault=status times=-1 n=" + status
				p.ask(prompt)
				p.until(failedAnswer)
				if e := p.site.Find(prompt); e.Posted < 2 || e.Accepted != 0 {
					t.Errorf("%s: %+v", status, e)
				}
			}
		})
	}
}

func TestServiceWorkers(t *testing.T) {
	for _, mode := range []string{"install", "claim", "retry"} {
		p := open(t, Options{ServiceWorker: mode}, ModeHTTP)
		p.visit("/")
		p.until(isReady)
		if mode == "install" {
			p.until(`navigator.serviceWorker.ready.then((r) => r.active).catch(() => 0)`)
			p.do(chromedp.Reload())
		}
		p.until(`navigator.serviceWorker.controller`)
		want := 1
		if mode == "retry" {
			p.site.Fault(Fault{Kind: LoseRST, Times: Always})
			want = 2
		}
		p.ask("through a worker")
		p.until(answered + " || " + failedAnswer)
		if e := p.site.Find("through a worker"); e.Posted < want || mode != "retry" && e.Posted != 1 {
			t.Errorf("%s: %+v", mode, e)
		}
	}
}

func TestEdits(t *testing.T) {
	p := open(t, Options{}, ModeHTTP)
	for edit, want := range map[string]string{"trim": "a  b\n\n\n\nc", "crlf": " a  b\r\n\r\n\r\n\r\nc", "nbsp": " a \u00a0b\n\n\n\nc", "collapse": " a  b\n\nc", "": " a  b\n\n\n\nc"} {
		p.site.Configure(func(o *Options) { o.Edits = edit })
		p.visit("/")
		p.ask(" a  b\n\n\n\nc")
		p.until(answered)
		if e := p.site.Find(want); e.Accepted != 1 {
			t.Errorf("%s: %+v is not %q", edit, p.site.Ledger(), want)
		}
	}
}

func TestPageShowsFailures(t *testing.T) {
	p := open(t, Options{MaxTyped: 2000}, ModeHTTP)
	for directive, want := range map[string]string{
		"fault=quota n=5": "upper limit for today's usage. Try again in 5 hours.", "fault=inspect": "inappropriate", "fault=busy": "The chat is in progress!",
		"fault=drop-rst": "", "fault=status n=503": "issue connecting", "fault=challenge-html": "issue connecting",
	} {
		p.visit("/")
		p.ask("fail\n!rehearsal " + directive) // drop-rst: Chromium posts again and finds the chat busy, or gives up
		p.until(failedAnswer)
		if got := js[string](p, failedAnswer+`.textContent`); !strings.Contains(got, want) {
			t.Errorf("%s: the page says %q", directive, got)
		}
	}
	p.visit("/c/00000000-0000-4000-8000-000000000000")
	p.until(`location.pathname === "/" && document.querySelector("[role=alert]")`)
	n := len(p.site.Ledger())
	p.ask(strings.Repeat("x", 2001))
	if p.until(box + `.length === 2001`); len(p.site.Ledger()) != n {
		t.Error("a too long prompt was posted")
	}
}

// TestReadersMayLeave cuts the stream and reloads the page: the page finds the
// rest of the answer.
func TestReadersMayLeave(t *testing.T) {
	p := open(t, Options{}, ModeHTTP)
	p.visit("/")
	p.ask("cut\n!rehearsal fault=cut n=4")
	p.until(answered)
	if shown := js[string](p, `document.querySelector(".qwen-markdown").innerText`); !strings.Contains(shown, "END "+Sum("cut\n!rehearsal fault=cut n=4")) {
		t.Errorf("after a cut the page shows %q", shown)
	}
	p.visit("/")
	p.ask("reload\n!rehearsal fault=pause delay=700ms")
	p.until(`location.pathname.length > 30`)
	p.do(chromedp.Reload())
	p.until(answered)
	p.ask("stop\n!rehearsal fault=stuck")
	p.until(`document.querySelector("button.stop-button:not(:disabled)")`)
	p.do(chromedp.Reload())
	p.until(`document.querySelector("button.stop-button:not(:disabled)")`)
	p.do(chromedp.Click(chromedp.CSS("button.stop-button")))
	p.until(`!document.querySelector("button.stop-button")`)
}

func TestDualAnswersBlockTheComposer(t *testing.T) {
	p := open(t, Options{}, ModeHTTP)
	p.visit("/")
	p.ask("two\n!rehearsal fault=dual")
	p.until(`document.querySelectorAll(".qwen-chat-message-dual-message").length === 2 && document.querySelector("textarea").disabled`)
	p.until(`document.querySelector(".smrm")?.textContent === "Which response do you prefer?"`)
	p.do(chromedp.Click(chromedp.CSS(".smrm-card__prefer-btn")))
	p.until(`document.querySelectorAll(".qwen-chat-message-assistant").length === 1 && !document.querySelector("textarea").disabled`)
}

func TestHardPages(t *testing.T) {
	p := open(t, Options{SlowImage: true, Draft: "an old draft", DraftDelay: 50 * time.Millisecond, Dialog: "alert"}, ModeHTTP)
	dialogs := chromedp.Events(p.ctx, page.JavascriptDialogOpening)
	p.do(chromedp.Navigate(p.url + "/auth"))
	js[bool](p, `(document.cookie = "token=`+p.site.Token()+`;path=/", location.assign("/"), true)`)
	for ev, err := range dialogs {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Message == "" {
			t.Error("an empty dialog")
		}
		if _, err := chromedp.Call(p.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true}); err != nil {
			t.Fatal(err)
		}
		break
	}
	p.until(box + ` === "an old draft" && document.readyState !== "complete"`)
}

func TestLeavingAsks(t *testing.T) {
	p := open(t, Options{Dialog: "beforeunload"}, ModeHTTP)
	p.visit("/")
	p.until(isReady)
	p.do(chromedp.Click(chromedp.CSS("textarea"))) // without a person's hand on it a page may not ask
	dialogs := chromedp.Events(p.ctx, page.JavascriptDialogOpening)
	js[bool](p, `setTimeout(() => location.reload(), 0) > 0`)
	for ev, err := range dialogs {
		if err != nil || ev.Type != page.DialogTypeBeforeunload {
			t.Errorf("dialog %v, %v", ev, err)
		}
		break
	}
	if _, err := chromedp.Call(p.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true}); err != nil {
		t.Error(err)
	}
}

// TestChallengePage: the firewall's page reloads itself and is gone.
func TestChallengePage(t *testing.T) {
	p := open(t, Options{EarlyStop: time.Second, LateRender: 100 * time.Millisecond, DrawByFrame: true, StaleChat: 200 * time.Millisecond, Virtual: true}, ModeHTTP)
	p.site.Fault(Fault{Kind: ChallengeHTML, On: OnPage, Delay: 100 * time.Millisecond})
	p.early(`window.seen = new Set(); new MutationObserver(() => {
		for (const m of document.querySelectorAll(".user-message-content")) seen.add(m.textContent);
		if (document.querySelector("[data-r=send]")?.dataset.now === "omni" && document.querySelector(".qwen-chat-message-assistant") && !` + answered + `)
			seen.add("no stop button, no answer");
	}).observe(document, {childList: true, subtree: true})`)
	p.visit("/")
	p.ask("after the challenge")
	p.until(answered)
	chat := p.site.Find("after the challenge").ChatIDs[0]
	p.until(`seen.has("no stop button, no answer")`)
	p.visit("/c/" + chat)
	p.until(`document.querySelector(".user-message-content")?.textContent === "after the challenge"`)
	if !js[bool](p, `seen.has("What was asked in another chat?")`) {
		t.Error("the chat was not preceded by another one")
	}
}

// TestPagesThatStay: a stop button that never goes, a page that hangs.
func TestPagesThatStay(t *testing.T) {
	p := open(t, Options{StopStays: true, BlockInput: 50 * time.Millisecond}, ModeHTTP)
	p.visit("/")
	p.ask("stay")
	p.until(answered + ` && document.querySelector("button.stop-button")`)
}
