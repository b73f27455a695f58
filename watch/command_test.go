package watch_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"watcher/state"
	"watcher/watch"
	"watcher/watch/watchtest"
)

// Every class of failure, with and without a marker: the .md.err says what it
// is and ends in a command; a person mends what there is to mend, types the
// command as it stands, and the job comes to a good end. No address is lost.
func TestCommands(t *testing.T) {
	const hello = "hello"
	for _, c := range []struct {
		name, class string
		plan        watchtest.Plan
		do          func(r *rig)  // before the failure
		wait        time.Duration // until it is there
		mend        func(r *rig)  // before the command
		command     string        // what it begins with
		sends       int           // how often the text was taken in the end
		config      func(*watch.Config)
	}{
		{name: "invalid text", class: watch.ClassInvalid, do: func(r *rig) { r.write("a.prompt", "a\x00b") },
			mend: func(r *rig) { r.write("a.prompt", hello) }, command: "rm -- ", sends: 1},
		{name: "invalid, says the site", class: watch.ClassInvalid, plan: watchtest.Plan{Before: fault(watch.ClassInvalid, false)}, command: "rm -- ", sends: 1},
		{name: "invalid address", class: watch.ClassInvalid, plan: watchtest.Plan{Fails: fault(watch.ClassInvalid, true)},
			mend: func(r *rig) { r.chat.Mend() }, command: "rm -- ", sends: 1},
		{name: "altered", class: watch.ClassAltered, plan: watchtest.Plan{Before: fault(watch.ClassAltered, false)}, command: "rm -- ", sends: 1},
		{name: "filtered, not taken", class: watch.ClassFiltered, plan: watchtest.Plan{After: fault(watch.ClassFiltered, false)}, command: "rm -- ", sends: 1},
		{name: "filtered in the stream", class: watch.ClassFiltered, plan: watchtest.Plan{After: fault(watch.ClassFiltered, true)}, command: "touch -- ", sends: 2},
		{name: "filtered, read", class: watch.ClassFiltered, plan: watchtest.Plan{Fails: fault(watch.ClassFiltered, true)}, command: "touch -- ", sends: 2},
		{name: "gone", class: watch.ClassGone, plan: watchtest.Plan{Think: time.Hour},
			do: func(r *rig) { pass(10 * time.Second); r.chat.Delete(r.marker("a").Address) }, command: "touch -- ", sends: 2},
		{name: "generation, not taken", class: watch.ClassGeneration, plan: watchtest.Plan{Before: fault(watch.ClassGeneration, false)}, command: "rm -- ", sends: 1},
		{name: "generation", class: watch.ClassGeneration, plan: watchtest.Plan{Fails: fault(watch.ClassGeneration, true)}, command: "touch -- ", sends: 2},
		{name: "stalled", class: watch.ClassStalled, plan: watchtest.Plan{Stuck: true}, wait: 40 * time.Minute,
			mend: func(r *rig) { r.chat.Mend() }, command: "rm -- ", sends: 1},
		{name: "expired", class: watch.ClassExpired, plan: watchtest.Plan{Think: 90 * time.Minute}, wait: 70 * time.Minute,
			mend: func(*rig) { pass(time.Hour) }, command: "rm -- ", sends: 1, config: func(c *watch.Config) { c.Expire = time.Hour }},
		{name: "cancelled, not sent", class: watch.ClassCancelled, do: func(r *rig) { r.write("a.prompt.cancel", "") }, command: "rm -- ", sends: 1},
		{name: "cancelled and stopped", class: watch.ClassCancelled, plan: watchtest.Plan{Think: time.Hour},
			do: func(r *rig) { pass(time.Minute); r.write("a.prompt.cancel", "") }, command: "touch -- ", sends: 2},
		{name: "cancelled, not stopped", class: watch.ClassCancelled, plan: watchtest.Plan{Think: 10 * time.Minute},
			do: func(r *rig) {
				r.chat.Break("stop", fault(watch.ClassUnreachable, true))
				pass(time.Minute)
				r.write("a.prompt.cancel", "")
			}, command: "rm -- ", sends: 1},
		{name: "ambiguous, not readable", class: watch.ClassAmbiguous, plan: watchtest.Plan{After: fault(watch.ClassUnreachable, true), Lose: true},
			do: func(r *rig) { pass(5 * time.Second); r.chat.Delete(r.marker("a").Address) }, wait: 2 * time.Hour,
			command: "touch -- ", sends: 1, config: func(c *watch.Config) { c.Expire = time.Hour }},
		{name: "ambiguous, no marker", class: watch.ClassAmbiguous, plan: watchtest.Plan{Skip: true}, command: "rm -- ", sends: 2},
		{name: "ambiguous, no address", class: watch.ClassAmbiguous, do: func(r *rig) { r.write("a.md.url", "") }, command: "rm -- ", sends: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.cfg.Rescan, r.cfg.SendGap = 10*time.Second, 0
				if c.config != nil {
					c.config(&r.cfg)
				}
				r.chat.Script(first(c.plan))
				r.write("a.prompt", hello)
				if c.name == "cancelled, not sent" || c.name == "ambiguous, no address" {
					c.do(r)
				}
				r.running()
				if c.do != nil {
					c.do(r)
				}
				pass(max(c.wait, 5*time.Minute))
				f := r.failed("a", c.class)
				r.whole("a.md.err", f, c.command)
				if c.mend != nil {
					c.mend(r)
				}
				r.follow(f.Command)
				pass(40 * time.Minute)
				if n := r.chat.Count(hello); n != c.sends || r.read("a.md") != watchtest.Answer(hello) || r.has("a.md.err") {
					t.Errorf("taken %d times, want %d; answer %q\n%s", n, c.sends, r.read("a.md"), r.log)
				}
				if c.name != "ambiguous, no marker" {
					r.kept("a")
				}
			})
		})
	}
}

