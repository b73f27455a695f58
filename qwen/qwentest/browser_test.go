package qwentest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestPageAnswers(t *testing.T) {
	p := open(t, Options{}, ModeHTTP)
	p.visit("/")
	prompt := "Explain tables.\nTwo lines, \"quotes\", ünïcödé 👩‍🚀."
	p.ask(prompt)
	p.until(answered)
	entry := p.site.Find(prompt)
	if entry.Posted != 1 || entry.Accepted != 1 || len(entry.ChatIDs) != 1 || len(entry.Elsewhere) != 0 {
		t.Fatalf("entry %+v; want one of each", entry)
	}
	if got, want := js[string](p, "location.pathname"), "/c/"+entry.ChatIDs[0]; got != want {
		t.Errorf("the address is %s, want %s", got, want)
	}
	shown := js[string](p, `document.querySelector(".phase-answer .qwen-markdown").innerText`)
	if !strings.Contains(shown, "END "+Sum(prompt)) || !strings.Contains(shown, "Ålesund") {
		t.Errorf("the page shows %q", shown)
	}
	data := p.inPage("/api/v2/chats/" + entry.ChatIDs[0])
	for i, role := range []string{"user", "assistant"} {
		id := fmt.Sprintf("#qwen-chat-message-%s-%s", role, at(data, "data", "chat", "messages", i, "id"))
		p.until(fmt.Sprintf("document.querySelector(%q)", id))
	}
	if answerIn(at(data, "data")) != Answer(prompt) {
		t.Error("the chat does not hold the answer")
	}
	p.screenshot()
	p.ask("and now\na second turn")
	p.until(`document.querySelectorAll(".qwen-chat-package-comp-new-action-control-container-regenerate").length === 2`)
	if e := p.site.Find("and now\na second turn"); e.Accepted != 1 || e.ChatIDs[0] != entry.ChatIDs[0] {
		t.Errorf("the second turn: %+v", e)
	}
}

// screenshot writes the page to the file named in REHEARSAL_SCREENSHOT.
func (p *tab) screenshot() {
	path := os.Getenv("REHEARSAL_SCREENSHOT")
	if path == "" {
		return
	}
	shot, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(path, shot, 0o644)
	}
	if err != nil {
		p.Error(err)
	}
}

// inPage fetches JSON from inside the page, as its own scripts do.
func (p *tab) inPage(path string) obj {
	p.Helper()
	return js[obj](p, fmt.Sprintf(`fetch(%q, {credentials: "include"}).then((r) => r.json())`, path))
}

const (
	box      = `document.querySelector("textarea").value`
	sendable = `document.querySelector("button.send-button")`
)

func TestComposerIsControlled(t *testing.T) {
	p := open(t, Options{Background: -1}, ModeHTTP)
	p.visit("/")
	p.until(isReady)
	js[bool](p, `(() => { const f = document.querySelector("textarea"); f.value = "assigned"; return f.dispatchEvent(new Event("input", {bubbles: true})); })()`)
	p.until(box + ` === "" && !` + sendable)
	p.fill("typed")
	p.until(box + ` === "typed" && ` + sendable)
	p.fill("   \n ")
	p.until(`!` + sendable + ` && document.querySelector(".message-input-right-button-send .omni-button-content-btn")`)
	p.fill("")
	p.do(chromedp.Focus(chromedp.CSS("textarea")), chromedp.KeyEvent("key by key"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(kb.ModifierShift)))
	p.until(box + ` === "key by key\n"`)
	p.do(chromedp.KeyEvent("end"), chromedp.KeyEvent(kb.Enter))
	p.until(answered)
	if e := p.site.Find("key by key\nend"); e.Posted != 1 || e.Accepted != 1 {
		t.Errorf("%+v", e)
	}
}

func TestEarlyTextIsLost(t *testing.T) {
	for _, replace := range []bool{false, true} {
		p := open(t, Options{Hydration: 300 * time.Millisecond, SendDuringHydration: true, ReplaceOnHydration: replace}, ModeHTTP)
		p.early(`new MutationObserver((_, observer) => {
			window.first = document.querySelector("textarea");
			if (!document.querySelector("button.send-button")) return;
			observer.disconnect();
			Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(first, "too early");
			first.dispatchEvent(new Event("input", {bubbles: true}));
			document.querySelector("button.send-button").click();
			window.report = first.value + " " + Boolean(document.querySelector("[data-r=send]").dataset.now);
		}).observe(document, {childList: true, subtree: true})`)
		p.visit("/")
		p.until(isReady)
		if early := js[string](p, `report`); early != "too early false" {
			t.Fatalf("before hydration: %q", early)
		}
		if got := js[string](p, box); got != "" {
			t.Errorf("the text %q outlived hydration", got)
		}
		if same := js[bool](p, `first === document.querySelector("textarea")`); same == replace {
			t.Errorf("ReplaceOnHydration=%v, same node: %v", replace, same)
		}
		if n := len(p.site.Ledger()); n != 0 {
			t.Errorf("%d prompts arrived", n)
		}
	}
}

