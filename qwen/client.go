package qwen

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Options say how a Client drives the site. The zero value of each field has
// a usable meaning where one is named.
type Options struct {
	Site    string   // the site's address; required
	Table   Site     // what is known of the site; DefaultSite() is usual
	Profile *Profile // whose login; required, and held until Close
	Browser string   // Chromium's path; "" looks in the usual places
	Visible bool     // show a window instead of running headless
	Model   string   // lower-case model id that the send must ask; "" accepts the page's

	// PageAge is how old a page must be before text is put into it; younger
	// ones throw it away. 3 s is what the real site needs.
	PageAge time.Duration

	// TrustSPKI makes the browser accept one certificate: the base64 sha256
	// of its public key. For rehearsals on loopback only.
	TrustSPKI string

	Log zerolog.Logger

	// Ended, if set, is called when the page that sent a prompt sees its
	// answer's stream end. It must return fast.
	Ended func(address string)

	// Step, if set, is called at each named step of a send; for tests.
	Step func(name string)
}

// Client is the driver: one browser, at most one loaded page, one call at a
// time. It starts the browser when a call first needs it.
type Client struct {
	options Options
	site    origin

	mu      sync.Mutex // one call at a time
	browser *chromium
	page    *page
	owner   string
}

// New returns a Client; it starts nothing.
func New(o Options) (*Client, error) {
	site, err := parseOrigin(o.Site)
	if err != nil {
		return nil, err
	}
	if o.TrustSPKI != "" && !site.loopback() {
		return nil, fail(KindInvalid, "trust a certificate", "only for a site on this machine")
	}
	if o.Step == nil {
		o.Step = func(string) {}
	}
	if o.Ended == nil {
		o.Ended = func(string) {}
	}
	return &Client{options: o, site: site}, nil
}

// Close ends the browser in order. The profile stays the caller's.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop()
}

// stop closes the page and ends the browser.
func (c *Client) stop() {
	if c.page != nil {
		c.page.close()
		c.page = nil
	}
	if c.browser != nil {
		c.browser.stop()
		c.browser = nil
	}
}

// running returns the browser, started if need be.
func (c *Client) running(ctx context.Context) (*chromium, error) {
	if c.browser != nil && c.browser.ctx.Err() == nil {
		return c.browser, nil
	}
	c.stop()
	b, err := startBrowser(ctx, &c.options, c.site)
	if err != nil {
		return nil, err
	}
	c.options.Log.Debug().Str("browser", b.version).Msg("browser started")
	c.browser = b
	return b, nil
}

// fresh replaces the page by a new one at the site's home, logged in.
func (c *Client) fresh(ctx context.Context) (*page, error) {
	if c.page != nil {
		c.page.close()
		c.page = nil
	}
	p, err := c.openPage(ctx, c.options.Table.Home)
	if err != nil {
		return nil, err
	}
	if err := p.entered(ctx); err != nil {
		p.close()
		return nil, err
	}
	owner, err := c.options.Profile.Owner(p.account)
	if err != nil {
		p.close()
		return nil, err
	}
	c.page, c.owner = p, owner
	return p, nil
}

// pageLife is how long a page is used for reading. A load renews the login,
// which the site gives for 30 days from each load.
const pageLife = 12 * time.Hour

// current returns the loaded page, or a new one.
func (c *Client) current(ctx context.Context) (*page, error) {
	if c.page != nil && c.page.alive() && time.Since(c.page.opened) < pageLife {
		return c.page, nil
	}
	return c.fresh(ctx)
}

// leave drops the page after trouble that a new one may not have, a person's
// login or a solved check among them.
func (c *Client) leave(err error) error {
	if err == nil || c.page == nil {
		return err
	}
	switch asError(err, KindBrowser, "").Kind {
	case KindLogin, KindChallenge, KindSiteChanged, KindBrowser, KindUnreachable:
		c.page.close()
		c.page = nil
	}
	return err
}

