package qwentest

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

func TestPageAnswers(t *testing.T) {
	p := open(t, Options{}, ModeHTTP)
	p.visit("/")
	prompt := "Explain tables.\nTwo lines, \"quotes\", ünïcödé 👩‍🚀."
	p.ask(prompt)
	p.until(answered)
	entry := p.site.Find(prompt)
	if entry.Posted != 1 || entry.Accepted != 1 || len(entry.ChatIDs) != 1 {
		t.Fatalf("posted %d, accepted %d, chats %v; want one of each", entry.Posted, entry.Accepted, entry.ChatIDs)
	}
	if got, want := js[string](p, "location.pathname"), "/c/"+entry.ChatIDs[0]; got != want {
		t.Errorf("the address is %s, want %s", got, want)
	}
	shown := js[string](p, `document.querySelector(".phase-answer .qwen-markdown").innerText`)
	if !strings.Contains(shown, "END "+Sum(prompt)) || !strings.Contains(shown, "Ålesund") {
		t.Errorf("the page shows %q", shown)
	}
	if path := os.Getenv("REHEARSAL_SCREENSHOT"); path != "" {
		shot, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err == nil {
			err = os.WriteFile(path, shot, 0o644)
		}
		if err != nil {
			t.Error(err)
		}
	}
}
