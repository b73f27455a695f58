package main

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"watcher/router/routertest"
)

// TestRouterScripts runs the sessions in testdata/router, each with an endpoint of
// its own and no chat at all: whatever needs a browser fails. Beside testscript's
// own commands and code and await (see TestScripts) they may say:
//
//	plan JSON        how the endpoint treats requests from now on
//	key KEY          the key that it asks for
//	posted FILE N    the endpoint got the text of a prompt N times
//	answered FILE    FILE's .md is the endpoint's whole answer to it
func TestRouterScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/router",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			s := routertest.New()
			e.Defer(s.Close)
			e.Values[routerKey{}] = s
			for name, value := range map[string]string{
				"HOME": e.WorkDir, "WATCHER_PROFILE": e.WorkDir + "/profile", "WATCHER_SETTLE": "10ms",
				"WATCHER_SITE": "http://127.0.0.1:9", "WATCHER_BROWSER": "/nowhere/chromium",
				"WATCHER_FALLBACK": s.URL, "WATCHER_FALLBACK_MODEL": "kr/some-model", "TZ": "UTC",
			} {
				e.Setenv(name, value)
			}
			return os.MkdirAll(e.WorkDir+"/profile", 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": scriptCode, "await": scriptAwait, "plan": scriptPlan, "key": scriptKey, "posted": scriptPosted, "answered": scriptAnswered,
		},
	})
}

type routerKey struct{}

func endpointOf(ts *testscript.TestScript) *routertest.Server {
	return ts.Value(routerKey{}).(*routertest.Server)
}

func scriptPlan(ts *testscript.TestScript, neg bool, args []string) {
	var plan routertest.Plan
	ts.Check(json.Unmarshal([]byte(strings.Join(args, " ")), &plan))
	endpointOf(ts).Script(func(string, int) routertest.Plan { return plan })
}

func scriptKey(ts *testscript.TestScript, neg bool, args []string) { endpointOf(ts).Require(args[0]) }

// body is a prompt's text behind its front matter, as it is sent.
func body(ts *testscript.TestScript, file string) string {
	text := sent(ts, file)
	if parts := strings.SplitN(text, "---\n", 3); len(parts) == 3 && parts[0] == "" {
		return parts[2]
	}
	return text
}

func scriptPosted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: posted FILE N")
	}
	if got := strconv.Itoa(endpointOf(ts).Count(body(ts, args[0]))); got != args[1] {
		ts.Fatalf("%s: posted %s times, want %s", args[0], got, args[1])
	}
}

func scriptAnswered(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: answered FILE")
	}
	if got, want := ts.ReadFile(strings.TrimSuffix(args[0], ".prompt")+".md"), routertest.Answer(body(ts, args[0])); got != want {
		ts.Fatalf("%s: the answer is %q", args[0], got)
	}
}
