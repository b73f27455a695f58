package qwen_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"watcher/qwen"
)

// The browser is part of the machine that these tests need: without it they
// fail, they never skip.
func TestMain(m *testing.M) {
	path, err := qwen.FindBrowser("")
	if err != nil {
		fmt.Fprintln(os.Stderr, "qwen:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "browser:", path)
	goleak.VerifyTestMain(m)
}
