package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// nano writes a prompt by hand: a screen editor needs a terminal, and somebody
// who reads what it shows before the next key.
func (w *workbench) nano() {
	text := w.expect("nano", "typed by hand")
	if err := os.Mkdir(w.path("nano"), 0o755); err != nil {
		w.t.Error(err)
		return
	}
	person, screen, err := openTerminal()
	if err != nil {
		w.t.Error(err)
		return
	}
	defer person.Close()
	cmd := exec.Command("nano", "-I", w.path("nano/a.prompt"))
	cmd.Env, cmd.Dir = w.env, w.home
	cmd.Stdin, cmd.Stdout, cmd.Stderr = screen, screen, screen
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	screen.Close()
	if err != nil {
		w.t.Error(err)
		return
	}
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
	for _, step := range [][2]string{{"Help", text}, {text[len(text)-4:], "\x0f"}, {"Write", "\r"}, {"Wrote", "\x18"}} {
		if !awaitText(shown, step[0]) {
			w.t.Errorf("nano does not show %q", step[0])
			_ = cmd.Process.Kill()
			break
		}
		fmt.Fprint(person, step[1])
	}
	for range shown { // what is not read holds it up
	}
	if err := cmd.Wait(); err != nil {
		w.t.Errorf("nano: %v", err)
		return
	}
	closed := time.Now()
	w.answered("nano/a", text)
	if at := w.arrivals(text); len(at) > 0 {
		w.note("new", "nano", at[0].Sub(closed))
	}
}

func awaitText(shown <-chan byte, text string) bool {
	var seen []byte
	limit := time.After(time.Minute)
	for {
		select {
		case c, ok := <-shown:
			if seen = append(seen, c); bytes.HasSuffix(seen, []byte(text)) {
				return true
			}
			if !ok {
				return false
			}
		case <-limit:
			return false
		}
	}
}

// openTerminal opens both ends of a terminal.
func openTerminal() (person, screen *os.File, err error) {
	if person, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	fd := int(person.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100})
	}
	if err == nil {
		screen, err = os.OpenFile(strings.Join([]string{"/dev/pts", fmt.Sprint(n)}, "/"), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		person.Close()
	}
	return person, screen, err
}
