package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStatusOnATerminal: status --watch draws in place, follows the folder and
// the terminal's size, and gives the terminal back at ctrl-C.
func TestStatusOnATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	drop := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	drop("first.prompt")
	person, screen, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	defer person.Close()
	cmd := exec.Command("watcher", "status", "--watch", "--profile", t.TempDir(), dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = screen, screen, screen
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	screen.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	shown := make(chan byte, 1<<16)
	go func() {
		defer close(shown)
		b := make([]byte, 1)
		for {
			if n, err := person.Read(b); n == 0 || err != nil {
				return
			}
			shown <- b[0]
		}
	}()
	await := func(text string) {
		t.Helper()
		if !awaitText(shown, text) {
			t.Fatalf("%q is not shown", text)
		}
	}
	await(enterScreen)
	await("first.prompt: to be sent")
	await(eraseBelow)
	drop("second\x1b[2J.prompt")
	await("2 new")
	await("second?[2J.prompt") // a name is shown, not obeyed
	if err := unix.IoctlSetWinsize(int(person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 4, Col: 20}); err != nil {
		t.Fatal(err)
	}
	await("… and 3 lines more")
	if _, err := person.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	await(leaveScreen)
	for range shown { // what is not read holds it up
	}
	_ = cmd.Wait() // the exit code says it
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
}

// TestFitScreen: a text never needs more lines or characters than a terminal has.
func TestFitScreen(t *testing.T) {
	text := strings.Repeat("äöü€ and more of it\n", 9)
	for width := 1; width < 30; width++ {
		for height := 1; height < 12; height++ {
			lines := fitScreen(text, width, height)
			if len(lines) > height || height >= 9 && len(lines) != 9 {
				t.Errorf("%d lines of %d", len(lines), height)
			}
			for _, l := range lines {
				if n := len([]rune(l)); n > width || width >= 19 && strings.HasPrefix(l, "ä") && n != 19 {
					t.Errorf("%d characters of %d: %q", n, width, l)
				}
			}
		}
	}
}
