package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"watcher/router/routertest"
	"watcher/state"
	"watcher/watch"
)

// ownersDay is what the script of TestDay can change: the chat's quota, and how fast
// another engine is.
type ownersDay struct {
	*recipe
	quota  atomic.Bool
	back   atomic.Int64 // unix nanoseconds; 0: the site does not say
	slow   atomic.Bool
	calls  int
	daemon *exec.Cmd
	said   syncBuffer
}

// TestDay runs the owner's whole day, testdata/day. Beside testscript's own
// commands the script may say:
//
//	minute CODE ARGS...      generate, as cron calls it; its exit code must be CODE
//	minutes FILE             the same for the whole folder until FILE is there
//	killed STEP ARGS...      generate that is killed at a named step
//	killedlater ARGS...      generate that is killed while another engine answers
//	quota on|DURATION        the chat refuses from now on, or for so long, and says so
//	slow on|off              another engine does not come to an end
//	by chat|router NAME      who answered, whole, and was the only one to be asked
//	samechat FILE FILE       two markers name the same chat
//	daemon start|stop ARGS   run
//	ledgers                  print what both servers got; nothing twice
func TestDay(t *testing.T) {
	t.Parallel()
	d := &ownersDay{recipe: newRecipe(t)}
	d.site.plan = func(string, int) labPlan {
		back := time.Unix(0, d.back.Load())
		switch {
		case d.quota.Load() && d.back.Load() == 0:
			return labPlan{Refuse: watch.ClassQuota}
		case d.quota.Load() && time.Now().Before(back):
			return labPlan{Refuse: watch.ClassQuota, Back: back}
		}
		return labPlan{Think: 60 * time.Millisecond}
	}
	d.site.router.Script(func(string, int) routertest.Plan {
		if d.slow.Load() {
			return routertest.Plan{Pause: make(chan struct{})}
		}
		return routertest.Plan{}
	})
	t.Cleanup(func() {
		if d.daemon != nil && d.daemon.ProcessState == nil {
			_ = d.daemon.Process.Kill()
			_ = d.daemon.Wait()
		}
	})
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/day",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			for _, v := range d.env {
				name, value, _ := strings.Cut(v, "=")
				e.Setenv(name, value)
			}
			e.Setenv("WATCHER_PROFILE", filepath.Join(e.WorkDir, "profile"))
			e.Setenv("WATCHER_FALLBACK", d.site.router.URL)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await": scriptAwait, "minute": d.minute, "minutes": d.minutes, "killed": d.killed, "killedlater": d.killedLater,
			"quota": d.setQuota, "slow": d.setSlow, "by": d.answeredBy, "samechat": d.sameChat, "daemon": d.runs, "ledgers": d.ledgers,
		},
	})
}

func (d *ownersDay) minute(ts *testscript.TestScript, _ bool, args []string) {
	d.calls++
	scriptCode(ts, false, append([]string{args[0], "watcher", "generate"}, args[1:]...))
}

func (d *ownersDay) minutes(ts *testscript.TestScript, _ bool, args []string) {
	for end := time.Now().Add(time.Minute); !exists(ts.MkAbs(args[0])); {
		d.calls++
		_ = ts.Exec("watcher", "generate", "--quiet", filepath.Dir(args[0])) // any code: cron goes on
		if time.Now().After(end) {
			ts.Fatalf("%s does not come", args[0])
		}
	}
}

func (d *ownersDay) killed(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv("WATCHER_TEST_DIE_AT", args[0])
	err := ts.Exec("watcher", append([]string{"generate"}, args[1:]...)...)
	ts.Setenv("WATCHER_TEST_DIE_AT", "")
	if err == nil || !strings.Contains(err.Error(), "killed") {
		ts.Fatalf("it was not killed: %v", err)
	}
}

