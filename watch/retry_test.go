package watch_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"watcher/state"
	"watcher/watch"
	"watcher/watch/watchtest"
)

// kept checks that the addresses of all sends of a prompt are in a marker or in
// a retired one.
func (r *rig) kept(name string) {
	r.t.Helper()
	files, err := filepath.Glob(r.path(name) + ".md.url*")
	if err != nil {
		r.t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			r.t.Fatal(err)
		}
		all.Write(b)
	}
	for _, p := range r.chat.Accepted() {
		if !strings.Contains(all.String(), p.Address+"#") {
			r.t.Errorf("the address %s is lost, kept are\n%s", p.Address, all.String())
		}
	}
}

// Whatever a job's state, a .retry leads to one more send, and keeps all.
func TestRetry(t *testing.T) {
	for name, c := range map[string]struct {
		plan  watchtest.Plan
		do    func(r *rig)
		sends int
		aside []string
	}{
		"new":    {do: func(*rig) {}, sends: 1},
		"done":   {do: func(*rig) { pass(2 * time.Minute) }, sends: 2, aside: []string{"a.md.url.1", "a.md.1"}},
		"sent":   {plan: watchtest.Plan{Think: time.Hour}, do: func(*rig) { pass(5 * time.Minute) }, sends: 2, aside: []string{"a.md.url.1"}},
		"failed": {plan: watchtest.Plan{Before: fault(watch.ClassFiltered, false)}, do: func(*rig) { pass(5 * time.Minute) }, sends: 1, aside: []string{"a.md.err.1"}},
		"failed, sent": {plan: watchtest.Plan{Fails: fault(watch.ClassFiltered, true)}, do: func(*rig) { pass(5 * time.Minute) },
			sends: 2, aside: []string{"a.md.err.1", "a.md.url.1"}},
		"in doubt": {plan: watchtest.Plan{After: fault(watch.ClassUnreachable, true)}, do: func(*rig) { pass(10 * time.Second) },
			sends: 2, aside: []string{"a.md.url.1"}},
		"answered by hand": {do: func(r *rig) { r.write("a.md", "mine"); pass(time.Minute) }, sends: 1, aside: []string{"a.md.1"}},
		"held": {do: func(r *rig) {
			pass(2 * time.Minute)
			r.write("a.prompt.hold", "")
			r.write("a.prompt.retry", "")
			pass(2 * time.Minute)
			r.remove("a.prompt.hold")
		}, sends: 2, aside: []string{"a.md.url.1", "a.md.1"}},
		"edited": {do: func(r *rig) { pass(2 * time.Minute); r.write("a.prompt", "hello") }, sends: 2, aside: []string{"a.md.url.1"}},
	} {
		for _, how := range []string{"running", "restarted", "generate"} {
			t.Run(name+", "+how, func(t *testing.T) {
				bubble(t, func(t *testing.T, r *rig) {
					r.cfg.Rescan = 5 * time.Second
					r.chat.Script(first(c.plan))
					r.write("a.prompt", "hello")
					_, stop := r.start()
					c.do(r)
					if how != "running" {
						stop()
					}
					if name != "held" {
						r.write("a.prompt.retry", "")
					}
					switch how {
					case "restarted":
						_, stop = r.start()
					case "generate":
						r.outcome(r.generate()[0], watch.SentNow, "", "")
						_, stop = r.start()
					}
					pass(5 * time.Minute)
					stop()
					if n := r.chat.Count("hello"); n != c.sends || r.read("a.md") != watchtest.Answer("hello") {
						t.Errorf("taken %d times, want %d; answer %q\n%s", n, c.sends, r.read("a.md"), r.log)
					}
					for _, f := range c.aside {
						if !r.has(f) {
							t.Errorf("%s is not kept", f)
						}
					}
					if r.has("a.prompt.retry") {
						t.Error("it was not acknowledged")
					}
					r.kept("a")
				})
			})
		}
	}
}

