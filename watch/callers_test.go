package watch_test

import (
	"context"
	"testing"
	"time"

	"watcher/state"
	"watcher/watch"
	"watcher/watch/watchtest"
)

// Another account of the same profile owns nothing of the first one's: what may
// have left waits for its owner to come back.
func TestReleasedByAnotherAccount(t *testing.T) {
	for name, p := range map[string]watchtest.Plan{"it arrived": {}, "it was lost": {Lose: true}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.Rescan = 10 * time.Minute
				r.crashed(p)
				marker := r.read("a.md.url")
				r.chat.Login("someone-else")
				r.chat.Break("read", fault(watch.ClassLogin, true)) // the chat is not this account's
				_, stop := r.start()
				pass(2 * time.Hour)
				stop()
				if r.read("a.md.url") != marker || r.chat.Calls("send") != 1 || r.has("a.md.err") {
					t.Errorf("marker %q was %q\n%s", r.read("a.md.url"), marker, r.log)
				}
				r.chat.Break("read", nil)
				_, stop = r.start() // readable, but not to be sent by this one
				pass(2 * time.Hour)
				stop()
				if name == "it was lost" && (r.read("a.md.url") != marker || r.chat.Calls("send") != 1) {
					t.Errorf("it was retired by another account\n%s", r.log)
				}
				r.chat.Login("0123456789abcdef")
				_, stop = r.start()
				pass(20 * time.Minute)
				stop()
				r.answered("a", "hello")
			})
		})
	}
}

// The only runner recovers within one call; who asks meanwhile is told that it
// is in progress, at once, and other jobs are not held up.
func TestCallersDuringTheRecovery(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.SendGap = 0
		r.crashed(watchtest.Plan{Lose: true})
		r.write("b.prompt", "another")
		a, err := watch.New(r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan []watch.Result)
		began := time.Now()
		go func() {
			got, err := a.Generate(context.Background(), r.path("a.prompt"))
			if err != nil {
				t.Error(err)
			}
			done <- got
		}()
		pass(10 * time.Second)
		for range 3 {
			at := time.Now()
			got, err := a.Step(t.Context(), r.path("a.prompt"))
			if err != nil {
				t.Fatal(err)
			}
			r.outcome(got, watch.InProgress, "", "may have left")
			if d := time.Since(at); d > time.Second {
				t.Errorf("a caller waited %v", d)
			}
			pass(20 * time.Second)
		}
		r.chat.Script(nil)
		got, err := a.Step(t.Context(), r.path("b.prompt"))
		if err != nil {
			t.Fatal(err)
		}
		r.outcome(got, watch.SentNow, "", "")
		r.outcome((<-done)[0], watch.SentNow, "", "")
		if d := time.Since(began); d < 150*time.Second || d > 170*time.Second {
			t.Errorf("the recovery took %v", d)
		}
		if r.chat.Count("hello") != 1 {
			t.Errorf("taken %d times", r.chat.Count("hello"))
		}
	})
}

// Released by others: never sent, whoever asks and however often.
func TestCallersOfTheirs(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.write("a.prompt", "hello")
		m := state.Marker{Address: "https://chat.example/c/x", Prompt: state.Fingerprint("hello"), By: "another",
			Stage: state.StageReleased, At: time.Now().Unix()}
		r.write("a.md.url", m.String())
		for range 5 {
			if got := r.generate()[0]; got.Outcome != watch.InProgress || got.Phase != state.Sent {
				t.Errorf("result = %+v", got)
			}
			pass(5 * time.Minute)
		}
		if r.chat.Calls("send") != 0 || r.marker("a") != m {
			t.Errorf("log:\n%s", r.log)
		}
	})
}

// One-shot calls obey control files, too, and say what came of them.
func TestCallersAndControlFiles(t *testing.T) {
	for name, c := range map[string]struct {
		before  func(r *rig)
		file    string
		outcome watch.Outcome
		class   string
		after   watch.Outcome
	}{
		"cancel, new":    {func(*rig) {}, "a.prompt.cancel", watch.Failed, watch.ClassCancelled, watch.Failed},
		"cancel, sent":   {func(r *rig) { r.generate() }, "a.prompt.cancel", watch.Failed, watch.ClassCancelled, watch.Failed},
		"cancel, done":   {func(r *rig) { r.write("a.md", "mine") }, "a.prompt.cancel", watch.Done, "", watch.Done},
		"retry, done":    {func(r *rig) { r.write("a.md", "mine") }, "a.prompt.retry", watch.SentNow, "", watch.InProgress},
		"retry, failed":  {func(r *rig) { r.write("a.md.err", "it failed\n") }, "a.prompt.retry", watch.SentNow, "", watch.InProgress},
		"retry, sent":    {func(r *rig) { r.generate() }, "a.prompt.retry", watch.SentNow, "", watch.InProgress},
		"retry, new":     {func(*rig) {}, "a.prompt.retry", watch.SentNow, "", watch.InProgress},
		"retry and hold": {func(r *rig) { r.generate(); r.write("a.prompt.hold", "") }, "a.prompt.retry", watch.InProgress, "", watch.InProgress},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.SendGap = 0
				r.chat.Script(plan(watchtest.Plan{Think: time.Hour}))
				r.write("a.prompt", "hello")
				c.before(r)
				r.write(c.file, "")
				r.outcome(r.generate()[0], c.outcome, c.class, "")
				if r.has(c.file) {
					t.Error("it was not acknowledged")
				}
				if got := r.generate()[0]; got.Outcome != c.after {
					t.Errorf("then %+v", got)
				}
			})
		})
	}
}