// whole checks the form of a .md.err: a sentence first, the command last.
func (r *rig) whole(file string, f state.Failure, command string) {
	r.t.Helper()
	head, _, _ := strings.Cut(r.read(file), "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	if f.Sentence == "" || f.When.IsZero() || lines[len(lines)-1] != f.Command || !strings.HasPrefix(f.Command, command) {
		r.t.Errorf("%s, want command %s…:\n%s", file, command, r.read(file))
	}
}

// follow types a command into a shell. It waits outside the bubble's clock.
func (r *rig) follow(command string) {
	r.t.Helper()
	if out, err := exec.Command("sh", "-ec", command).CombinedOutput(); err != nil || len(out) > 0 {
		r.t.Fatalf("%s: %v, %s", command, err, out)
	}
}

// The command holds for names that a shell would take apart.
func TestCommandIsQuoted(t *testing.T) {
	for _, name := range []string{"two words", "it's", "-rf", "$(date)", "a;b", `back\slash`, "ąčiū"} {
		bubble(t, func(t *testing.T, r *rig) {
			r.cfg.Rescan, r.cfg.SendGap = 10*time.Second, 0
			r.chat.Script(first(watchtest.Plan{Fails: fault(watch.ClassGeneration, true)}))
			r.write(name+".prompt", "hello")
			r.running()
			pass(2 * time.Minute)
			r.follow(r.failed(name, watch.ClassGeneration).Command)
			pass(2 * time.Minute)
			if r.read(name+".md") != watchtest.Answer("hello") || r.chat.Count("hello") != 2 {
				t.Errorf("%s: log:\n%s", name, r.log)
			}
		})
	}
}

// A marker that names no owner is nobody's to send again, except by force.
func TestCommandForNobodysMarker(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.write("a.md.url", "https://chat.example/c/00000000-0000-4000-8000-000000000000\n")
		r.write("a.prompt", "hello")
		r.running()
		pass(2 * time.Minute)
		if f := r.failed("a", watch.ClassGone); f.Command != "watcher retry --force -- '"+r.path("a.prompt")+"'" {
			t.Errorf("command %s", f.Command)
		}
	})
}
