package watch_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"watcher/state"
	"watcher/watch"
	"watcher/watch/watchtest"
)

func TestSendsAndCollects(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(func(string, int) watchtest.Plan { return watchtest.Plan{Think: 90 * time.Second} })
		r.write("a.prompt", "hello\n")
		r.running()
		pass(5 * time.Second)
		m := r.marker("a")
		want := state.Marker{Address: m.Address, Prompt: state.Fingerprint("hello"), By: "0123456789abcdef",
			Stage: state.StageSent, At: m.At, Message: "message-1"}
		if m != want || m.At == 0 {
			t.Errorf("marker = %+v, want %+v", m, want)
		}
		pass(70 * time.Second)
		if r.has("a.md") {
			t.Error("a.md is there before the answer is whole")
		}
		pass(2 * time.Minute)
		r.answered("a", "hello")
		if strings.Contains(r.log.String(), "hello") || strings.Contains(r.log.String(), "Answer to") {
			t.Errorf("the log holds prompt or answer text:\n%s", r.log)
		}
		for _, phase := range []string{`"new prompt"`, `"sent"}`, `"answered"`} {
			if n := r.logged(phase, `"job":"`+r.path("a")+`"`); n != 1 {
				t.Errorf("%d lines %s, want 1:\n%s", n, phase, r.log)
			}
		}
	})
}

func TestIdleIsQuiet(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.write("a.prompt", "hello")
		r.running()
		pass(3 * time.Minute)
		before, reads := r.log.String(), r.chat.Calls("read")
		info, err := os.Stat(r.dir)
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		again, err := os.Stat(r.dir)
		if err != nil {
			t.Fatal(err)
		}
		if !again.ModTime().Equal(info.ModTime()) || r.log.String() != before || r.chat.Calls("read") != reads {
			t.Errorf("an idle hour wrote files, lines or read chats:\n%s", strings.TrimPrefix(r.log.String(), before))
		}
	})
}

func TestTwentyAtOnceInNameOrder(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.SendGap, r.cfg.InFlight = 5*time.Second, 20
		var want []string
		for i := range 20 {
			text := fmt.Sprintf("prompt %02d", i)
			want = append(want, text)
			defer r.answered(fmt.Sprintf("p%02d", i), text)
			r.write(fmt.Sprintf("p%02d.prompt", i), text)
		}
		r.running()
		pass(5 * time.Minute)
		var got []string
		for _, p := range r.chat.Accepted() {
			got = append(got, p.Prompt)
		}
		if !slices.Equal(got, want) {
			t.Errorf("sent %q", got)
		}
	})
}

func TestPace(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(func(string, int) watchtest.Plan { return watchtest.Plan{Think: 10 * time.Minute} })
		for i := range 5 {
			r.write(fmt.Sprintf("%d.prompt", i), fmt.Sprint("prompt ", i))
		}
		r.running()
		pass(9 * time.Minute)
		posts := r.chat.Accepted()
		if len(posts) != 3 {
			t.Fatalf("%d chats unanswered, want 3", len(posts))
		}
		for i, p := range posts[1:] {
			if gap := p.At.Sub(posts[i].At); gap < 27*time.Second || gap > 34*time.Second {
				t.Errorf("%v between two sends, want 30s give or take a tenth", gap)
			}
		}
		pass(25 * time.Minute)
		for i := range 5 {
			r.answered(fmt.Sprint(i), fmt.Sprint("prompt ", i))
		}
	})
}

func TestFoldersTakeTurns(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for i := range 3 {
			r.write(fmt.Sprintf("a/%d.prompt", i), fmt.Sprint("a", i))
		}
		r.write("b/0.prompt", "b0")
		r.running()
		pass(time.Minute)
		if r.chat.Count("b0") != 1 {
			t.Errorf("b0 waits behind all of folder a: %v", r.chat.Accepted())
		}
	})
}

