package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"watcher/state"
	"watcher/watch"
)

func TestParseHook(t *testing.T) {
	for text, want := range map[string]string{
		"true":                                "true",
		"cat {md}":                            "cat|{md}",
		`cp {md} "{dir}/my answers/{name}.x"`: "cp|{md}|{dir}/my answers/{name}.x",
		`sh -c 'echo "$WATCHER_MD"'`:          `sh|-c|echo "$WATCHER_MD"`,
		`sh -c 'cat "$1"' - {md}`:             `sh|-c|cat "$1"|-|{md}`,
		`sh -c 'x=${HOME}; echo {a,b}'`:       `sh|-c|x=${HOME}; echo {a,b}`,
		"wc -c {md}":                          "wc|-c|{md}",
		`sh -c "echo \"$WATCHER_REASON\" | mail -s \"watcher: $WATCHER_CLASS\" me"`: `sh|-c|echo "$WATCHER_REASON" | mail -s "watcher: $WATCHER_CLASS" me`,
	} {
		h, err := parseHook(hookDone, text)
		if err != nil || strings.Join(h.words, "|") != want {
			t.Errorf("%s: %+v, %v", text, h, err)
		}
	}
	for text, want := range map[string]string{
		"":                               "no command",
		"   ":                            "no command",
		"cat 'a":                         "quote",
		"cat {answer}":                   "{answer} is none of",
		"{name}":                         "the command itself",
		"no-such-command-here {md}":      "not found",
		`sh -c 'cat {md}'`:               "$WATCHER_MD",
		`/bin/bash -ec "cat {md}"`:       "$WATCHER_MD",
		`env FOO=1 sh -x -c 'rm {name}'`: "$WATCHER_MD",
	} {
		if h, err := parseHook(hookDone, text); !isUsage(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", text, h, err)
		}
	}
}

// TestHookNames: a variable that a hook gets is never a setting of the program,
// should the hook call it.
func TestHookNames(t *testing.T) {
	a := &app{}
	root := a.command()
	for _, c := range append(root.Commands(), root) {
		for _, name := range hookValues {
			if c.Flags().Lookup(name) != nil || c.PersistentFlags().Lookup(name) != nil {
				t.Errorf("--%s of %s would be set by %s", name, c.Name(), hookVariable(name))
			}
		}
	}
}

// TestHookCommand: names of files reach the command as they are, whatever is in
// them, and nothing secret does.
func TestHookCommand(t *testing.T) {
	t.Setenv("AN_API_KEY", "secret")
	t.Setenv("HTTPS_PROXY", "http://me:secret@proxy")
	t.Setenv("WATCHER_TRUST_SPKI", "secret")
	t.Setenv("NOTIFY_SOCKET", "/secret")
	t.Setenv("LC_TIME", "C")
	dir := t.TempDir()
	job := filepath.Join(dir, "a $(touch x) 'b' {md}\n\xff;")
	h, err := parseHook(hookDone, "printf %s {md} {name}.html")
	if err != nil {
		t.Fatal(err)
	}
	d := &dueHook{Event: hookDone, Job: []byte(job)}
	cmd := h.command(d.values())
	if !slices.Equal(cmd.Args, []string{"printf", "%s", job + ".md", filepath.Base(job) + ".html"}) || cmd.Dir != dir {
		t.Errorf("%q in %s", cmd.Args, cmd.Dir)
	}
	env := strings.Join(cmd.Env, "\x00")
	if strings.Contains(env, "secret") {
		t.Errorf("the environment holds a secret: %q", cmd.Env)
	}
	for _, want := range []string{"WATCHER_MD=" + job + ".md", "WATCHER_URL=" + job + ".md.url", "WATCHER_ERR=" + job + ".md.err",
		"WATCHER_PROMPT=" + job + ".prompt", "WATCHER_EVENT=done", "WATCHER_JOB=" + job, "LC_TIME=C", "PATH=" + os.Getenv("PATH")} {
		if !slices.Contains(cmd.Env, want) {
			t.Errorf("missing: %q", want)
		}
	}
}

