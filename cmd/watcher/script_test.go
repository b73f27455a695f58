package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"watcher/qwen/qwentest"
)

// TestScripts runs the sessions in testdata. Beside testscript's own commands
// they may say:
//
//	code N watcher ARGS...    run the program; its exit code must be N
//	ledger FILE P A           the site got the prompt P times and accepted it A times
//	await FILE                wait for a file that a program in the background makes
//	asked FILE MODEL T S      what the site was asked: thinking's name, search true or false
//	files FILE NAME TEXT      with the prompt came one file, NAME, which begins with TEXT
//	answer FILE               FILE's .md is the site's whole answer to it
//	life DURATION             logins that the script's own site gives last so long
//	site OPTION=VALUE...      start a site of the script's own with these options, logged in
func TestScripts(t *testing.T) { runScripts(t, "testdata") }

func runScripts(t *testing.T, dir string) {
	s := theStage(t)
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			for _, v := range s.environment(e.WorkDir) {
				name, value, _ := strings.Cut(v, "=")
				if name != "PATH" {
					e.Setenv(name, value)
				}
			}
			e.Setenv("WATCHER_BROWSER", lightBrowser())
			e.Values[siteKey{}] = s
			return s.profileFor(e.WorkDir)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": scriptCode, "ledger": scriptLedger, "answer": scriptAnswer, "site": scriptSite,
			"await": scriptAwait, "loggedin": scriptLoggedIn, "asked": scriptAsked, "files": scriptFiles,
		},
	})
}

type siteKey struct{}

// scriptCode runs the program and checks its exit code.
func scriptCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// scriptAwait waits for a file that a program in the background makes.
func scriptAwait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("%s does not come", args[0])
		}
	}
}

// scriptLoggedIn logs in by the site's token, as a person would.
func scriptLoggedIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: loggedin")
	}
	path := ts.MkAbs(".token")
	ts.Check(os.WriteFile(path, []byte(ts.Value(siteKey{}).(*stage).site.Token()), 0o600))
	ts.Check(ts.Exec("sh", "-c", "watcher login --token-stdin < "+path))
}

// sent is the text of a prompt file as it is sent.
func sent(ts *testscript.TestScript, file string) string {
	return strings.TrimRight(ts.ReadFile(file), "\n")
}

// scriptLedger checks what the site has of a prompt.
func scriptLedger(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: ledger FILE POSTED ACCEPTED")
	}
	e := ts.Value(siteKey{}).(*stage).site.Find(sent(ts, args[0]))
	got := strconv.Itoa(e.Posted) + " " + strconv.Itoa(e.Accepted)
	if want := args[1] + " " + args[2]; got != want || len(e.Elsewhere) > 0 {
		ts.Fatalf("%s: posted and accepted %s, want %s; elsewhere %v", args[0], got, want, e.Elsewhere)
	}
}

// scriptAsked checks what a prompt's message asked the site for.
func scriptAsked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: asked FILE MODEL THINKING SEARCH")
	}
	got := ts.Value(siteKey{}).(*stage).site.Asked(sent(ts, args[0]))
	if want := (qwentest.Asked{Model: args[1], Thinking: args[2], Search: args[3] == "true"}); got != want {
		ts.Fatalf("%s asked %+v, want %+v", args[0], got, want)
	}
}

// scriptFiles checks what came with a prompt.
func scriptFiles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: files FILE NAME TEXT")
	}
	got := ts.Value(siteKey{}).(*stage).site.Files(sent(ts, args[0]))
	if len(got) != 1 || got[0].Name != args[1] || !strings.HasPrefix(got[0].Text, args[2]) {
		ts.Fatalf("with %s came %v", args[0], got)
	}
}

// scriptAnswer checks that a prompt's answer is there, whole.
func scriptAnswer(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: answer FILE")
	}
	got, err := os.ReadFile(ts.MkAbs(strings.TrimSuffix(args[0], ".prompt") + ".md"))
	if neg {
		if err == nil {
			ts.Fatalf("%s has an answer", args[0])
		}
		return
	}
	ts.Check(err)
	if want := qwentest.Answer(sent(ts, args[0])); strings.TrimRight(string(got), "\n") != strings.TrimRight(want, "\n") {
		ts.Fatalf("%s: the answer is not the site's (%d bytes, want %d)", args[0], len(got), len(want))
	}
}

// scriptSite starts a site of the script's own. Cookies are the host's, so the
// profile's login would be another site's: it is made anew.
func scriptSite(ts *testscript.TestScript, neg bool, args []string) {
	options := make([]string, len(args))
	for i, a := range args {
		name, value, _ := strings.Cut(a, "=")
		options[i] = strconv.Quote(name) + ":" + value
	}
	site := qwentest.New(qwentest.Options{})
	ts.Check(site.ConfigureJSON([]byte("{" + strings.Join(options, ",") + "}")))
	server, err := site.Start(qwentest.ModeHTTP)
	ts.Check(err)
	ts.Defer(func() { server.Close() })
	ts.Setenv("WATCHER_SITE", server.URL)
	profile := ts.MkAbs("own-profile")
	ts.Setenv("WATCHER_PROFILE", profile)
	ts.SetCmd("login", func(ts *testscript.TestScript, neg bool, args []string) {
		own := &stage{site: site, server: server, template: profile}
		ts.Check(own.logIn())
	})
	ts.SetCmd("ledger", func(ts *testscript.TestScript, neg bool, args []string) {
		e := site.Find(sent(ts, args[0]))
		if got, want := strconv.Itoa(e.Posted)+" "+strconv.Itoa(e.Accepted), args[1]+" "+args[2]; got != want {
			ts.Fatalf("%s: posted and accepted %s, want %s", args[0], got, want)
		}
	})
	ts.SetCmd("token", func(ts *testscript.TestScript, neg bool, args []string) {
		ts.Check(os.WriteFile(filepath.Join(ts.Getenv("WORK"), args[0]), []byte(site.Token()+"\n"), 0o600))
	})
	ts.SetCmd("life", func(ts *testscript.TestScript, neg bool, args []string) {
		d, err := time.ParseDuration(args[0])
		ts.Check(err)
		site.Configure(func(o *qwentest.Options) { o.TokenLife = d })
	})
	ts.SetCmd("fault", func(ts *testscript.TestScript, neg bool, args []string) {
		ts.Check(site.FaultJSON([]byte(strings.Join(args, " "))))
	})
}
