package qwen

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// LoginWarning is how long before its end a login is spoken of. The site gives
// 30 days and renews them at each page load, so a login that gets so near to
// its end is one that is not renewed: an exported token, or an idle profile.
const LoginWarning = 5 * 24 * time.Hour

// LoginNote is PROFILE/login: what the last page that was loaded showed of the
// login. It holds no secret; the login itself is in the browser's folder.
type LoginNote struct {
	Expires time.Time `json:"expires,omitzero"` // when the site's token ends; zero if that is not known
	Seen    time.Time `json:"seen"`             // when somebody was last seen logged in
}

// ReadLoginNote returns what is known of a profile's login without a browser;
// zero if nothing is. It needs no lock and serves information only.
func ReadLoginNote(profileDir string) LoginNote {
	var n LoginNote
	b, err := os.ReadFile(filepath.Join(profileDir, "login"))
	if err != nil || json.Unmarshal(b, &n) != nil {
		return LoginNote{}
	}
	return n
}

// EndsSoon reports whether the login ends within [LoginWarning], or has ended.
func (n LoginNote) EndsSoon(now time.Time) bool {
	return !n.Expires.IsZero() && n.Expires.Sub(now) < LoginWarning
}

// noteLogin keeps what a page showed; a note that can't be written is missed by
// nobody but people who ask.
func (p *Profile) noteLogin(expires time.Time) {
	now := time.Now()
	old := ReadLoginNote(p.dir)
	if old.Expires.Equal(expires) && now.Sub(old.Seen) < time.Hour {
		return
	}
	b, err := json.Marshal(LoginNote{Expires: expires.Truncate(time.Second), Seen: now.Truncate(time.Second)})
	if err == nil {
		_ = writeDurably(filepath.Join(p.dir, "login"), append(b, '\n'))
	}
}

// jwtExpiry reads when a token ends, from the token itself; ok says that it is
// a JWT, and a zero time that it doesn't say.
func jwtExpiry(token string) (expires time.Time, ok bool) {
	claims, err := jwtClaims(token)
	if err != nil || claims.Expires == 0 {
		return time.Time{}, err == nil
	}
	return time.Unix(int64(claims.Expires), 0), true
}

// expiry is when the login of a loaded page ends: as its token says, which is
// the cookie or, where that is none, what the page keeps; else as the cookie's
// own end or the page's data say. Zero if nobody says.
func (p *page) expiry(ctx context.Context, s pageState) time.Time {
	tab, cancel := p.within(ctx)
	defer cancel()
	tab, cancelTime := context.WithTimeout(tab, commandTimeout)
	defer cancelTime()
	var cookie time.Time
	if r, err := chromedp.Call(tab, network.GetCookies, network.GetCookiesParams{URLs: []string{p.client.site.url("/")}}); err == nil {
		for _, k := range r.Cookies {
			if k.Name != loginCookie {
				continue
			}
			if expires, ok := jwtExpiry(k.Value); ok {
				return expires
			}
			if k.Expires > 0 {
				cookie = time.Unix(int64(k.Expires), 0)
			}
		}
	}
	if token, err := call[string](tab, "token", "", false); err == nil {
		if expires, ok := jwtExpiry(token); ok {
			return expires
		}
	}
	if cookie.IsZero() && s.User != nil && s.User.Expires > 0 {
		return time.Unix(int64(s.User.Expires), 0)
	}
	return cookie
}

// nobody says why nobody is logged in, as far as the page and the profile tell.
func (p *page) nobody(s pageState) error {
	const op = "see who is logged in"
	note := ReadLoginNote(p.client.options.Profile.dir)
	switch until := note.Expires.Local().Format(time.DateTime); {
	case !note.Expires.IsZero() && time.Now().After(note.Expires):
		return fail(KindLogin, op, "nobody is: the login expired on %s", until)
	case !note.Expires.IsZero():
		return fail(KindLogin, op, "nobody is: the site does not take the login any more, which was to last until %s (a logout or a changed password ends it before)", until)
	case !note.Seen.IsZero():
		return fail(KindLogin, op, "nobody is any more")
	case s.Composer != "" || strings.HasSuffix(strings.TrimRight(s.Href, "/"), "/c/guest"):
		return fail(KindLogin, op, "nobody is: the site shows its page for guests, and nothing is sent as a guest")
	}
	return fail(KindLogin, op, "nobody is: the site asks for a login first")
}

// outlived makes of a refusal that the site sends to a login which has ended
// meanwhile what it is. The site has no honest word for that: it asks for a
// person, or doesn't know the chat.
func (s *sending) outlived(e Error) Error {
	p := s.page
	refused := e.Kind == KindChallenge || s.answered && (e.Kind == KindGone || e.Kind == KindSiteChanged)
	if refused && !p.expires.IsZero() && time.Now().After(p.expires) {
		e.Kind, e.Advice = KindLogin, advice[KindLogin]
		e.Err = fail(KindLogin, "", "the login expired on %s", p.expires.Local().Format(time.DateTime)).Err
	}
	return e
}

// warnExpiry says once a day that the login ends soon.
func (c *Client) warnExpiry(expires time.Time) {
	n := LoginNote{Expires: expires}
	if c.options.LoginEnds == nil || !n.EndsSoon(time.Now()) || time.Since(c.warned) < 24*time.Hour {
		return
	}
	c.warned = time.Now()
	c.options.LoginEnds(expires)
}

// Forget removes the login and all else that the browser keeps: its whole
// folder. What names the profile and its accounts stays, so that the markers of
// earlier sends are still known as this profile's own. No browser may be alive.
func (p *Profile) Forget() error {
	for _, name := range []string{"login", "chromium", "tmp"} {
		if err := os.RemoveAll(filepath.Join(p.dir, name)); err != nil {
			return fail(KindDisk, "remove the login", "%w", err)
		}
	}
	if err := makePrivate(p.dir, "chromium", "tmp"); err != nil {
		return fail(KindDisk, "remove the login", "%w", err)
	}
	return nil
}
