package qwen

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"
)

// loginCookie carries the login; the page keeps the same token in its local
// storage.
const loginCookie = "token"

// noDisplay is what to do where no window can be shown.
const noDisplay = "over ssh use 'ssh -X', or bring a login along from your own browser: 'watcher login --token-stdin' or 'watcher login --cookies FILE'"

// Login opens the site's login page in a visible window and returns when a
// person has logged in there, and solved the site's check if there is one. It
// never types or clicks anything itself.
func (c *Client) Login(ctx context.Context) error {
	const op = "log in"
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		e := fail(KindLogin, op, "there is no display to show a window on")
		e.Advice = noDisplay
		return e
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.stop()
	p, err := c.openPage(ctx, c.options.Table.Auth)
	if err != nil {
		return err
	}
	defer p.close()
	for wait := time.Second; ; {
		if s, err := p.look(ctx); err == nil && c.site.at(s.Href) && !s.Punish {
			switch err := p.welcome(ctx); {
			case err == nil:
				return nil
			case asError(err, "", "").Kind == KindChallenge:
				wait = 5 * time.Second // asking often makes a check worse
			}
		}
		if !p.alive() {
			return fail(KindLogin, op, "the window was closed before anybody was logged in")
		}
		if err := sleep(ctx, wait); err != nil {
			return fail(KindLogin, op, "%w", err)
		}
	}
}

// welcome is nil when somebody is logged in and the site lets the page read.
func (p *page) welcome(ctx context.Context) error {
	if err := p.whoami(ctx); err != nil {
		return err
	}
	_, err := p.recent(ctx, "log in")
	return err
}

// UseToken brings in a login token from elsewhere and proves that it works.
func (c *Client) UseToken(ctx context.Context, token string) error {
	token = strings.TrimSpace(token)
	token = strings.TrimSpace(strings.TrimPrefix(token, "Bearer "))
	expires, err := tokenExpiry(token)
	if err != nil {
		return err
	}
	if !expires.IsZero() && time.Now().After(expires) {
		return fail(KindLogin, "use the token", "it expired on %s", expires.Format(time.DateOnly))
	}
	return c.UseCookies(ctx, []Cookie{{Name: loginCookie, Value: token, Domain: c.site.base.Hostname(), Path: "/",
		Secure: c.site.base.Scheme == "https", Expires: expires}})
}

// tokenExpiry reads when a token ends, from the token itself (a JWT); zero if
// it doesn't say.
func tokenExpiry(token string) (time.Time, error) {
	if _, err := jwtClaims(token); err != nil {
		return time.Time{}, err
	}
	expires, _ := jwtExpiry(token)
	return expires, nil
}

// claims are what the program reads of a token. Source: the site's tokens carry
// {id, last_password_change, exp}.
type claims struct {
	Expires float64 `json:"exp"`
}

func jwtClaims(token string) (claims, error) {
	const op = "use the token"
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims{}, fail(KindInvalid, op, "it is not a login token (three parts with dots between them)")
	}
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	var c claims
	if err != nil || json.Unmarshal(b, &c) != nil {
		return claims{}, fail(KindInvalid, op, "its middle part is not understood")
	}
	return c, nil
}

// UseCookies brings in the site's cookies from another browser and proves that
// they log in. Cookies of other sites are left out.
func (c *Client) UseCookies(ctx context.Context, cookies []Cookie) error {
	const op = "use the cookies"
	c.mu.Lock()
	defer c.mu.Unlock()
	var params []*network.CookieParam
	token := ""
	for _, k := range cookies {
		if !k.belongs(c.site.base.Hostname()) {
			continue
		}
		params = append(params, k.param(c.site))
		if k.Name == loginCookie {
			token = k.Value
		}
	}
	if len(params) == 0 {
		return fail(KindInvalid, op, "none is for %s", c.site.base.Hostname())
	}
	b, err := c.running(ctx)
	if err != nil {
		return err
	}
	if _, err := chromedp.CallBrowser(b.ctx, storage.SetCookies, storage.SetCookiesParams{Cookies: params}); err != nil {
		return fail(KindBrowser, op, "%w", err)
	}
	return c.enter(ctx, token)
}

// enter loads the page with the new login. The page keeps the token in its own
// storage too; where it wants it from there, it is loaded once more.
func (c *Client) enter(ctx context.Context, token string) error {
	p, err := c.fresh(ctx)
	if err == nil {
		return p.keep(ctx, token, false) // the site may have given a newer one
	}
	if token == "" || asError(err, "", "").Kind != KindLogin {
		return err
	}
	if err := c.keepToken(ctx, token); err != nil {
		return err
	}
	_, err = c.fresh(ctx)
	return err
}

// keepToken puts the token where the page looks for it, with nobody logged in.
func (c *Client) keepToken(ctx context.Context, token string) error {
	p, err := c.openPage(ctx, c.options.Table.Home)
	if err != nil {
		return err
	}
	defer c.discard(p)
	if _, err := p.until(ctx, loadTimeout, func(s pageState) (bool, error) {
		return !s.Loading && c.site.at(s.Href), nil
	}, func(pageState, error) error {
		return fail(KindUnreachable, "use the token", "the page does not load")
	}); err != nil {
		return err
	}
	return p.keep(ctx, token, true)
}

// keep puts the token into the page's storage.
func (p *page) keep(ctx context.Context, token string, replace bool) error {
	if token == "" {
		return nil
	}
	tab, cancel := p.within(ctx)
	defer cancel()
	if _, err := call[string](tab, "token", token, replace); err != nil {
		return fail(KindBrowser, "use the token", "the page keeps no data: %s", oneLine(strings.ReplaceAll(err.Error(), token, "…"), 200))
	}
	return nil
}
