package qwen_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"watcher/qwen"
)

// rounds is how often cases that depend on chance are tried; the crash
// laboratory asks for more.
var rounds = flag.Int("rounds", 1, "rounds of each case that depends on chance")

// The browser is part of the machine that these tests need: without it they
// fail, they never skip.
func TestMain(m *testing.M) {
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