// Owner returns the id under which this profile and account sign markers.
func (c *Client) Owner(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.current(ctx); err != nil {
		return "", err
	}
	return c.owner, nil
}

// Read looks at a chat once. It opens no address but a chat of the site.
func (c *Client) Read(ctx context.Context, address, message, after string) (Turn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const op = "read the chat"
	id, err := c.site.chatID(address)
	if err != nil {
		return Turn{}, err
	}
	p, err := c.current(ctx)
	if err != nil {
		return Turn{}, err
	}
	found, err := p.chat(ctx, op, id)
	if err != nil {
		return Turn{}, c.leave(err)
	}
	c.options.Profile.noteRead(address)
	turn, err := found.turn(op, message, after)
	if turn.Done {
		c.options.Profile.forgetRead(address)
	}
	return turn, err
}

// chat fetches one chat and makes sure that it is the one asked for, and of
// the account that is logged in.
func (p *page) chat(ctx context.Context, op, id string) (chat, error) {
	r, err := p.get(ctx, p.client.options.Table.Chat+id)
	if err == nil {
		err = r.check(op, time.Now())
	}
	if err != nil {
		return chat{}, p.doubt(ctx, err)
	}
	found, err := decode[chat](r, op)
	switch {
	case err != nil:
		return chat{}, err
	case !strings.EqualFold(found.ID, id):
		return chat{}, fail(KindUnreachable, op, "the site sent another chat, %q", oneLine(found.ID, 60))
	case found.User != "" && found.User != p.account:
		e := fail(KindLogin, op, "the chat belongs to another account")
		e.Advice = "log in with the account that sent it: 'watcher login'"
		return chat{}, e
	}
	return found, nil
}

// doubt looks closer at a failed read: a chat that is gone or a check may mean
// that nobody is logged in any more.
func (p *page) doubt(ctx context.Context, err error) error {
	e := asError(err, KindUnreachable, "read the chat")
	if e.Kind != KindGone && e.Kind != KindChallenge {
		return err
	}
	if r, failed := p.get(ctx, p.client.options.Table.Account); failed == nil {
		if who := r.check("see who is logged in", time.Now()); who != nil && asError(who, "", "").Kind == KindLogin {
			return who
		}
	}
	return err
}

// findPages is how much of the account's list Find looks through, and
// findChats how many chats it opens.
const (
	findPages = 2
	findChats = 30
)

// Find returns the addresses of recent chats whose first message is exactly
// the prompt, newest first.
func (c *Client) Find(ctx context.Context, prompt string) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const op = "look through the chats"
	p, err := c.current(ctx)
	if err != nil {
		return nil, err
	}
	ids, err := p.recent(ctx, op)
	if err != nil {
		return nil, c.leave(err)
	}
	var found []string
	for _, id := range ids {
		one, err := p.chat(ctx, op, id)
		if err != nil {
			return nil, c.leave(err)
		}
		turn, err := one.turn(op, "", "")
		if err == nil && turn.Message != "" && turn.Fingerprint == fingerprint(prompt) {
			found = append(found, c.site.chatAddress(id))
		}
	}
	return found, nil
}

// recent lists the ids of the account's newest chats.
func (p *page) recent(ctx context.Context, op string) ([]string, error) {
	var ids []string
	for n := 1; n <= findPages && len(ids) < findChats; n++ {
		r, err := p.get(ctx, p.client.options.Table.List+"?page="+string(rune('0'+n)))
		if err == nil {
			err = r.check(op, time.Now())
		}
		if err != nil {
			return nil, err
		}
		list, err := decode[[]struct {
			ID string `json:"id"`
		}](r, op)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			break
		}
		for _, one := range list {
			if uuidPattern.MatchString(one.ID) && len(ids) < findChats {
				ids = append(ids, one.ID)
			}
		}
	}
	return ids, nil
}
