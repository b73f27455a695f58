package watch

import (
	"strings"
	"testing"
	"time"

	"watcher/state"
)

func files(kinds ...state.Kind) (f state.Files) {
	for _, k := range kinds {
		f = f.With(k)
	}
	return f
}

func TestDecide(t *testing.T) {
	now := time.Now()
	soon, ago := now.Add(time.Minute), now.Add(-time.Minute)
	prompt, marked := files(state.KindPrompt), files(state.KindPrompt, state.KindMarker)
	released := state.Marker{Address: "https://x/c/1", By: "me", Stage: state.StageReleased}
	sent := state.Marker{Address: "https://x/c/1", By: "me", Stage: state.StageSent}
	login := Pause{Class: ClassLogin, Reason: "log in", Until: soon}
	quota := Pause{Class: ClassQuota, Reason: "no quota", Until: soon}
	over := Pause{Class: ClassQuota, Reason: "no quota", Until: ago}

	for _, c := range []struct {
		name   string
		v      view
		verb   verb
		at     time.Time
		reason string
	}{
		{"absent", view{}, rest, time.Time{}, "no prompt"},
		{"done", view{files: files(state.KindPrompt, state.KindMarker, state.KindAnswer)}, rest, time.Time{}, "answer is there"},
		{"done without prompt", view{files: files(state.KindAnswer)}, rest, time.Time{}, "answer is there"},
		{"failed", view{files: files(state.KindPrompt, state.KindError)}, rest, time.Time{}, ".md.err"},
		{"failed with marker", view{files: marked.With(state.KindError)}, rest, time.Time{}, ".md.err"},

		{"new", view{files: prompt}, send, time.Time{}, "settled"},
		{"held", view{files: prompt.With(state.KindHold)}, wait, time.Time{}, ".prompt.hold"},
		{"not ready", view{files: prompt, wantsReady: true}, wait, time.Time{}, ".prompt.ready"},
		{"ready", view{files: prompt.With(state.KindReady), wantsReady: true}, send, time.Time{}, ""},
		{"unsettled", view{files: prompt, unsettled: reasonOpen}, wait, time.Time{}, reasonOpen},
		{"folder held", view{files: prompt, folderHold: true}, wait, time.Time{}, reasonFolderHold},
		{"paused", view{files: prompt, brake: quota}, wait, soon, "no quota"},
		{"pause is over: a probe", view{files: prompt, brake: over}, send, time.Time{}, ""},
		{"gap", view{files: prompt, sendAt: soon}, wait, soon, reasonGap},
		{"gap is over", view{files: prompt, sendAt: ago}, send, time.Time{}, ""},
		{"no room", view{files: prompt, unanswered: 3}, wait, time.Time{}, "3 chats are unanswered"},
		{"room", view{files: prompt, unanswered: 2}, send, time.Time{}, ""},
		{"banned", view{files: prompt, banned: true}, wait, time.Time{}, "may have left"},
		{"hold before pause", view{files: prompt.With(state.KindHold), brake: quota}, wait, time.Time{}, ".prompt.hold"},

		{"sent", view{files: marked, marker: sent, due: soon}, collect, soon, "was sent"},
		{"sent by another", view{files: marked, marker: sent, owner: "you"}, collect, time.Time{}, ""},
		{"marker alone", view{files: files(state.KindMarker), marker: sent}, collect, time.Time{}, ""},
		{"released, owner unknown", view{files: marked, marker: released}, prove, time.Time{}, "may have left"},
		{"released, ours", view{files: marked, marker: released, owner: "me"}, prove, time.Time{}, "may have left"},
		{"released, theirs", view{files: marked, marker: released, owner: "you"}, collect, time.Time{}, "another owner"},
		{"released, confirmed", view{files: marked, marker: released, owner: "me", confirmed: true}, prove, time.Time{}, "was sent"},
		{"no address", view{files: marked, marker: state.Marker{Stage: state.StageSent}}, find, time.Time{}, "not known"},
		{"reading is useless", view{files: marked, marker: sent, brake: login, due: ago}, collect, soon, "log in"},
		{"reading is useful", view{files: marked, marker: sent, brake: quota, due: ago}, collect, ago, ""},
		{"due after the pause", view{files: marked, marker: sent, brake: login, due: soon.Add(1)}, collect, soon.Add(1), ""},
		{"exempt from the pause", view{files: marked, marker: released, brake: login, exempt: true, due: ago}, prove, ago, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.v.now = now
			if c.v.inFlight == 0 {
				c.v.inFlight = 3
			}
			a := decide(c.v)
			if a.verb != c.verb || !a.at.Equal(c.at) || !strings.Contains(a.reason, c.reason) || a.reason == "" {
				t.Errorf("decide = %v at %v (%s), want %v at %v (…%s…)", a.verb, a.at, a.reason, c.verb, c.at, c.reason)
			}
		})
	}
}

// Whatever else is true, only a New job is ever sent.
func TestDecideSendsNewOnly(t *testing.T) {
	for f := range state.Files(1 << 8) {
		for _, m := range []state.Marker{{}, {Address: "a", Stage: state.StageReleased, By: "me"}} {
			a := decide(view{now: time.Now(), files: f, marker: m, owner: "me", inFlight: 3})
			if a.verb == send && f != files(state.KindPrompt) && f != files(state.KindPrompt, state.KindReady) {
				t.Errorf("decide(%v) = send", f)
			}
		}
	}
}