// hookBench is a runner of hooks on a profile and a folder of its own. Its commands
// append to the file ran.
type hookBench struct {
	t       *testing.T
	profile string
	dir     string
	ran     string
	mu      sync.Mutex
	results []string
	log     syncBuffer
}

func newHookBench(t *testing.T) *hookBench {
	home := t.TempDir()
	b := &hookBench{t: t, profile: filepath.Join(home, "profile"), dir: filepath.Join(home, "in"), ran: filepath.Join(home, "ran")}
	for _, dir := range []string{b.profile, b.dir} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// hooks makes the runner of one run of the program.
func (b *hookBench) hooks(commands map[string]string) *hooks {
	b.t.Helper()
	h := &hooks{list: map[string]*hook{}, dir: hooksDir(b.profile), timeout: time.Minute, grace: time.Minute, log: zerolog.New(&b.log), wake: make(chan struct{}, 1)}
	h.ran = func(event, result string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.results = append(b.results, event+" "+result)
	}
	for event, text := range commands {
		parsed, err := parseHook(event, text)
		if err != nil {
			b.t.Fatal(err)
		}
		h.list[event] = parsed
	}
	return h
}

// started runs it; what it returns ends it.
func (b *hookBench) started(h *hooks) (stop func()) {
	h.enter()
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { h.run(ctx) })
	return func() { cancel(); done.Wait() }
}

func (b *hookBench) job(name string) string { return filepath.Join(b.dir, name) }

func (b *hookBench) write(path string) {
	b.t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// end ends a job as the agent does.
func (b *hookBench) end(h *hooks, name string) {
	b.t.Helper()
	h.ending(b.job(name), watch.EventDone, "")
	b.write(b.job(name) + ".md")
	h.observe(watch.Event{Kind: watch.EventDone, Job: b.job(name)})
}

// calls are the lines that the commands wrote.
func (b *hookBench) calls() []string {
	text, _ := os.ReadFile(b.ran) // none yet
	return strings.Fields(string(text))
}

func (b *hookBench) ended() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.results)
}

func (b *hookBench) until(what string, done func() bool) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("%s does not happen\n%s", what, &b.log)
		}
	}
}

// left are the notes of what has to run.
func (b *hookBench) left() int { return len(readDue(hooksDir(b.profile))) }

// note is a command that writes the job's name down.
func (b *hookBench) note(value string) string {
	return fmt.Sprintf(`sh -c 'echo "$%s" >> "$0"' '%s'`, value, b.ran)
}

func TestHooksRunOnce(t *testing.T) {
	b := newHookBench(t)
	b.write(b.job("old") + ".md") // done before anybody asked for hooks
	h := b.hooks(map[string]string{hookDone: b.note("WATCHER_NAME")})
	defer b.started(h)()
	for i := range 20 {
		b.end(h, fmt.Sprintf("job%02d", i))
	}
	b.until("all have run", func() bool { return len(b.ended()) == 20 && b.left() == 0 })
	for i, name := range b.calls() {
		if name != fmt.Sprintf("job%02d", i) {
			t.Errorf("call %d was for %s", i, name)
		}
	}
	h.ending(b.job("failed"), watch.EventFailed, watch.ClassFiltered)
	if b.left() != 0 {
		t.Error("a note for an event without a command")
	}
}

