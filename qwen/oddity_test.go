package qwen_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

// TestOverlays: what lies over the composer is pressed through; a question that
// only a person can answer is said, and nothing leaves.
func TestOverlays(t *testing.T) {
	t.Parallel()
	for overlay, want := range map[string]outcome{"rating": success, "chooser": {kind: qwen.KindChallenge}} {
		if leftOut(overlay, "rating") {
			continue
		}
		t.Run(overlay, func(t *testing.T) {
			t.Parallel()
			o := brisk
			o.Overlay = overlay
			s := onLight(t, "http", o)
			prompt := "A page with a " + overlay + " over it: what is a lock?"
			_, _, err := s.send(t.Context(), prompt)
			want.check(t, s, prompt, err)
			if err != nil && (!contains(err, "which of two answers") || !strings.Contains(fault(err).Hint(), "watcher login")) {
				t.Errorf("%v; %s", err, fault(err).Hint())
			}
		})
	}
}

// TestPairAndLag: an answer in two versions gives the first, and leaves nothing
// behind that keeps the next prompt. A chat that the account's list does not show
// yet is not found, and is when it does; an id in upper case is the same chat.
func TestPairAndLag(t *testing.T) {
	t.Parallel()
	o := brisk
	o.ListLag, o.DualAsList = time.Hour, true
	s := onLight(t, "http", o)
	pair := "Answered twice.\n!rehearsal fault=dual"
	first, answered := s.mustSend(t, pair)
	if got := s.answer(t, first, answered).Text; got != qwentest.Answer(pair) {
		t.Errorf("the answer of a pair differs: %q", got)
	}
	prompt := fmt.Sprintf("A chat that its list shows late, %d.", time.Now().UnixNano()) // the site keeps those of other rounds
	address, message := s.mustSend(t, prompt)
	if found, err := s.client.Find(t.Context(), prompt); err != nil || len(found) != 0 {
		t.Errorf("before the list shows it: %v, %v", found, err)
	}
	s.configure(brisk)
	if found, err := s.client.Find(t.Context(), prompt); err != nil || len(found) != 1 || found[0] != address {
		t.Errorf("when the list shows it: %v, %v", found, err)
	}
	site, id, _ := strings.Cut(address, "/c/")
	if got := s.answer(t, site+"/c/"+strings.ToUpper(id), message).Text; got != qwentest.Answer(prompt) {
		t.Errorf("by its id in upper case: %q", got)
	}
	for _, odd := range []string{"?temporary=true", "?temporary-chat=true", "/"} {
		if _, err := s.client.Read(t.Context(), address+odd, message, ""); kind(err) != qwen.KindInvalid {
			t.Errorf("%s: %v", odd, err)
		}
	}
	for _, odd := range []string{"new-chat", "guest", "local-" + id, "t_" + id, ""} {
		if _, err := s.client.Read(t.Context(), site+"/c/"+odd, message, ""); kind(err) != qwen.KindInvalid {
			t.Errorf("/c/%s: %v", odd, err)
		}
	}
}