// TestTooEarlySend: the anti-bot scripts are not ready, the site wants a proof
// and a person gives it.
func TestTooEarlySend(t *testing.T) {
	p := open(t, Options{Ready: time.Minute, Hydration: 10 * time.Millisecond}, ModeHTTP)
	p.visit("/")
	p.until(`document.querySelector("[data-r=send]")?.dataset.now`)
	js[bool](p, `(() => { const f = document.querySelector("textarea");
		Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(f, "early");
		return f.dispatchEvent(new Event("input", {bubbles: true})); })()`)
	p.do(chromedp.Click(chromedp.CSS("button.send-button")))
	p.until(`document.querySelector("[role=alert]") && ` + box + ` === "early"`)
	if e := p.site.Find("early"); e.Posted != 0 {
		t.Errorf("%+v", e)
	}
}

func TestChallengeIsSolvedByAPerson(t *testing.T) {
	p := open(t, Options{}, ModeHTTP)
	p.site.Fault(Fault{Kind: Challenge, On: OnNew, Times: Always})
	p.visit("/")
	p.ask("am I a person?")
	p.until(`document.querySelector(".baxia-dialog iframe#baxia-dialog-content")?.contentDocument?.querySelector("#nc_1_n1z")`)
	js[bool](p, `document.querySelector("#baxia-dialog-content").contentDocument.querySelector("#nc_1_n1z").click() ?? true`)
	p.until(`!document.querySelector(".baxia-dialog")`)
	p.do(chromedp.Click(chromedp.CSS("button.send-button")))
	p.until(answered)
	if e := p.site.Find("am I a person?"); e.Posted != 1 || e.Accepted != 1 {
		t.Errorf("%+v", e)
	}
}

func TestLoginPage(t *testing.T) {
	p := open(t, Options{LoginWall: true}, ModeHTTP)
	p.do(chromedp.Navigate(p.url + "/"))
	p.until(`location.pathname === "/auth" && document.querySelector("button.qwenchat-auth-pc-submit-button").disabled`)
	p.do(chromedp.SendKeys(chromedp.CSS("input[name=email]"), DefaultAccount), chromedp.SendKeys(chromedp.CSS("input[name=password]"), Password))
	p.do(chromedp.Click(chromedp.CSS("button.qwenchat-auth-pc-submit-button")))
	p.until(`location.pathname === "/" && document.querySelector('img[alt="User profile"]') && localStorage.getItem("token") === window.__prerendered_data.user.token`)
	if js[bool](p, `document.cookie.includes("token=" + localStorage.getItem("token"))`) != true {
		t.Error("cookie and localStorage hold different tokens")
	}
}

func TestLoggedOutPageIsAGuests(t *testing.T) {
	p := open(t, Options{Guest: true, GuestPopup: true}, ModeHTTP)
	p.visit("/")
	p.until(`[...document.querySelectorAll("header > :last-child button")].map((b) => b.textContent).join() === "Log in,Sign up" && !window.__prerendered_data.user`)
	p.until(`document.querySelector("[role=dialog] button")?.textContent === "Stay logged out"`)
	p.ask("as a guest")
	p.until(answered + ` && location.pathname === "/c/guest"`)
	if n := len(js[string](p, `localStorage.getItem("token") ?? ""`)); n != 0 {
		t.Error("a guest has a token")
	}
}

// TestMarkups finds the composer by what each generation of the page keeps.
func TestMarkups(t *testing.T) {
	p := open(t, Options{}, ModeHTTP)
	for markup, c := range map[Markup]struct{ send, newChat, model string }{
		MarkupAug:     {".message-input-right-button-send .chat-prompt-send-button button.send-button", "[aria-label='New Chat']", ".wms-trigger"},
		MarkupJun:     {".message-input-right-button-send .chat-prompt-send-button button.send-button", ".sidebar-entry-fixed-list-content", ".header-left [class*=model-selector]"},
		MarkupRenamed: {"button[aria-label*=Send]", "[aria-label='New Chat']", "[aria-label='Select Model']"},
	} {
		p.site.Configure(func(o *Options) { o.Markup = markup })
		p.visit("/")
		p.fill("markup " + string(markup))
		p.do(chromedp.WaitVisible(chromedp.CSS(c.model)), chromedp.Click(chromedp.CSS(c.send)))
		p.until(`document.querySelector("[aria-label=Regenerate]")`)
		if js[bool](p, `Boolean(document.querySelector("textarea.message-input-textarea"))`) == (markup == MarkupRenamed) {
			t.Errorf("%s: the textarea's class", markup)
		}
		p.do(chromedp.Click(chromedp.CSS(c.newChat)))
		p.until(`location.pathname === "/" && !document.querySelector("[aria-label=Regenerate]")`)
	}
}
