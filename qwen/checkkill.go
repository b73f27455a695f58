package qwen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// heldWord is what the program that is to be killed says when it holds.
const heldWord = "held"

// checkDies: a request that is held when the program is killed never leaves.
// The program runs as a process of its own, with a browser and a site of its own.
func checkDies(ctx context.Context, check Check, dir string) Finding {
	if len(check.Hold) == 0 {
		return judge(findingDies, errors.New("not checked: there is no program to kill"))
	}
	site, err := newCheckSite()
	if err != nil {
		return judge(findingDies, fmt.Errorf("not checked: %w", err))
	}
	defer site.close()
	killed, cancel := context.WithTimeout(ctx, 2*checkTime)
	defer cancel()
	err = killHolding(killed, check.Hold, site.url, dir)
	stays := waitGone(context.WithoutCancel(ctx), dir)
	switch {
	case site.sends() > 0:
		err = errors.New("the request was delivered although the program was killed")
	case err != nil:
		err = fmt.Errorf("not checked: %w", err)
	case stays != nil:
		err = fmt.Errorf("the browser outlives the program: %w", stays)
	}
	if stays != nil {
		if p, failed := OpenProfile(dir); failed == nil { // which ends the browser
			p.Close()
		}
	}
	return judge(findingDies, err)
}

// killHolding runs the command until it holds a request, and kills it.
func killHolding(ctx context.Context, command []string, site, dir string) error {
	cmd := exec.CommandContext(ctx, command[0], append(command[1:len(command):len(command)], site, dir)...)
	if self, err := os.Executable(); err == nil && command[0] == os.Args[0] {
		cmd.Path, cmd.Err = self, nil // the name may tell it what to be, and lie nowhere in PATH
	}
	var said strings.Builder
	cmd.Stderr = &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if _, err := cmd.StdinPipe(); err != nil { // its end tells the program that we are gone
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	held := lines.Scan() && lines.Text() == heldWord
	_ = cmd.Process.Kill() // SIGKILL: it can do nothing more
	_ = cmd.Wait()
	if !held {
		return fmt.Errorf("the program holds no request: %s", strings.Join(strings.Fields(said.String()), " "))
	}
	return nil
}

// goneTime is how long a browser may take to follow its program.
const goneTime = 10 * time.Second

// waitGone waits until no process has the browser's lock of a profile.
func waitGone(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, goneTime)
	defer cancel()
	return waitFor(ctx, func() bool {
		f, err := tryLock(filepath.Join(dir, "alive"))
		if err == nil {
			f.Close()
		}
		return !errors.Is(err, unix.EWOULDBLOCK) // without a profile there is no browser
	})
}
