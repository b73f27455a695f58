package qwen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Level is how a finding is to be taken.
type Level string

// The levels. With a fault the program must not be trusted with prompts.
const (
	LevelOK      Level = "ok"
	LevelWarning Level = "warning"
	LevelFault   Level = "fault"
)

// Finding is what one check found.
type Finding struct {
	Name   string // what was looked at, a few words
	Level  Level
	Detail string // what was found, one line
	Hint   string // what a person can do; empty when all is well
}

// Check says how CheckBrowser works.
type Check struct {
	Browser string // Chromium's path; "" looks in the usual places
	Visible bool   // in a window instead of headless

	// Hold is a command, with its arguments, that runs [HoldRequest] with the
	// two arguments that are appended to it. It is killed in mid-request.
	Hold []string
}

// The names of CheckBrowser's findings.
const (
	findingFound   = "browser"
	findingStarts  = "browser starts"
	findingSandbox = "sandbox"
	findingDies    = "a held request dies with the program"
	findingOnce    = "one connection, one delivery"
	findingWorker  = "service workers are passed by"
	findingWindow  = "other windows are closed"
)

// checkTime bounds each step of a check: no browser takes so long.
var checkTime = 30 * time.Second

// checkText is what the page of checkSite posts.
const checkText = "This is a check of this machine's browser; no site gets it."

// CheckBrowser measures on this machine's own browser what the driver takes for
// granted about browsers. It starts it as the driver does, with a profile of its
// own that it removes again, and opens a page on loopback. No site is asked for
// anything. It takes some seconds.
//
// A check that can't be made is a fault: nobody knows how it would end.
func CheckBrowser(ctx context.Context, check Check) []Finding {
	path, err := FindBrowser(check.Browser)
	if err != nil {
		return []Finding{faultOf(findingFound, err)}
	}
	found := []Finding{{Name: findingFound, Level: LevelOK, Detail: path}}
	site, err := newCheckSite()
	if err != nil {
		return append(found, faultOf(findingStarts, fmt.Errorf("open a port on loopback: %w", err)))
	}
	defer site.close()
	dir, err := os.MkdirTemp("", "watcher-check-")
	if err != nil {
		return append(found, faultOf(findingStarts, fmt.Errorf("make a profile: %w", err)))
	}
	defer os.RemoveAll(dir)

	// The program that is killed has a browser and a site of its own, so both
	// can go on at a time.
	var dies Finding
	var apart sync.WaitGroup
	apart.Go(func() { dies = checkDies(ctx, check, filepath.Join(dir, "killed")) })
	more := checkRunning(ctx, check, site, filepath.Join(dir, "kept"))
	apart.Wait()
	if more[0].Level == LevelFault {
		return append(found, more...) // it doesn't start: that says it all
	}
	return append(append(found, more...), dies)
}

// faultOf is a finding about an error.
func faultOf(name string, err error) Finding {
	f := Finding{Name: name, Level: LevelFault, Detail: strings.Join(strings.Fields(err.Error()), " ")}
	var e *Error
	if errors.As(err, &e) {
		f.Hint = e.Advice
	}
	return f
}

// checkClient is a client for a site of checks, on a profile in dir.
func checkClient(check Check, site, dir string) (*Client, error) {
	profile, err := OpenProfile(dir)
	if err != nil {
		return nil, err
	}
	c, err := New(Options{Site: site, Table: DefaultSite(), Profile: profile, Browser: check.Browser,
		Visible: check.Visible, Log: zerolog.Nop()})
	if err == nil && !c.site.loopback() {
		err = fail(KindInvalid, "check the browser", "%s is not on this machine", site)
	}
	if err != nil {
		profile.Close()
		return nil, err
	}
	return c, nil
}

// checkRunning starts the browser and makes the checks that need it alive.
func checkRunning(ctx context.Context, check Check, site *checkSite, dir string) []Finding {
	c, err := checkClient(check, site.url, dir)
	if err != nil {
		return []Finding{faultOf(findingStarts, err)}
	}
	defer c.options.Profile.Close()
	defer c.Close()
	b, err := c.running(ctx)
	if err != nil {
		return []Finding{faultOf(findingStarts, err)}
	}
	how := "headless"
	if check.Visible {
		how = "in a window"
	}
	found := []Finding{{Name: findingStarts, Level: LevelOK, Detail: b.version + ", " + how}, checkSandbox()}
	for _, one := range []struct {
		name string
		run  func(context.Context, *Client, *checkSite) error
	}{{findingWorker, checkWorker}, {findingWindow, checkWindows}, {findingOnce, checkOnce}} {
		err := one.run(ctx, c, site)
		if err != nil {
			c.stop() // what is left of it is not the next one's fault
		}
		found = append(found, judge(one.name, err))
	}
	return found
}

