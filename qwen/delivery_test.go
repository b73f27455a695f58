package qwen_test

import (
	"errors"
	"fmt"
	"testing"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

// TestOneDelivery cuts the connection right after the prompt, before any
// header. Chromium repeats a POST by itself then; the prompt must have reached
// the site once, and the error must say that it may have left.
func TestOneDelivery(t *testing.T) {
	t.Parallel()
	for name := range modes {
		for _, kind := range []qwentest.Kind{qwentest.DropRST, qwentest.DropFIN} {
			if leftOut(name+string(kind), "h1"+string(qwentest.DropRST), "h2"+string(qwentest.DropRST)) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", name, kind), func(t *testing.T) {
				t.Parallel()
				s := onShared(t, name, busy())
				for round := range *rounds {
					s.dropped(t, kind, fmt.Sprintf("Round %d of %s over %s: tell me about durable queues.", round, kind, name))
				}
			})
		}
	}
}

// dropped sends a prompt whose connection is cut and checks what is left.
func (s *stage) dropped(t *testing.T, kind qwentest.Kind, prompt string) {
	t.Helper()
	s.site.Fault(qwentest.Fault{Kind: kind, Match: prompt, Times: qwentest.Always})
	address, _, err := s.send(t.Context(), prompt)
	var e *qwen.Error
	if !errors.As(err, &e) || !e.MayHaveLeft() {
		t.Fatalf("the error %v does not say that the prompt may have left", err)
	}
	if got := s.site.Find(prompt); got.Posted != 1 || got.Accepted != 1 {
		t.Fatalf("posted %d, accepted %d, want 1 and 1", got.Posted, got.Accepted)
	}
	if got := s.answer(t, address, "").Text; got != qwentest.Answer(prompt) {
		t.Errorf("the answer differs: %q", got)
	}
}

// TestOneDeliveryAgainstThePage: the page itself repeats, doubles or carries
// the send elsewhere.
func TestOneDeliveryAgainstThePage(t *testing.T) {
	t.Parallel()
	cut := map[string]bool{"service worker retries": true, "page retries": true, "two posts at once": true}
	for name, change := range map[string]func(*qwentest.Options){
		"service worker":         func(o *qwentest.Options) { o.ServiceWorker = "claim" },
		"service worker retries": func(o *qwentest.Options) { o.ServiceWorker = "retry" },
		"page retries":           func(o *qwentest.Options) { o.PageRetry = 3 },
		"two chats at once":      func(o *qwentest.Options) { o.DoubleSubmit = "chat" },
		"two posts at once":      func(o *qwentest.Options) { o.DoubleSubmit = "post" },
		"autosave":               func(o *qwentest.Options) { o.Autosave = true },
		"asks for a title":       func(o *qwentest.Options) { o.AskTitle = true },
		"popup posts":            func(o *qwentest.Options) { o.Popup = "post" },
		"popup":                  func(o *qwentest.Options) { o.Popup = "ad" },
	} {
		if leftOut(name, "service worker retries", "two posts at once") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := busy()
			change(&o)
			s := onShared(t, "h2", o)
			for round := range *rounds {
				s.onceWhatever(t, fmt.Sprintf("Round %d with %s: what does a write barrier do?", round, name), "")
				if cut[name] || *every {
					s.onceWhatever(t, fmt.Sprintf("Round %d with %s, cut: what does a write barrier do?", round, name), qwentest.DropRST)
				}
			}
		})
	}
}

// onceWhatever sends, with a fault if one is given, and demands that the site
// has the prompt at most once, exactly once when Send says so, and nowhere
// else.
func (s *stage) onceWhatever(t *testing.T, prompt string, kind qwentest.Kind) {
	t.Helper()
	if kind != "" {
		s.site.Fault(qwentest.Fault{Kind: kind, Match: prompt, Times: qwentest.Always})
	}
	address, message, err := s.send(t.Context(), prompt)
	got := s.site.Find(prompt)
	t.Logf("sent: %v; posted %d, accepted %d", err, got.Posted, got.Accepted)
	var e *qwen.Error
	switch {
	case got.Posted > 1 || got.Accepted > 1:
		t.Fatalf("posted %d, accepted %d", got.Posted, got.Accepted)
	case err == nil && got.Accepted != 1:
		t.Fatalf("Send succeeded, the site accepted %d", got.Accepted)
	case errors.As(err, &e) && !e.MayHaveLeft() && got.Posted != 0:
		t.Fatalf("Send promised that nothing left; posted %d", got.Posted)
	case got.Accepted == 1:
		if text := s.answer(t, address, message).Text; text != qwentest.Answer(prompt) {
			t.Errorf("the answer differs: %q", text)
		}
	}
	if len(got.Elsewhere) > 0 {
		t.Errorf("the text also went to %v", got.Elsewhere)
	}
}

// TestNothingLeaves: the send fails before the release, in each way that there
// is; the site must not have seen a byte of it.
func TestNothingLeaves(t *testing.T) {
	t.Parallel()
	s := onLight(t, "h2", busy())
	refused := errors.New("the folder says no")
	prompt := "This text must never leave this machine, not even once."
	_, err := s.client.Send(t.Context(), qwen.Outgoing{Prompt: prompt}, func(string, string) error { return refused })
	if !errors.Is(err, refused) {
		t.Errorf("Send returned %v instead of what commit said", err)
	}
	var e *qwen.Error
	if !errors.As(err, &e) || e.MayHaveLeft() {
		t.Errorf("%v says that the prompt may have left", err)
	}
	if _, _, err := s.send(t.Context(), "Another prompt, so that the page loads again."); err != nil {
		t.Error(err)
	}
	if got := s.site.Find(prompt); got.Posted != 0 || len(got.Elsewhere) > 0 {
		t.Errorf("the site saw it: %+v", got)
	}
}