// TestHooksAfterACrash: what was due when the program died runs in the next
// run; what did not come to its end then, does not.
func TestHooksAfterACrash(t *testing.T) {
	b := newHookBench(t)
	commands := map[string]string{hookDone: b.note("WATCHER_NAME"), hookFail: b.note("WATCHER_NAME"), hookPause: b.note("WATCHER_CLASS")}
	h := b.hooks(commands)
	h.enter()
	b.end(h, "published") // and the program dies before its hook
	h.ending(b.job("unpublished"), watch.EventDone, "")
	b.write(b.job("unpublished") + ".md.url") // it goes on, and will be due anew
	h.ending(filepath.Join(b.dir, "away", "elsewhere"), watch.EventDone, "")
	h.ending(b.job("failed"), watch.EventFailed, watch.ClassFiltered)
	b.write(b.job("failed") + ".md.err")
	h.observe(watch.Event{Kind: watch.EventPaused, Class: watch.ClassLogin})
	b.write(filepath.Join(hooksDir(b.profile), "0123.due")) // not understood
	if b.left() != 5 {
		t.Fatalf("%d notes", b.left())
	}
	// A run that wants no hooks leaves them alone.
	idle := b.hooks(nil)
	b.started(idle)()
	if b.left() != 5 {
		t.Fatalf("%d notes after a run without hooks", b.left())
	}
	stop := b.started(b.hooks(commands))
	b.until("what was due has run", func() bool { return len(b.ended()) == 3 && b.left() == 1 })
	stop()
	if got := b.calls(); !slices.Equal(got, []string{"published", "failed", "login"}) {
		t.Errorf("ran for %q", got)
	}
	// The folder that was away is back, with the answer.
	if err := os.Mkdir(b.job("away"), 0o700); err != nil {
		t.Fatal(err)
	}
	b.write(filepath.Join(b.dir, "away", "elsewhere.md"))
	stop = b.started(b.hooks(commands))
	b.until("the rest has run", func() bool { return len(b.ended()) == 4 && b.left() == 0 })
	stop()
}

// TestHooksWaitForTheFile: a note alone runs nothing.
func TestHooksWaitForTheFile(t *testing.T) {
	b := newHookBench(t)
	h := b.hooks(map[string]string{hookDone: b.note("WATCHER_NAME")})
	defer b.started(h)()
	h.ending(b.job("early"), watch.EventDone, "")
	h.kick()
	b.end(h, "other")
	b.until("the other has run", func() bool { return len(b.ended()) == 1 })
	if got := b.calls(); !slices.Equal(got, []string{"other"}) || b.left() != 1 {
		t.Errorf("ran for %q, %d due", got, b.left())
	}
}

// TestHooksDueAgain: a job that ends again while its command runs is told again.
func TestHooksDueAgain(t *testing.T) {
	b := newHookBench(t)
	h := b.hooks(map[string]string{hookDone: fmt.Sprintf(`sh -c 'echo x >> "$0"; until test -e "$0.go"; do sleep 0.01; done' '%s'`, b.ran)})
	defer b.started(h)()
	b.end(h, "a")
	b.until("it runs", func() bool { return len(b.calls()) == 1 })
	b.end(h, "a")
	b.write(b.ran + ".go")
	b.until("it has run again", func() bool { return len(b.ended()) == 2 && b.left() == 0 })
}

// TestHooksThatFail lose nothing, and are told in the log with what they said.
func TestHooksThatFail(t *testing.T) {
	b := newHookBench(t)
	h := b.hooks(map[string]string{hookDone: `sh -c 'echo it is bad >&2; exit 3'`})
	defer b.started(h)()
	b.end(h, "a")
	b.until("it has run", func() bool { return len(b.ended()) == 1 && b.left() == 0 })
	line := logLines(t, b.log.String(), "hook")
	if b.ended()[0] != "done failed" || len(line) != 1 || line[0]["output"] != "it is bad" || line[0]["err"] != "exit status 3" || line[0]["job"] != b.job("a") {
		t.Errorf("%q, %v", b.ended(), line)
	}
}

// TestHooksGone: a command that was removed meanwhile, and a folder, too.
func TestHooksGone(t *testing.T) {
	b := newHookBench(t)
	tool := filepath.Join(b.profile, "tool")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	h := b.hooks(map[string]string{hookDone: tool})
	if err := os.Remove(tool); err != nil {
		t.Fatal(err)
	}
	defer b.started(h)()
	b.end(h, "a")
	b.until("it has failed", func() bool { return len(b.ended()) == 1 && b.left() == 0 })
	if b.ended()[0] != "done failed" {
		t.Errorf("%q", b.ended())
	}
}

