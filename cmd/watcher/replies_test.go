package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"watcher/qwen/qwentest"
)

// reply is what the site says to a send, and what generate makes of it.
type reply struct {
	fault qwentest.Fault
	code  int
	class string
	files string // beside the prompt, but archives
	says  string // in the reason
	long  bool   // the prompt is longer than the site takes
}

// What is beside the prompt afterwards.
const (
	fails = "x.md.err"                // the job's own failure: the site has no prompt
	rests = "watcher.paused"          // the queue's: the site has no prompt
	taken = "x.md.err x.md.url"       // the job's own, and the site has the prompt
	doubt = "watcher.paused x.md.url" // nobody knows yet, and the site is not asked for a while
)

var replies = []reply{
	{qwentest.Fault{Kind: qwentest.Challenge}, 1, "challenge", rests, "asks for a person", false},
	{qwentest.Fault{Kind: qwentest.CheckOld}, 1, "challenge", rests, "asks for a person", false},
	{qwentest.Fault{Kind: qwentest.CheckBare}, 1, "challenge", rests, "asks for a person", false},
	{qwentest.Fault{Kind: qwentest.ChallengeHTML}, 1, "challenge", rests, "check", false},
	{qwentest.Fault{Kind: qwentest.Garbage}, 1, "challenge", rests, "probably a check", false},
	{qwentest.Fault{Kind: qwentest.Quota, N: 5}, 1, "quota", rests, "upper limit", false},
	{qwentest.Fault{Kind: qwentest.QuotaText}, 1, "quota", rests, "upper limit", false},
	{qwentest.Fault{Kind: qwentest.QuotaNoHours}, 1, "quota", rests, "upper limit", false},
	{qwentest.Fault{Kind: qwentest.Status, N: 429}, 1, "quota", rests, "429", false},
	{qwentest.Fault{Kind: qwentest.TokenQuota}, 1, "quota", rests, "Allocated quota exceeded", false},
	{qwentest.Fault{Kind: qwentest.TokenQuotaTxt}, 1, "quota", rests, "Allocated quota exceeded", false},
	{qwentest.Fault{Kind: qwentest.Busy}, 1, "unreachable", rests, "chat is busy", false},
	{qwentest.Fault{Kind: qwentest.BusyCode}, 1, "unreachable", rests, "chat is busy", false},
	{qwentest.Fault{Kind: qwentest.BusyErrors}, 1, "unreachable", rests, "chat is busy", false},
	{qwentest.Fault{Kind: qwentest.BusyDeep}, 1, "unreachable", rests, "chat is busy", false},
	{qwentest.Fault{Kind: qwentest.Ended}, 1, "generation", fails, "request is ended", false},
	{qwentest.Fault{Kind: qwentest.Finished}, 1, "generation", fails, "request is finished", false},
	{qwentest.Fault{Kind: qwentest.EndedData}, 1, "generation", fails, "request is ended", false},
	{qwentest.Fault{Kind: qwentest.Filtered}, 1, "filtered", fails, "refuses the text", false},
	{qwentest.Fault{Kind: qwentest.Filtered, Take: true}, 1, "filtered", taken, "refuses the text", false},
	{qwentest.Fault{Kind: qwentest.Inspect}, 1, "filtered", taken, "refuses the text", false},
	{qwentest.Fault{Kind: qwentest.StreamError}, 1, "generation", taken, "failed to answer", false},
	{qwentest.Fault{Kind: qwentest.Validation}, 1, "site-changed", rests, "doesn't understand the page's request", false},
	{qwentest.Fault{Kind: qwentest.Internal}, 1, "site-changed", rests, "version or cookies", false},
	{qwentest.Fault{Kind: qwentest.InvalidInput}, 1, "site-changed", rests, "what the page chose", false},
	{qwentest.Fault{Kind: qwentest.TooMany}, 1, "site-changed", rests, "one message", false},
	{qwentest.Fault{Kind: qwentest.NotFound}, 1, "site-changed", rests, "is not exist", false},
	{qwentest.Fault{Kind: qwentest.NoModel}, 1, "site-changed", rests, "Model not found", false},
	{qwentest.Fault{Kind: qwentest.Unauthorized}, 1, "login", rests, "Unauthorized", false},
	{qwentest.Fault{Kind: qwentest.Unauthorized1}, 1, "login", rests, "401", false},
	{qwentest.Fault{Kind: qwentest.TokenExpired}, 1, "login", rests, "TokenExpired", false},
	{qwentest.Fault{Kind: qwentest.AuthFailed}, 1, "login", rests, "AuthenticationFailed", false},
	{qwentest.Fault{Kind: qwentest.Status, N: 401}, 1, "login", rests, "401", false},
	{qwentest.Fault{Kind: qwentest.ServerBusy}, 1, "unreachable", rests, "overloaded", false},
	{qwentest.Fault{Kind: qwentest.BusyText}, 1, "unreachable", rests, "overloaded", false},
	{qwentest.Fault{Kind: qwentest.Status, N: 503}, 3, "unreachable", doubt, "503", false},
	{qwentest.Fault{Kind: qwentest.Status, N: 413}, 1, "invalid", fails, "too long", false},
	{qwentest.Fault{Kind: qwentest.Unknown}, 1, "site-changed", rests, "isn't known", false},
	{qwentest.Fault{Kind: qwentest.UnknownError}, 1, "site-changed", rests, "something new", false},
	{qwentest.Fault{Kind: qwentest.Strange}, 1, "site-changed", rests, "isn't understood", false},
	{qwentest.Fault{Kind: qwentest.Blank}, 3, "unreachable", doubt, "does not show it", false},
	{fault: qwentest.Fault{Kind: qwentest.Challenge}, long: true, code: 1, class: "invalid", files: fails, says: "are known to be too long"},
	{qwentest.Fault{Kind: qwentest.HalfJSON}, 3, "unreachable", doubt, "cut or not JSON", false},
}

