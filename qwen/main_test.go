package qwen_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"watcher/qwen"
)

// rounds is how often cases that depend on chance are tried; the crash
// laboratory asks for more.
var rounds = flag.Int("rounds", 1, "rounds of each case that depends on chance")

// every makes the tables of cases whole. Without it one case stands for each
// mechanism: a case costs the machine one and a half seconds of Chromium.
var every = flag.Bool("every", false, "all cases of each table, not one for each mechanism")

// full is for the crash laboratory: what hangs on the page and not on the
// browser runs in a lighter one otherwise.
var full = flag.Bool("full", false, "use the full Chromium everywhere")

// leftOut reports whether a case is one of those that only -every runs.
func leftOut(name string, chosen ...string) bool {
	return !*every && !slices.Contains(chosen, name)
}

// The browser is part of the machine that these tests need: without it they
// fail, they never skip.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == killedProgram {
		beKilled(os.Args[2:])
	}
	flag.Parse()
	if _, err := qwen.FindBrowser(""); err != nil {
		fmt.Fprintln(os.Stderr, "qwen:", err)
		os.Exit(1)
	}
	qwen.Impatient()
	code := m.Run()
	closeShared()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "qwen:", err)
		code = 1
	}
	os.Exit(code)
}