// checkSandbox says whether pages are locked in; only root has none.
func checkSandbox() Finding {
	if os.Geteuid() == 0 {
		return Finding{findingSandbox, LevelWarning, "off, as the browser runs as root", "run the program as an ordinary user"}
	}
	return Finding{Name: findingSandbox, Level: LevelOK, Detail: "on"}
}

// judge is the finding of a check that ended with an error, or well.
func judge(name string, err error) Finding {
	if err == nil {
		return Finding{Name: name, Level: LevelOK, Detail: "yes"}
	}
	f := faultOf(name, err)
	f.Hint = "do not use the program with this browser; take a newer Chromium, or another one with --browser"
	return f
}

// checkPage opens the page of checks and waits until it can be clicked.
func checkPage(ctx context.Context, c *Client, like string) (*sending, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	c.discard(c.page)
	p, err := c.openPage(ctx, "/?with="+like)
	if err != nil {
		return nil, err
	}
	c.page = p
	ready := func(s pageState) (bool, error) { return s.Title == "ready", nil }
	late := func(pageState, error) error { return errors.New("the page of checks does not get ready") }
	if _, err := p.until(ctx, checkTime, ready, late); err != nil {
		return nil, err
	}
	p.gate.lookFor(checkText)
	s := &sending{page: p, prompt: checkText}
	checkTamper(s)
	return s, nil
}

// checkTamper lets a test break what a check is about, on a page that is ready.
var checkTamper = func(*sending) {}

// checkHeld clicks and waits until the send is held.
func (s *sending) checkHeld(ctx context.Context, site *checkSite) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	before := site.sends()
	err := s.hold(ctx)
	if n := site.sends() - before; n > 0 {
		return errors.New("the request went out instead of being held")
	}
	if err != nil {
		return fmt.Errorf("the request is not held: %w", err)
	}
	return nil
}

// checkWorker: the request of a page with a service worker is held too.
func checkWorker(ctx context.Context, c *Client, site *checkSite) error {
	s, err := checkPage(ctx, c, "worker")
	if err != nil {
		return err
	}
	defer s.settle()
	return s.checkHeld(ctx, site)
}

// checkWindows: a window that the page opens is noticed, which spoils a send, and
// closed before it does anything.
func checkWindows(ctx context.Context, c *Client, site *checkSite) error {
	s, err := checkPage(ctx, c, "window")
	if err != nil {
		return err
	}
	defer s.settle()
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	if err := s.press(ctx); err != nil {
		return err
	}
	sent := func() bool { return site.posts(checkWindow) > 0 }
	err = waitFor(ctx, func() bool { return sent() || s.page.gate.spoil() != nil })
	if err == nil {
		err = waitFor(ctx, func() bool { return sent() || s.page.alone() == nil })
	}
	switch {
	case sent():
		return errors.New("another window sent a request")
	case err != nil:
		return fmt.Errorf("another window stays open, or is not noticed: %w", err)
	}
	return nil
}

// checkOnce: a request that was let go reaches the site once, though the site
// resets the connection instead of answering. The browser ends with it.
func checkOnce(ctx context.Context, c *Client, site *checkSite) error {
	s, err := checkPage(ctx, c, "background")
	if err != nil {
		return err
	}
	defer s.settle()
	if err := s.checkHeld(ctx, site); err != nil {
		return err
	}
	if err := s.verify(); err != nil {
		return err
	}
	before := site.sends()
	_, err = s.release(ctx)
	s.settle() // the browser's end: nothing comes after it
	switch n := site.sends() - before; {
	case n == 0:
		return fmt.Errorf("the request was not delivered: %w", cmp.Or(err, errNoHeaders))
	case n > 1:
		return fmt.Errorf("the request was delivered %d times instead of once", n)
	case err == nil:
		return errors.New("a broken connection passes for an answer")
	}
	return nil
}

// waitFor polls until a condition holds.
func waitFor(ctx context.Context, met func() bool) error {
	for !met() {
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// HoldRequest is the program that CheckBrowser kills: it starts a browser on a
// profile in dir, opens the page of checks at site, holds its request, says
// "held" to out and waits until ctx or in ends.
func HoldRequest(ctx context.Context, check Check, site, dir string, in io.Reader, out io.Writer) error {
	c, err := checkClient(check, site, dir)
	if err != nil {
		return err
	}
	defer c.options.Profile.Close()
	defer c.Close()
	s, err := checkPage(ctx, c, "background")
	if err != nil {
		return err
	}
	defer s.settle()
	if err := s.hold(ctx); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, heldWord); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, in); close(ended) }()
	select {
	case <-ctx.Done():
	case <-ended: // whoever started this is gone
	}
	return nil
}