// TestReplies: one call of generate for each reply to a send that is known. The
// site has the prompt once; the exit code, the files and the sentence are those
// of the table; and nothing is called an answer.
func TestReplies(t *testing.T) {
	for _, c := range replies {
		name := string(c.fault.Kind)
		if c.fault.Kind == qwentest.Status {
			name += fmt.Sprint(" ", c.fault.N)
		}
		if c.fault.Take {
			name += ", taken"
		}
		if c.long {
			name += ", long"
		}
		if !*every && !slices.Contains([]string{"strange"}, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			prompt := d.unique("What is said to this?")
			if c.long {
				prompt = strings.Repeat("Many words. ", 9000) + prompt
			}
			text := strings.TrimRight(prompt, "\n")
			d.drop("x", prompt)
			c.fault.Match = text
			d.site.Fault(c.fault)
			code, out := d.run(nil, "generate", "--max-chars=0", "--wait=20s", "--json", "x.prompt")
			var said struct{ Class, Reason, Hint string }
			for line := range strings.Lines(out) {
				if strings.Contains(line, `"file"`) {
					_ = json.Unmarshal([]byte(line), &said)
				}
			}
			files := d.files()
			t.Logf("| %s | %s | %d | %s | %s; %s |", name, said.Class, code, strings.Join(files, " "), said.Reason, said.Hint)
			var kept []string
			for _, f := range files {
				if !archived.MatchString(f) {
					kept = append(kept, f)
				}
			}
			if code != c.code || said.Class != c.class || strings.Join(kept, " ") != c.files || !strings.Contains(said.Reason, c.says) {
				t.Errorf("code %d, class %q, files %q, %q; want %+v\n%s", code, said.Class, kept, said.Reason, c, out)
			}
			if e := d.site.Find(text); e.Posted != 1 || len(e.Elsewhere) > 0 {
				t.Errorf("posted %d times, elsewhere %v", e.Posted, e.Elsewhere)
			}
			if _, err := os.Stat(filepath.Join(d.dir, "x.md")); err == nil {
				t.Error("there is an answer")
			}
		})
	}
}

// files are the names in the folder, but the prompt's.
func (d *desk) files() (names []string) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "x.prompt" && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}
