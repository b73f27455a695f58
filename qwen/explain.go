package qwen

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"
)

// explain looks closer at a refusal of our send. The site has one stub for four
// things, and they are told apart in this order: a login that is over (there is
// no honest 401), a text that is too long, a header that its page left out, and
// last what the stub says, that a person is wanted.
//
// Source: public clients of 2026 that measured each cause by itself, and found
// the same HTTP 200 with FAIL_SYS_USER_VALIDATE.
func (s *sending) explain(ctx context.Context, err error) error {
	e := asError(err, KindBrowser, "send the prompt")
	stub := e.Kind == KindChallenge
	if !stub && !(e.Kind == KindSiteChanged && e.Said) || s.held != nil && !s.answered {
		return err // nobody refused, or the site is out of reach
	}
	if stub {
		if who := s.page.loggedOut(ctx); who != nil {
			who.Said = e.Said
			return who
		}
	}
	if !s.answered {
		return err // the call for a chat, which carries no text
	}
	if long := s.page.client.overlong(s.prompt); long != nil {
		long.Op, long.Said = e.Op, true // in its own way
		return long
	}
	if missing := s.held.lacks("source", "Version", "X-Request-Id"); missing != "" {
		strange := fail(KindSiteChanged, e.Op, "%w (the page's request had no header %q)", e.Err, missing)
		strange.Said = e.Said
		return strange
	}
	return err
}

// loggedOut is the error that says so, if the site does when it is asked who is
// logged in: that call is not guarded.
func (p *page) loggedOut(ctx context.Context) *Error {
	const op = "see who is logged in"
	r, err := p.get(ctx, p.client.options.Table.Account)
	if err != nil {
		return nil
	}
	if no := r.check(op, time.Now()); no != nil {
		if who := asError(no, "", op); who.Kind == KindLogin {
			return who
		}
	}
	return nil
}

const adviceShorten = "shorten the text or split it"

// overlong is the error of a text that is longer than the site is known to
// take, nil if it is not.
func (c *Client) overlong(prompt string) *Error {
	limit := c.options.Table.MaxChars
	n := utf8.RuneCountInString(prompt)
	if limit <= 0 || n <= limit {
		return nil
	}
	e := fail(KindInvalid, "send the prompt", "the site refuses this text of %d characters: more than %d are known to be too long", n, limit)
	e.Advice = adviceShorten
	return e
}

// lacks returns the first of the headers that a request does not carry.
func (p paused) lacks(headers ...string) string {
	for _, want := range headers {
		found := false
		for name, value := range p.Request.Headers {
			found = found || strings.EqualFold(name, want) && value != ""
		}
		if !found {
			return want
		}
	}
	return ""
}
