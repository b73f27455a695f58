package qwen

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// entered waits until the site's own page is there with its scripts, and a
// person is logged in.
func (p *page) entered(ctx context.Context) error {
	if _, err := p.loaded(ctx); err != nil {
		return err
	}
	return p.whoami(ctx)
}

// loaded waits until the site's own page is there with its scripts.
func (p *page) loaded(ctx context.Context) (pageState, error) {
	const op = "load the page"
	return p.until(ctx, loadTimeout, func(s pageState) (bool, error) {
		if trouble := p.trouble(s); trouble != nil {
			return false, trouble
		}
		if s.Loading || s.asks() || !p.client.site.at(s.Href) {
			return false, nil
		}
		return p.ready(s), nil
	}, func(s pageState, err error) error {
		return fail(KindUnreachable, op, "it does not finish: at %q, %w", oneLine(s.Href, 80), errors.Join(err, errors.New("time is up")))
	})
}

// ready reports whether the site's scripts have initialised. In some headless
// runs their token never appears: that is waited for once, and not again while
// this program runs. What is sent before they are there draws a check that only
// a person can clear, so scripts that are not there yet are waited for longer. A page without such scripts has only to be old enough.
func (p *page) ready(s pageState) bool {
	c := p.client
	old := s.Age >= float64(c.options.PageAge.Milliseconds())
	switch {
	case s.Initialised && s.UID:
		return true
	case !s.Initialised && !s.Scripts, c.tokenless:
		return old
	}
	patience := settleTimeout
	if !s.Initialised {
		patience = scriptsTimeout
	}
	c.tokenless = s.Age >= float64(patience.Milliseconds())
	return c.tokenless
}

// asks reports whether the whole page is a check, one that may clear itself.
func (s pageState) asks() bool {
	return s.Blocked || strings.Contains(s.Title, "Verification") || strings.HasPrefix(s.Title, "Just a moment")
}

// trouble recognises error pages, and pages that ask for a person. A page that
// checks by script alone gets the time to clear itself.
func (p *page) trouble(s pageState) error {
	const op = "load the page"
	switch {
	case s.Status >= 500:
		e := fail(KindUnreachable, op, "the site answers HTTP %d", s.Status)
		e.Advice = "the site is down, or it does not serve this network or region; the program tries again by itself"
		return e
	case s.Status == 429:
		return fail(KindQuota, op, "the site answers HTTP %d", s.Status)
	case s.Punish:
		return fail(KindChallenge, op, "the site asks for a person")
	case s.asks() && time.Since(p.opened) > checkTimeout:
		return fail(KindChallenge, op, "the site shows a check page")
	}
	return nil
}

// whoami finds out who is logged in: from the page's own data, and by the
// site's word where the page says nobody.
func (p *page) whoami(ctx context.Context) error {
	const op = "see who is logged in"
	s, err := p.look(ctx)
	if err != nil {
		return fail(KindBrowser, op, "%w", err)
	}
	if s.User != nil && s.User.ID != "" && !s.LogIn {
		p.loggedIn(ctx, s, s.User.ID)
		return nil
	}
	r, err := p.get(ctx, p.client.options.Table.Account)
	if err != nil {
		return err
	}
	if err := r.check(op, time.Now()); err != nil {
		if asError(err, "", "").Kind == KindLogin {
			return p.nobody(s)
		}
		return err
	}
	var who struct {
		ID   string `json:"id"`
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(r.Body), &who); err != nil || firstOf(who.ID, who.Data.ID) == "" {
		return p.nobody(s)
	}
	p.loggedIn(ctx, s, firstOf(who.ID, who.Data.ID))
	return nil
}

// loggedIn notes who is logged in, and until when.
func (p *page) loggedIn(ctx context.Context, s pageState, account string) {
	p.account, p.expires = account, p.expiry(ctx, s)
	p.client.options.Profile.noteLogin(p.expires)
}
