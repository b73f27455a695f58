package watch_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"watcher/watch"
	"watcher/watch/watchtest"
)

// goer is a fake chat whose answers are cut, and that can have the site go on.
type goer struct {
	*watchtest.Fake
	after string // what GoOn was told
	calls int
	err   error
}

func (g *goer) GoOn(_ context.Context, _, _, after string) error {
	g.calls++
	if g.after = after; g.err == nil {
		g.Mend()
	}
	return g.err
}

// cutShort is an answer that ended at the site's length limit.
var cutShort = &watchtest.Fault{Kind: watch.ClassGeneration, Text: "cut", Left: true, More: true}

// TestGoOn: an answer that is cut goes on, and is whole in the end. Where the site
// does not go on, the job fails as it did; where it can't be asked now, it is
// asked later. What another program sent is that program's to ask for.
func TestGoOn(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		class string // of the .md.err; "": answered
		says  string
		calls int // at least
		plan  watchtest.Plan
	}{
		"it goes on":          {calls: 1},
		"it stays":            {err: &watchtest.Fault{Kind: watch.ClassGeneration, Text: "pressed before"}, class: watch.ClassGeneration, says: "pressed before", calls: 1},
		"not now":             {err: &watchtest.Fault{Kind: watch.ClassUnreachable, Text: "no network"}, class: watch.ClassExpired, calls: 3},
		"a doubtful send":     {plan: watchtest.Plan{After: &watchtest.Fault{Kind: watch.ClassUnreachable, Left: true}}, calls: 1},
		"not now, then again": {err: &watchtest.Fault{Kind: watch.ClassLogin, Text: "log in"}, class: "wait", calls: 2},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				g := &goer{Fake: r.chat, err: c.err}
				r.cfg.Chat, r.cfg.Rescan = g, time.Hour
				p := c.plan
				p.Fails = cutShort
				r.chat.Script(plan(p))
				r.write("a.prompt", "hello")
				r.running()
				if c.class == "wait" {
					pass(3 * time.Hour)
					if r.has("a.md.err") || r.has("a.md") || g.calls < c.calls {
						t.Fatalf("asked %d times\n%s", g.calls, r.log)
					}
					g.err = nil
					pass(2 * time.Hour)
					r.answered("a", "hello")
					return
				}
				pass(25 * time.Hour)
				if g.calls < c.calls || c.err == nil && g.calls != c.calls {
					t.Errorf("asked %d times, want %d\n%s", g.calls, c.calls, r.log)
				}
				if c.class == "" {
					r.answered("a", "hello")
					return
				}
				if f := r.failed("a", c.class); !strings.Contains(f.Sentence, c.says) || c.class == watch.ClassGeneration && f.Partial == "" {
					t.Errorf("failure %+v", f)
				}
			})
		})
	}
}

// TestGoOnOfAnother: a marker of another owner, or of nobody, is read and never
// asked on for: its own program may do that at the same moment.
func TestGoOnOfAnother(t *testing.T) {
	for _, by := range []string{"&by=feedfeedfeedfeed", ""} {
		bubble(t, func(t *testing.T, r *rig) {
			g := &goer{Fake: r.chat}
			r.chat.Script(plan(watchtest.Plan{Fails: cutShort}))
			address := ""
			if _, err := r.chat.Send(t.Context(), watch.Outgoing{Prompt: "hello"}, func(a, _ string) error { address = a; return nil }); err != nil {
				t.Fatal(err)
			}
			r.cfg.Chat = g
			r.write("a.md.url", address+"#stage=sent"+by+"\n")
			r.running()
			pass(time.Hour)
			if r.failed("a", watch.ClassGeneration); g.calls != 0 {
				t.Errorf("asked %d times\n%s", g.calls, r.log)
			}
		})
	}
}