// What the files say without any code of its own.
func TestFilesDecide(t *testing.T) {
	done := func(t *testing.T, r *rig) {
		r.write("a.prompt", "hello")
		r.running()
		pass(2 * time.Minute)
		r.answered("a", "hello")
	}
	for _, c := range []struct {
		name string
		do   func(t *testing.T, r *rig)
	}{
		{"the answer deleted is fetched again", func(t *testing.T, r *rig) {
			done(t, r)
			r.remove("a.md")
			pass(2 * time.Minute)
			r.answered("a", "hello")
		}},
		{"answer and marker deleted is a new send", func(t *testing.T, r *rig) {
			done(t, r)
			r.remove("a.md", "a.md.url")
			pass(5 * time.Minute)
			if n := r.chat.Count("hello"); n != 2 || r.read("a.md") != watchtest.Answer("hello") {
				t.Errorf("sent %d times, want twice", n)
			}
		}},
		{"an empty answer means done", func(t *testing.T, r *rig) {
			r.write("a.md", "")
			r.write("a.prompt", "hello")
			r.running()
			pass(5 * time.Minute)
			if r.read("a.md") != "" || r.has("a.md.url") || len(r.chat.Accepted()) > 0 {
				t.Error("a job with an answer was touched")
			}
		}},
		{"an answer that comes first stays", func(t *testing.T, r *rig) {
			r.write("a.prompt", "hello")
			r.running()
			pass(10 * time.Second)
			r.write("a.md", "mine")
			pass(2 * time.Minute)
			if r.read("a.md") != "mine" {
				t.Error("a person's answer was overwritten")
			}
		}},
		{"the prompt deleted before the send", func(t *testing.T, r *rig) {
			r.write("a.prompt", "hello")
			r.running()
			pass(time.Second)
			r.remove("a.prompt")
			pass(5 * time.Minute)
			r.unsent("a")
		}},
		{"the prompt deleted after the send", func(t *testing.T, r *rig) {
			r.write("a.prompt", "hello")
			r.running()
			pass(10 * time.Second)
			r.remove("a.prompt")
			pass(2 * time.Minute)
			r.answered("a", "hello")
		}},
		{"a marker alone is collected", func(t *testing.T, r *rig) {
			done(t, r)
			r.write("b.md.url", r.marker("a").Address)
			pass(2 * time.Minute)
			if r.read("b.md") != watchtest.Answer("hello") {
				t.Errorf("b.md = %q", r.read("b.md"))
			}
		}},
		{"a held prompt", func(t *testing.T, r *rig) {
			r.write("a.prompt", "hello")
			r.write("a.prompt.hold", "")
			r.running()
			pass(10 * time.Minute)
			r.unsent("a")
			if n := r.logged("waiting", ".prompt.hold"); n != 1 {
				t.Errorf("%d lines about the hold, want 1", n)
			}
			r.remove("a.prompt.hold")
			pass(2 * time.Minute)
			r.answered("a", "hello")
		}},
		{"a held folder", func(t *testing.T, r *rig) {
			r.write("a.prompt", "hello")
			r.write("watcher.hold", "")
			r.running()
			pass(10 * time.Minute)
			r.unsent("a")
			r.remove("watcher.hold")
			pass(2 * time.Minute)
			r.answered("a", "hello")
		}},
		{"an edit after the send", func(t *testing.T, r *rig) {
			r.chat.Script(func(string, int) watchtest.Plan { return watchtest.Plan{Think: 5 * time.Minute} })
			r.write("a.prompt", "hello")
			r.running()
			pass(10 * time.Second)
			r.write("a.prompt", "hello again")
			pass(10 * time.Minute)
			r.answered("a", "hello")
			if n := r.logged("changed after it was sent"); n != 1 || r.chat.Count("hello again") != 0 {
				t.Errorf("%d warnings, want 1\n%s", n, r.log)
			}
		}},
		{"a sync tool's second copy", func(t *testing.T, r *rig) {
			r.write("a.sync-conflict-20260101-120000-ABCDEFG.prompt", "hello")
			r.running()
			pass(10 * time.Minute)
			r.unsent("a")
			if n := r.logged("second copy"); n != 1 {
				t.Errorf("%d warnings, want 1", n)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) { bubble(t, c.do) })
	}
}

func TestVoidFailure(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.write("a.prompt", "a\xff")
		r.chat.Script(func(p string, _ int) watchtest.Plan {
			if p == "bad" {
				return watchtest.Plan{Before: &watchtest.Fault{Kind: watch.ClassFiltered}}
			}
			return watchtest.Plan{}
		})
		r.running()
		pass(time.Minute)
		r.failed("a", watch.ClassInvalid)
		r.write("a.prompt", "bad")
		pass(2 * time.Minute)
		if f := r.failed("a", watch.ClassFiltered); f.Prompt != state.Fingerprint("bad") {
			t.Errorf("failure = %+v", f)
		}
		if !r.has("a.md.err.1") {
			t.Error("the void .md.err was not kept")
		}
		pass(time.Hour) // unchanged: it stays failed
		r.failed("a", watch.ClassFiltered)
		r.write("a.prompt", "good")
		pass(2 * time.Minute)
		r.answered("a", "good")
	})
}

func TestNamesThatAreNotText(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.write("bad\xff.prompt", "one")
		r.write("bad\xfe.prompt", "two")
		r.running()
		pass(3 * time.Minute)
		r.answered("bad\xff", "one")
		r.answered("bad\xfe", "two")
		if r.logged("job_quoted", `bad\\xff`) == 0 {
			t.Errorf("no quoted name in the log:\n%s", r.log)
		}
	})
}
