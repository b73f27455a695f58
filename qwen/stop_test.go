package qwen_test

import (
	"errors"
	"testing"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

// A stopped answer does not grow any more and never counts as whole; the chat's
// prompt stays delivered once.
func TestStop(t *testing.T) {
	t.Parallel()
	s := onLight(t, "h2", brisk)
	prompt := "Count to a million."
	s.site.Fault(qwentest.Fault{Kind: qwentest.Stuck, Match: prompt, Times: qwentest.Always})
	address, message, err := s.send(t.Context(), prompt)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.client.Stop(t.Context(), address, message); err != nil {
		t.Fatal(err)
	}
	first, err := s.client.Read(t.Context(), address, message, "")
	if err != nil && !isKind(err, qwen.KindGeneration) {
		t.Fatal(err)
	}
	again, err := s.client.Read(t.Context(), address, message, "")
	if err != nil && !isKind(err, qwen.KindGeneration) {
		t.Fatal(err)
	}
	if first.Done || again.Done || again.Text != first.Text {
		t.Errorf("after the stop: %+v, then %+v", first, again)
	}
	if got := s.site.Find(prompt); got.Accepted != 1 || got.Posted != 1 {
		t.Errorf("the prompt was posted %d times", got.Posted)
	}
	// The page can still send, and a whole answer stays whole.
	address, message, err = s.send(t.Context(), "And now a short one.")
	if err != nil {
		t.Fatal(err)
	}
	want := s.answer(t, address, message).Text
	if err := s.client.Stop(t.Context(), address, message); err != nil && isKind(err, qwen.KindBrowser) {
		t.Error(err)
	}
	if got := s.answer(t, address, message).Text; got != want {
		t.Errorf("the whole answer became %q", got)
	}
	for _, foreign := range []string{"", "https://elsewhere.example/c/00000000-0000-4000-8000-000000000000"} {
		if err := s.client.Stop(t.Context(), foreign, ""); !isKind(err, qwen.KindInvalid) {
			t.Errorf("Stop(%q) = %v", foreign, err)
		}
	}
}

func isKind(err error, kind qwen.Kind) bool {
	var e *qwen.Error
	return errors.As(err, &e) && e.Kind == kind
}
