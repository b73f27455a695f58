package main

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"watcher/state"
)

// TestManual: the manual has each file and each exit code that there is.
func TestManual(t *testing.T) {
	b, err := os.ReadFile("manual.md")
	if err != nil {
		t.Fatal(err)
	}
	has := func(what string) {
		t.Helper()
		if !strings.Contains(string(b), "**"+what+"**") {
			t.Errorf("the manual says nothing of %s", what)
		}
	}
	for k := state.KindPrompt; k <= state.KindReady; k++ {
		has(state.Name("name").File(k))
	}
	has(state.HoldFile)
	has(state.PausedFile)
	has(state.ShelfFolder + "/")
	for _, code := range []int{codeDone, codeSwitch, codeUsage, codeInProgress, codeQueued, 130, 143} {
		has(strconv.Itoa(code))
	}
}

// TestHelpHasExamples: every command that people see says what it does, and
// shows how.
func TestHelpHasExamples(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		if c.Short == "" || c.Long == "" || c.Example == "" || !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("%s: help without %q, %q or an example: %q", c.CommandPath(), c.Short, c.Long, c.Example)
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit((&app{}).command())
}
