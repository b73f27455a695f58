package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestOptionScripts runs the sessions in testdata/options against the
// laboratory's chat, which needs no browser. Beside "code" and "await" they may
// say:
//
//	posts N TEXT      the site was sent N prompts that hold the text
//	post TEXT REGEXP  and what it knows of the last one
//	think DURATION    answers to come are whole only after so long
//	finish            those that were begun are whole now
func TestOptionScripts(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/options",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			s := &optionSite{labSite: newLabSite(e.T().(testing.TB))}
			s.plan = func(string, int) labPlan { return labPlan{Think: time.Duration(s.think.Load())} }
			e.Values[optionKey{}] = s
			for _, v := range []string{
				"EXAMPLES=" + examples, "HOME=" + e.WorkDir, "TZ=UTC", "WATCHER_TEST_CHAT=" + s.socket, "WATCHER_SITE=https://chat.example",
				"WATCHER_PROFILE=" + e.WorkDir + "/.profile", "WATCHER_SETTLE=50ms", "WATCHER_TEST_LEASELESS=50ms", "WATCHER_SEND_GAP=0s",
				"WATCHER_POLL=100ms", "WATCHER_RESCAN=500ms", "WATCHER_GRACE=200ms",
			} {
				name, value, _ := strings.Cut(v, "=")
				e.Setenv(name, value)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": scriptCode, "await": scriptAwait, "posts": scriptPosts, "post": scriptPost, "think": scriptThink, "finish": scriptFinish,
		},
	})
}

type optionKey struct{}

type optionSite struct {
	*labSite
	think atomic.Int64
}

// postsOf are the prompts that hold a text.
func postsOf(ts *testscript.TestScript, text string) (list []labPost) {
	for _, p := range ts.Value(optionKey{}).(*optionSite).save().posts {
		if strings.Contains(p.Prompt, text) {
			list = append(list, p)
		}
	}
	return list
}

func scriptPosts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: posts N TEXT")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := postsOf(ts, args[1]); len(got) != want {
		ts.Fatalf("%d posts hold %q, want %d: %+v", len(got), args[1], want, got)
	}
}

func scriptPost(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: post TEXT REGEXP")
	}
	list := postsOf(ts, args[0])
	if len(list) == 0 {
		ts.Fatalf("no post holds %q", args[0])
	}
	said, err := json.Marshal(list[len(list)-1])
	ts.Check(err)
	if !regexp.MustCompile(args[1]).Match(said) {
		ts.Fatalf("%s does not match %s", said, args[1])
	}
}

func scriptThink(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: think DURATION")
	}
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	ts.Value(optionKey{}).(*optionSite).think.Store(int64(d))
}

func scriptFinish(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: finish")
	}
	s := ts.Value(optionKey{}).(*optionSite)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.chats {
		c.plan.Think = 0
	}
}