// alive reports whether the process that a command wrote down still runs.
func alive(t *testing.T, path string) bool {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		return true // it comes
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// TestHooksThatHang are killed with all that they started, when their time is
// over and when the program ends; the latter runs again.
func TestHooksThatHang(t *testing.T) {
	t.Parallel()
	b := newHookBench(t)
	command := fmt.Sprintf(`sh -c 'trap "" TERM; sleep 1000 & echo $! > "$0"; wait; sleep 1000' '%s'`, b.ran)
	h := b.hooks(map[string]string{hookDone: command})
	h.timeout = 50 * time.Millisecond
	stop := b.started(h)
	b.end(h, "a")
	b.until("it was ended", func() bool { return len(b.ended()) == 1 && b.left() == 0 })
	stop()
	if b.ended()[0] != "done timeout" {
		t.Errorf("%q", b.ended())
	}
	b.until("what it started has ended", func() bool { return !alive(t, b.ran) })
}

func TestHooksAtTheEnd(t *testing.T) {
	t.Parallel()
	b := newHookBench(t)
	command := fmt.Sprintf(`sh -c 'trap "" TERM; echo $$ > "$0"; while :; do sleep 1; done' '%s'`, b.ran)
	h := b.hooks(map[string]string{hookDone: command})
	h.grace = 50 * time.Millisecond
	stop := b.started(h)
	b.end(h, "a")
	b.until("it runs", func() bool { return len(b.calls()) == 1 })
	stop()
	if got := b.ended(); !slices.Equal(got, []string{"done stopped"}) || b.left() != 1 || alive(t, b.ran) {
		t.Errorf("%q, %d due", got, b.left())
	}
	stop = b.started(b.hooks(map[string]string{hookDone: "true"}))
	b.until("it has run again", func() bool { return len(b.ended()) == 2 && b.left() == 0 })
	stop()
}

// TestHooksLeaveOthers: what a command leaves in the background, with its
// output open, holds up nobody.
func TestHooksLeaveOthers(t *testing.T) {
	t.Parallel()
	b := newHookBench(t)
	h := b.hooks(map[string]string{hookDone: fmt.Sprintf(`sh -c 'sleep 1000 & echo $! > "$0"' '%s'`, b.ran)})
	defer b.started(h)()
	b.end(h, "a")
	b.until("it has ended", func() bool { return len(b.ended()) == 1 })
	if b.ended()[0] != "done ok" || !alive(t, b.ran) {
		t.Errorf("%q", b.ended())
	}
	pid, err := strconv.Atoi(b.calls()[0])
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// TestHooksWithoutAPlaceForNotes still run; only a crash would lose one.
func TestHooksWithoutAPlaceForNotes(t *testing.T) {
	b := newHookBench(t)
	b.write(hooksDir(b.profile)) // a file where the folder should be
	h := b.hooks(map[string]string{hookDone: b.note("WATCHER_NAME")})
	defer b.started(h)()
	b.end(h, "a")
	b.until("it has run", func() bool { return len(b.ended()) == 1 })
	if !slices.Equal(b.calls(), []string{"a"}) || len(logLines(t, b.log.String(), "cannot note that a hook has to run; it is not made up for after a crash")) != 1 {
		t.Errorf("%q\n%s", b.calls(), &b.log)
	}
}

// TestDueStale: for how long what an earlier run left is remembered.
func TestDueStale(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	path := func(name string) []byte { return []byte(filepath.Join(dir, name)) }
	for _, name := range []string{"new.prompt", "sent.md.url", "done.md", "done.prompt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		due  dueHook
		want bool
	}{
		"done":           {dueHook{Event: hookDone, Job: path("done"), At: now.Add(-24 * time.Hour)}, false},
		"done long ago":  {dueHook{Event: hookDone, Job: path("done"), At: now.Add(-2 * dueLongest)}, true},
		"not sent":       {dueHook{Event: hookDone, Job: path("new"), At: now}, true},
		"not answered":   {dueHook{Event: hookDone, Job: path("sent"), At: now}, true},
		"away":           {dueHook{Event: hookDone, Job: path("gone"), At: now}, false},
		"a pause":        {dueHook{Event: hookPause, At: now.Add(-time.Hour)}, false},
		"an older pause": {dueHook{Event: hookPause, At: now.Add(-2 * pauseNews)}, true},
	} {
		if got := c.due.stale(now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestDueByJob: a job that failed to end once is due once, whatever it then
// ends by.
func TestDueByJob(t *testing.T) {
	b := newHookBench(t)
	h := b.hooks(map[string]string{hookFail: b.note("WATCHER_NAME")})
	defer b.started(h)()
	h.ending(b.job("a"), watch.EventFailed, watch.ClassStalled) // and the disk is full
	h.ending(b.job("a"), watch.EventFailed, watch.ClassExpired)
	b.write(b.job("a") + ".md.err")
	h.observe(watch.Event{Kind: watch.EventFailed})
	b.until("it has run", func() bool { return len(b.ended()) == 1 && b.left() == 0 })
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.due) != 0 {
		t.Errorf("due: %+v", h.due)
	}
}

// TestDueIsWhole: a note tells each byte of a name, and one of another name is
// not taken for it.
func TestDueIsWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[a]*")
	d := &dueHook{Event: hookDone, Job: []byte("/in/\xff\n'"), At: time.Now().UTC().Round(0)}
	if err := d.write(dir); err != nil {
		t.Fatal(err)
	}
	got := readDue(dir)
	if len(got) != 1 || got[0].key() != d.key() || !got[0].At.Equal(d.At) {
		t.Errorf("%+v", got)
	}
	b, err := json.Marshal(dueHook{Event: hookDone, Job: []byte("/in/b")})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, d.file()), b, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := readDue(dir); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestHooksOverKills kills the daemon around the moment at which the answer
// becomes visible: its hook has run when all is done, whatever came first.
func TestHooksOverKills(t *testing.T) {
	t.Parallel()
	moments := []string{"link:2", "linked:2", "folder:3"}
	if *every {
		moments = nil
		for _, step := range state.Steps {
			for n := range 12 {
				moments = append(moments, fmt.Sprintf("%s:%d", step, n+1))
			}
		}
	}
	for _, moment := range moments {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			in := newIntake(t, fastDir(t))
			ran := filepath.Join(in.home, "ran")
			hook := fmt.Sprintf(`WATCHER_ON_DONE=sh -c 'test -s "$WATCHER_MD" && echo "$WATCHER_JOB" >> "$0"' '%s'`, ran)
			text := in.text("a", 1, 1)
			in.write("a.prompt", text)
			in.launch(hook, "WATCHER_GRACE=100ms", "WATCHER_TEST_DIE_AT=state:"+moment)
			ended := make(chan error, 1)
			go func() { ended <- in.cmd.Wait() }()
			hooked := func() bool { b, _ := os.ReadFile(ran); return strings.Contains(string(b), in.path("a")+"\n") }
			select {
			case <-ended:
			case <-until(func() bool { return in.has("a.md") && hooked() }): // that moment never came
				_ = in.cmd.Process.Kill()
				<-ended
			}
			killed := hooked()
			in.start(hook, "WATCHER_GRACE=100ms")
			in.answered("a", text)
			in.until("its hook has run", hooked)
			in.until("nothing is due", func() bool { return len(readDue(hooksDir(filepath.Join(in.home, "profile")))) == 0 })
			in.stop()
			if !*every && killed {
				t.Error("the daemon was not killed before the hook ran")
			}
		})
	}
}

// until closes what it returns when something is so, or after two minutes.
func until(done func() bool) <-chan struct{} {
	c := make(chan struct{})
	go func() {
		defer close(c)
		for end := time.Now().Add(2 * time.Minute); !done() && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return c
}
