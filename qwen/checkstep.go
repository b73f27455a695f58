package qwen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

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
