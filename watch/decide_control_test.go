package watch

import (
	"strings"
	"testing"
	"time"

	"watcher/state"
)

func TestDecideControl(t *testing.T) {
	now := time.Now()
	soon, ago := now.Add(time.Minute), now.Add(-time.Minute)
	mine := state.Marker{Address: "https://x/c/1", By: "me", Stage: state.StageSent}
	login := Pause{Class: ClassLogin, Reason: "log in", Until: soon}
	prompt := files(state.KindPrompt)
	marked := prompt.With(state.KindMarker)
	for _, c := range []struct {
		name   string
		v      view
		verb   verb
		at     time.Time
		reason string
		note   string
	}{
		{"cancel, new", view{files: prompt.With(state.KindCancel)}, cancel, time.Time{}, ".prompt.cancel", ""},
		{"cancel, paused", view{files: prompt.With(state.KindCancel), brake: login}, cancel, time.Time{}, "", ""},
		{"cancel, sent", view{files: marked.With(state.KindCancel), marker: mine, due: soon}, cancel, time.Time{}, "", ""},
		{"cancel, theirs", view{files: marked.With(state.KindCancel), marker: mine, owner: "you", askedAt: now, grace: time.Minute}, cancel, soon, "", "another program"},
		{"cancel, theirs, for long", view{files: marked.With(state.KindCancel), marker: mine, owner: "you", askedAt: ago, grace: time.Second}, cancel, ago.Add(time.Second), "", "another program"},
		{"cancel, done", view{files: marked.With(state.KindAnswer).With(state.KindCancel)}, cancel, time.Time{}, "", ""},
		{"cancel, cannot be removed", view{files: prompt.With(state.KindCancel), askAt: soon}, cancel, soon, "", ""},
		{"cancel, no job", view{files: files(state.KindCancel)}, rest, time.Time{}, "no prompt", ""},
		{"cancel and retry", view{files: prompt.With(state.KindCancel).With(state.KindRetry)}, cancel, time.Time{}, "", ""},

		{"retry, new", view{files: prompt.With(state.KindRetry)}, retry, time.Time{}, ".prompt.retry", ""},
		{"retry, sent", view{files: marked.With(state.KindRetry), marker: mine, owner: "me"}, retry, time.Time{}, "", ""},
		{"retry, owner unknown", view{files: marked.With(state.KindRetry), marker: mine}, retry, time.Time{}, "", ""},
		{"retry, owner unknown, paused", view{files: marked.With(state.KindRetry), marker: mine, brake: login}, retry, soon, "log in", ""},
		{"retry, owner known, paused", view{files: marked.With(state.KindRetry), marker: mine, owner: "me", brake: login}, retry, time.Time{}, "", ""},
		{"retry, theirs", view{files: marked.With(state.KindRetry), marker: mine, owner: "you", due: soon}, collect, soon, "was sent", reasonTheirs},
		{"retry, theirs, done", view{files: marked.With(state.KindRetry).With(state.KindAnswer), marker: mine, owner: "you"}, wait, time.Time{}, reasonTheirs, ""},
		{"retry, nobody's", view{files: marked.With(state.KindRetry), owner: "me"}, find, time.Time{}, "", reasonNobodys},
		{"retry, failed", view{files: prompt.With(state.KindRetry).With(state.KindError)}, retry, time.Time{}, "", ""},
		{"retry, done by hand", view{files: prompt.With(state.KindRetry).With(state.KindAnswer)}, retry, time.Time{}, "", ""},
		{"retry, no prompt", view{files: files(state.KindMarker, state.KindAnswer, state.KindRetry), marker: mine}, wait, time.Time{}, reasonNoPrompt, ""},
		{"retry, no job", view{files: files(state.KindRetry)}, rest, time.Time{}, "no prompt", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.v.now, c.v.inFlight = now, 3
			a := decide(c.v)
			if a.verb != c.verb || !a.at.Equal(c.at) || !strings.Contains(a.reason, c.reason) || !strings.Contains(a.note, c.note) || a.reason == "" {
				t.Errorf("decide = %v at %v (%s; %s), want %v at %v (…%s…; …%s…)", a.verb, a.at, a.reason, a.note, c.verb, c.at, c.reason, c.note)
			}
		})
	}
}
