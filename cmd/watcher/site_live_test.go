//go:build live

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// outing is the folder and the settings of a test against the real site: a
// person's own profile, and whatever WATCHER_… variables that person has set.
type outing struct {
	t   *testing.T
	dir string
}

// newOuting refuses without a person's word: this costs an account's quota.
func newOuting(t *testing.T) *outing {
	t.Helper()
	if os.Getenv("WATCHER_LIVE") != "yes" {
		t.Fatal("this sends up to three prompts from your own account; if you mean it, say WATCHER_LIVE=yes (docs/live.md)")
	}
	dir, err := os.MkdirTemp("", "watcher-live-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the files are left in %s", dir)
			return
		}
		os.RemoveAll(dir)
	})
	self, err := os.Executable()
	if err == nil {
		// The test binary is the program when it is called by the program's name.
		err = os.Symlink(self, filepath.Join(dir, "watcher"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return &outing{t, dir}
}

func (o *outing) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(o.t.Context(), filepath.Join(o.dir, "watcher"), args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	return cmd
}

// run runs a command of the program to its end.
func (o *outing) run(args ...string) (code int, output string) {
	o.t.Helper()
	var out bytes.Buffer
	cmd := o.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		o.t.Fatal(err)
	}
	code = cmd.ProcessState.ExitCode()
	o.t.Logf("watcher %s: %d\n%s", strings.Join(args, " "), code, out.String())
	return code, out.String()
}

// drop writes a prompt and returns its path without the ending.
func (o *outing) drop(name, text string) string {
	o.t.Helper()
	path := filepath.Join(o.dir, name)
	if err := os.WriteFile(path+".prompt", []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
	return path
}

func (o *outing) read(path string) string {
	o.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		o.t.Fatal(err)
	}
	return string(b)
}

// answered demands an answer with the word in it, and that asking again sends
// nothing: the marker stays as it is.
func (o *outing) answered(path, word string) {
	o.t.Helper()
	answer, marker := o.read(path+".md"), o.read(path+".md.url")
	if !strings.Contains(answer, word) {
		o.t.Errorf("the answer does not hold %q:\n%s", word, answer)
	}
	if code, _ := o.run("generate", path+".prompt"); code != codeDone || o.read(path+".md.url") != marker {
		o.t.Errorf("asked again it gives %d, and the marker is %q, was %q", code, o.read(path+".md.url"), marker)
	}
}

// TestLive is the whole way against the site that WATCHER_SITE names, the real
// one by default: the checks, then three prompts, one after the other as a
// person would send them. The first failure ends it: no prompt is sent to a
// site that is not understood.
func TestLive(t *testing.T) {
	o := newOuting(t)
	if code, _ := o.run("doctor", o.dir); code != codeDone {
		t.Fatal("doctor finds a fault: mend that first; nothing was sent")
	}
	word := fmt.Sprintf("watcher%d", time.Now().Unix()%1_000_000)

	// One line, sent and waited for in one call.
	first := o.drop("first", "Answer with this one word and nothing else: "+word+"a")
	if code, _ := o.run("generate", "--wait=10m", first+".prompt"); code != codeDone {
		t.Fatalf("the first prompt: %d", code)
	}
	o.answered(first, word+"a")

	// Many lines with quotes, marks and other alphabets: the page must not change
	// them. Sent by one call, fetched by others, as cron would.
	second := o.drop("second", "Answer with the word "+word+"b and nothing else.\n\n\tNot this: \"quoted\" 'text' with \\ and <b>tags</b> & more,\n\n"+
		"naïve 数独 русский עברית 👨‍👩‍👧\n")
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Second) {
		code, _ := o.run("generate", second+".prompt")
		if code == codeQueued {
			break
		}
		if code != codeInProgress || time.Now().After(end) { // --send-gap keeps a person's pace
			t.Fatalf("the second prompt: %d, want %d", code, codeQueued)
		}
	}
	if code, _ := o.run("generate", "--wait=10m", second+".prompt"); code != codeDone {
		t.Fatalf("the second prompt's answer: %d", code)
	}
	o.answered(second, word+"b")

	// The answer is thrown away: it comes again from its chat, and nothing is sent.
	marker := o.read(second + ".md.url")
	if err := os.Remove(second + ".md"); err != nil {
		t.Fatal(err)
	}
	if code, _ := o.run("generate", "--wait=10m", second+".prompt"); code != codeDone || o.read(second+".md.url") != marker {
		t.Fatalf("the answer again: %d, %q", code, o.read(second+".md.url"))
	}
	o.answered(second, word+"b")

	// A long one, by the daemon, stopped while the answer is still to come.
	third := o.drop("third", "Answer with the word "+word+"c and nothing else.\n"+strings.Repeat("This sentence is padding and means nothing. ", 100))
	daemon := o.command("run", o.dir)
	daemon.Stderr = os.Stderr
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	sent := func() bool {
		b, err := os.ReadFile(third + ".md.url")
		return err == nil && strings.Contains(string(b), "stage=sent")
	}
	for end := time.Now().Add(5 * time.Minute); !sent() && time.Now().Before(end); {
		time.Sleep(200 * time.Millisecond)
	}
	_ = daemon.Process.Signal(os.Interrupt)
	if err := daemon.Wait(); err != nil || !sent() {
		t.Fatalf("the daemon ends with %v; it sent the third prompt: %v", err, sent())
	}
	if code, _ := o.run("generate", "--wait=10m", third+".prompt"); code != codeDone {
		t.Fatalf("the third prompt's answer: %d", code)
	}
	o.answered(third, word+"c")
}
