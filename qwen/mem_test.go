package qwen_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"watcher/qwen/qwentest"
)

// resident is the memory of the largest page of the stage's browser, in kB.
func (s *stage) resident(t *testing.T) (most int) {
	t.Helper()
	for _, pid := range descendants(t, s.browserPid(t)) {
		if !strings.Contains(commandLine(pid), "--type=renderer") {
			continue
		}
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, rest, _ := strings.Cut(string(b), "VmRSS:")
		if fields := strings.Fields(rest); len(fields) > 0 {
			kB, _ := strconv.Atoi(fields[0])
			most = max(most, kB)
		}
	}
	return most
}

// TestReadsKeepNothing: a page that reads one long chat for hours does not
// grow with each read. Only -every runs it: it takes many reads to tell.
func TestReadsKeepNothing(t *testing.T) {
	if leftOut("a long chat") {
		return
	}
	t.Parallel()
	s := onLight(t, "h2", brisk)
	prompt := "A long answer that is read often.\n!rehearsal answer=200k"
	address, message := s.mustSend(t, prompt)
	s.answer(t, address, message)
	read := func(times int) {
		for range times {
			if turn, err := s.client.Read(t.Context(), address, message, ""); err != nil || turn.Text != qwentest.Answer(prompt) {
				t.Fatalf("%v, %d bytes", err, len(turn.Text))
			}
		}
	}
	read(20) // until the page's own caches are full
	before := s.resident(t)
	reads := 60 * *rounds
	read(reads)
	after := s.resident(t)
	t.Logf("%d kB, after %d more reads %d kB", before, reads, after)
	if grown := (after - before) / reads; grown > 400 { // kept replies would leave 550
		t.Errorf("each read leaves %d kB", grown)
	}
}