func (d *ownersDay) killedLater(ts *testscript.TestScript, _ bool, args []string) {
	before := len(d.site.router.Posts())
	cmd := exec.Command("watcher", append([]string{"generate"}, args...)...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), d.environ(ts)
	cmd.Path = filepath.Join(d.home, "bin", "watcher")
	ts.Check(cmd.Start())
	for end := time.Now().Add(time.Minute); len(d.site.router.Posts()) == before; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("another engine is not asked")
		}
	}
	ts.Check(cmd.Process.Kill())
	_ = cmd.Wait() // killed
}

// environ is the script's environment for a process that it does not wait for.
func (d *ownersDay) environ(ts *testscript.TestScript) []string {
	env := slices.Clone(d.env)
	for _, name := range []string{"WATCHER_PROFILE", "WATCHER_FALLBACK", "WATCHER_FALLBACK_MODEL", "WATCHER_FALLBACK_ON"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	return env
}

func (d *ownersDay) setQuota(ts *testscript.TestScript, _ bool, args []string) {
	d.quota.Store(true)
	d.back.Store(0)
	if args[0] != "on" {
		left, err := time.ParseDuration(args[0])
		ts.Check(err)
		d.back.Store(time.Now().Add(left).UnixNano())
	}
}

func (d *ownersDay) setSlow(_ *testscript.TestScript, _ bool, args []string) {
	d.slow.Store(args[0] == "on")
}

func (d *ownersDay) answeredBy(ts *testscript.TestScript, _ bool, args []string) {
	text := body(ts, "outbox/"+args[1]+".prompt")
	_, taken := d.site.count(text)
	routed := d.site.router.Count(text)
	want, chat, router := labAnswer(text), 1, 0
	if args[0] == "router" {
		want, chat, router = routertest.Answer(text), 0, 1
	}
	if got := ts.ReadFile("outbox/" + args[1] + ".md"); got != want || taken != chat || routed != router {
		ts.Fatalf("%s: the chat took it %d times, another engine got it %d times; the answer is %.60q", args[1], taken, routed, got)
	}
}

func (d *ownersDay) sameChat(ts *testscript.TestScript, _ bool, args []string) {
	a, b := state.ParseMarker([]byte(ts.ReadFile(args[0]))), state.ParseMarker([]byte(ts.ReadFile(args[1])))
	if a.Address == "" || a.Address != b.Address || b.After == "" {
		ts.Fatalf("%+v and %+v", a, b)
	}
}

func (d *ownersDay) runs(ts *testscript.TestScript, _ bool, args []string) {
	if args[0] == "stop" {
		ts.Check(d.daemon.Process.Signal(os.Interrupt))
		if err := d.daemon.Wait(); err != nil {
			ts.Fatalf("%v\n%s", err, d.said.String())
		}
		return
	}
	d.daemon = exec.Command(filepath.Join(d.home, "bin", "watcher"), append([]string{"run"}, args[1:]...)...)
	d.daemon.Dir, d.daemon.Env = ts.MkAbs("."), d.environ(ts)
	d.daemon.Stdout, d.daemon.Stderr = &d.said, &d.said
	ts.Check(d.daemon.Start())
}

func (d *ownersDay) ledgers(ts *testscript.TestScript, _ bool, _ []string) {
	fmt.Fprintf(ts.Stdout(), "cron called %d times\n", d.calls)
	chat := map[string]int{}
	for _, p := range d.site.save().posts {
		if p.Taken {
			chat[p.Prompt]++
		}
	}
	books := map[string]map[string]int{"chat": chat, "router": {}}
	for _, p := range d.site.router.Posts() {
		books["router"][p.Prompt]++
	}
	for _, name := range slices.Sorted(maps.Keys(books)) {
		book, most := books[name], 0
		for _, prompt := range slices.Sorted(maps.Keys(book)) {
			fmt.Fprintf(ts.Stdout(), "%-6s %d  %q\n", name, book[prompt], prompt)
			most = max(most, book[prompt])
		}
		twice := "none twice"
		if most > 1 {
			twice = "up to " + strconv.Itoa(most) + " times"
		}
		fmt.Fprintf(ts.Stdout(), "%s server: %d prompts, %s\n", name, len(book), twice)
	}
}