// A .retry that is not ours to obey, or that cannot be, changes nothing.
func TestRetryLeftAlone(t *testing.T) {
	theirs := state.Marker{Address: "https://chat.example/c/x", Prompt: state.Fingerprint("hello"), By: "another", Stage: state.StageSent}
	for name, c := range map[string]struct {
		do     func(r *rig)
		reason string
	}{
		"theirs":         {func(r *rig) { r.write("a.md.url", theirs.String()); r.write("a.md", "theirs") }, "owner is another program"},
		"theirs, failed": {func(r *rig) { r.write("a.md.url", theirs.String()); r.write("a.md.err", "x\nclass: stalled\n") }, "owner is another program"},
		"nobody's":       {func(r *rig) { r.write("a.md.url", "https://chat.example/c/x\n"); r.write("a.md", "mine") }, "names no owner"},
		"no prompt": {func(r *rig) {
			r.write("a.md.url", theirs.String())
			r.write("a.md", "theirs")
			r.remove("a.prompt")
		}, "waits for the prompt"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.Rescan = 10 * time.Second
				r.write("a.prompt", "hello")
				c.do(r)
				r.write("a.prompt.retry", "")
				before := r.read("a.md.url") + r.read("a.md") + r.read("a.md.err")
				r.running()
				pass(30 * time.Minute)
				if now := r.read("a.md.url") + r.read("a.md") + r.read("a.md.err"); now != before || !r.has("a.prompt.retry") {
					t.Errorf("changed from %q to %q", before, now)
				}
				if n := r.logged("waiting", c.reason); n != 1 || r.chat.Calls("send") > 0 {
					t.Errorf("%d lines, want 1\n%s", n, r.log)
				}
			})
		})
	}
}

// While another program's .retry waits, its chat is still read, and a caller is
// told.
func TestRetryTheirsIsCollected(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(plan(watchtest.Plan{Think: 2 * time.Minute}))
		r.write("a.prompt", "hello")
		_, stop := r.start()
		pass(10 * time.Second)
		stop()
		r.chat.Login("someone-else")
		r.write("a.prompt.retry", "")
		got := r.generate()[0]
		r.outcome(got, watch.InProgress, "", "another program")
		pass(3 * time.Minute)
		r.outcome(r.generate()[0], watch.Done, "", "")
		r.answered("a", "hello")
	})
}

// Nobody can be asked who is logged in: the .retry waits, and nothing is lost.
func TestRetryWaitsForTheOwner(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.write("a.prompt", "hello")
		_, stop := r.start()
		pass(2 * time.Minute)
		stop()
		r.chat.Break("owner", fault(watch.ClassLogin, false))
		r.write("a.prompt.retry", "")
		r.running()
		pass(20 * time.Minute)
		if !r.has("a.md") || !r.has("a.prompt.retry") || r.logged("waiting", ".prompt.retry waits") != 1 {
			t.Errorf("log:\n%s", r.log)
		}
		r.chat.Break("owner", nil)
		pass(time.Hour)
		if r.chat.Count("hello") != 2 || !r.has("a.md") {
			t.Errorf("log:\n%s", r.log)
		}
	})
}

// The building block of the command.
func TestRetryByForce(t *testing.T) {
	marker := state.Marker{Address: "https://chat.example/c/x", Prompt: state.Fingerprint("hello"), By: "another", Stage: state.StageReleased}
	mine := func(by string) bool { return by == "me" }
	for name, c := range map[string]struct {
		by    string
		force bool
		want  error
		files func(r *rig)
	}{
		"ours": {by: "me"}, "theirs": {by: "another", want: watch.ErrTheirs}, "theirs, by force": {by: "another", force: true},
		"nobody's": {want: watch.ErrNobodys}, "nobody's, by force": {force: true},
		"no prompt": {by: "me", want: watch.ErrNoPrompt, files: func(r *rig) { r.remove("a.prompt") }},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			marker.By = c.by
			r.write("a.prompt", "hello")
			r.write("a.md.url", marker.String())
			r.write("a.md", "an answer")
			if c.files != nil {
				c.files(r)
			}
			d, err := state.OpenDir(r.dir, "00112233")
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			kept, err := watch.Retry(d, "a", mine, c.force)
			if !errors.Is(err, c.want) {
				t.Fatalf("Retry = %v, %v", kept, err)
			}
			if done := !r.has("a.md.url") && !r.has("a.md") && r.has("a.md.1") && r.has("a.md.url.1") && len(kept) == 2; done != (c.want == nil) || r.has("a.prompt.retry") {
				t.Errorf("kept %v", kept)
			}
		})
	}
}
