package qwen_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"watcher/qwen"
)

// killedProgram is the argument that makes the test binary the program that a
// check kills; what it does follows.
const killedProgram = "be-killed"

func beKilled(args []string) {
	what, site, dir := args[0], args[1], args[2]
	switch what {
	case "hold":
		err := qwen.HoldRequest(context.Background(), qwen.Check{Browser: lightPath()}, site, dir, os.Stdin, os.Stdout)
		fmt.Fprintln(os.Stderr, err)
	case "send": // it says "held" of a request that is out
		r, err := http.Post(site+"/api/v2/chat/completions", "application/json", strings.NewReader("{}"))
		if err == nil {
			r.Body.Close()
		}
		fmt.Println("held")
		select {}
	case "break":
		fmt.Fprintln(os.Stderr, "broken")
	}
	os.Exit(1)
}

func checkWith(t *testing.T, what string) (map[string]qwen.Finding, []qwen.Finding) {
	t.Helper()
	found := qwen.CheckBrowser(t.Context(), qwen.Check{Browser: lightPath(), Hold: []string{os.Args[0], killedProgram, what}})
	byName := map[string]qwen.Finding{}
	for _, f := range found {
		t.Logf("%s %s: %s (%s)", f.Level, f.Name, f.Detail, f.Hint)
		byName[f.Name] = f
	}
	return byName, found
}

// TestCheckBrowser: this machine's browser is what the driver takes it for, and
// the check leaves nothing behind. (make test has it as a session of the
// program, testdata/doctor.txtar.)
func TestCheckBrowser(t *testing.T) {
	if leftOut("this browser") {
		return
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	_, found := checkWith(t, "hold")
	if len(found) != 7 {
		t.Errorf("%d findings", len(found))
	}
	for _, f := range found {
		if f.Level == qwen.LevelFault || (f.Level == qwen.LevelWarning) != (f.Name == "sandbox" && os.Geteuid() == 0) {
			t.Errorf("%+v", f)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v stays, %v", left, err)
	}
}

// TestCheckBrowserSees: each finding turns into a fault when what it is about is
// taken away, and no other does.
func TestCheckBrowserSees(t *testing.T) {
	for what, c := range map[string]struct{ program, faults string }{
		"service workers": {"hold", "service workers are passed by"},
		"windows":         {"hold", "other windows are closed"},
		"one connection":  {"hold", "one connection, one delivery"},
		"the program":     {"send", "a held request dies with the program"},
		"no program":      {"break", "a held request dies with the program"},
	} {
		if leftOut(what) {
			continue
		}
		t.Run(what, func(t *testing.T) {
			defer qwen.Tamper(what)()
			_, found := checkWith(t, c.program)
			var faults []string
			for _, f := range found {
				if f.Level == qwen.LevelFault {
					faults = append(faults, f.Name)
					if f.Hint == "" || f.Detail == "" {
						t.Errorf("%+v", f)
					}
				}
			}
			if got := strings.Join(faults, ", "); got != c.faults {
				t.Errorf("faults %q, want %q", got, c.faults)
			}
		})
	}
}

// TestCheckBrowserThatIsNone: no browser, and a program that is none.
func TestCheckBrowserThatIsNone(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	writeScript(t, none, "echo I am no browser; exit 3")
	for path, want := range map[string]string{"/nowhere/chromium": "/nowhere/chromium", none: "I am no browser"} {
		found := qwen.CheckBrowser(t.Context(), qwen.Check{Browser: path, Hold: []string{os.Args[0], killedProgram, "break"}})
		last := found[len(found)-1]
		if last.Level != qwen.LevelFault || last.Hint == "" || !strings.Contains(last.Detail, want) || strings.Contains(last.Detail, "\n") {
			t.Errorf("%s: %+v", path, found)
		}
	}
}
