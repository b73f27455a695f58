package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"watcher/qwen"
	"watcher/state"
)

// How much is tried; the crash laboratory asks for more.
var (
	rounds = flag.Int("rounds", 1, "rounds of each crash")
	full   = flag.Bool("full", false, "use the full Chromium everywhere")
	every  = flag.Bool("every", false, "kill at every step of a send, and at every write of the marker and of the answer")
)

// crashSteps are the places at which the program is killed: on the way to the
// page, at the page, around the commit and the release, and while collecting.
func crashSteps() []string {
	if !*every {
		return []string{"state:linked:1", "qwen:released", "state:linked:2"}
	}
	var steps []string
	for _, step := range qwen.Steps {
		steps = append(steps, "qwen:"+step)
	}
	// How often each write comes in a job's life.
	for step, times := range map[string]int{state.StepReserve: 1, state.StepWrite: 3, state.StepSync: 3, state.StepLink: 2,
		state.StepLinked: 2, state.StepFolder: 3, state.StepUnlink: 2, state.StepRename: 1, state.StepRenamed: 1} {
		for nth := 1; nth <= times; nth++ {
			steps = append(steps, fmt.Sprintf("state:%s:%d", step, nth))
		}
	}
	return steps
}

// TestKill kills the real program with a real browser at each step, starts it
// again, and demands one send and the whole answer.
func TestKill(t *testing.T) {
	for _, step := range crashSteps() {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			for round := range *rounds {
				killedAt(t, step, round)
			}
		})
	}
}

func killedAt(t *testing.T, step string, round int) {
	d := newDesk(t)
	if strings.HasPrefix(step, "qwen:") {
		d.browser = ""
	}
	text := d.unique("Round %d: what survives a kill?", round)
	d.drop("job", text)
	code, out := d.run([]string{"WATCHER_TEST_DIE_AT=" + step}, "generate", "--wait=60s", "job.prompt")
	if code != -1 {
		t.Fatalf("%s is not reached: exit code %d\n%s", step, code, out)
	}
	d.finish("job")
	prompt, err := os.ReadFile(d.path("job.prompt"))
	if err != nil || string(prompt) != text {
		t.Errorf("the prompt changed: %q, %v", prompt, err)
	}
	want := text[:len(text)-1] // the last newline is not sent
	d.once(want)
	d.answered("job", want)
	if temps, _ := filepath.Glob(d.path(".watcher-*.tmp")); len(temps) > 0 {
		// A job that is done is answered from the files alone; what a kill left
		// is swept by the next run that has something to do in the folder.
		d.drop("next", d.unique("Round %d: who sweeps?", round))
		d.finish("next")
	}
	d.tidy()
}
