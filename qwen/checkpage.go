package qwen

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The names of CheckSite's findings.
const (
	findingSite    = "site"
	findingClock   = "clock"
	findingLogin   = "login"
	findingScripts = "page's scripts"
	findingData    = "page's data"
	findingModels  = "models"
	findingMarkup  = "selector " // and the list's key
)

// How far this machine's clock may be from the site's. Times end waiting
// (--expire is a day, a quota names hours) and never allow a send.
const (
	clockWarning = time.Minute
	clockFault   = time.Hour
)

// CheckSite loads the site's page in this profile and says what is found there:
// the login, which entry of each list of the site table matches, the models. To
// see the send button it puts a text of its own into the composer, with the site
// out of reach, and takes it out again. It sends no prompt and makes no chat.
func (c *Client) CheckSite(ctx context.Context) []Finding {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.discard(c.page)
	p, err := c.openPage(ctx, c.options.Table.Home)
	if err != nil {
		return []Finding{faultOf(findingSite, err)}
	}
	defer func() { c.discard(p) }()
	check := siteCheck{page: p}
	state, err := p.loaded(ctx)
	if err != nil {
		return []Finding{faultOf(findingSite, err)}
	}
	check.add(findingSite, LevelOK, fmt.Sprintf("%s gives its page", c.site.base), "")
	check.clock(ctx)
	if !check.login(ctx) {
		check.add(strings.TrimSpace(findingMarkup), LevelWarning, "not looked at, as nobody is logged in", "run 'watcher doctor' again after 'watcher login'")
		return check.found
	}
	check.scripts(state)
	check.models(ctx)
	check.markup(ctx)
	check.found[0].Detail += frontEndNote(p) // the page's own calls name it, in time
	return check.found
}

func frontEndNote(p *page) string {
	if v := p.gate.frontEnd(); v != "" {
		return ", front end " + oneLine(v, 20)
	}
	return ""
}

// siteCheck gathers what is found on one page.
type siteCheck struct {
	page  *page
	found []Finding
}

func (k *siteCheck) add(name string, level Level, detail, hint string) {
	k.found = append(k.found, Finding{name, level, detail, hint})
}

// clock compares this machine's clock with the site's.
func (k *siteCheck) clock(ctx context.Context) {
	tab, cancel := k.page.within(ctx)
	defer cancel()
	r, err := call[struct{ Site, Before, After int64 }](tab, "clock", k.page.client.options.Table.Account, replyTimeout.Milliseconds())
	if err != nil || r.Site == 0 {
		k.add(findingClock, LevelWarning, "the site does not say what time it is", "make sure that this machine keeps its time (NTP)")
		return
	}
	k.found = append(k.found, judgeClock(time.UnixMilli(r.Site), time.UnixMilli(r.Before), time.UnixMilli(r.After)))
}

// judgeClock compares the site's word, in whole seconds, with the time on this
// machine before and after.
func judgeClock(site, before, after time.Time) Finding {
	off := time.Duration(0)
	switch {
	case site.Add(time.Second).Before(before):
		off = before.Sub(site.Add(time.Second))
	case site.After(after):
		off = after.Sub(site)
	}
	f := Finding{Name: findingClock, Level: LevelOK, Detail: "as the site's"}
	if off.Abs() >= time.Second {
		way := "ahead of"
		if off < 0 {
			way = "behind"
		}
		f.Detail = fmt.Sprintf("%v %s the site's", off.Abs().Round(time.Second), way)
	}
	if off.Abs() >= clockWarning {
		f.Level, f.Hint = LevelWarning, "set this machine's clock (NTP): answers are given up by it, and a quota's end is told by it"
	}
	if off.Abs() >= clockFault {
		f.Level = LevelFault
	}
	return f
}

// login says who is logged in, and until when.
func (k *siteCheck) login(ctx context.Context) bool {
	if err := k.page.whoami(ctx); err != nil {
		k.found = append(k.found, faultOf(findingLogin, err))
		return false
	}
	k.found = append(k.found, judgeLogin(k.page.expires, time.Now()))
	return true
}

func judgeLogin(expires, now time.Time) Finding {
	f := Finding{Name: findingLogin, Level: LevelOK, Detail: "somebody is logged in; until when the site does not say"}
	if expires.IsZero() {
		return f
	}
	f.Detail = fmt.Sprintf("until %s, %s", expires.Local().Format(time.DateTime), daysLeft(expires.Sub(now)))
	if (LoginNote{Expires: expires}).EndsSoon(now) {
		f.Level, f.Hint = LevelWarning, "run 'watcher login' before"
	}
	return f
}

func daysLeft(d time.Duration) string {
	if d < 48*time.Hour {
		return fmt.Sprintf("%d hours from now", int(d.Hours()))
	}
	return fmt.Sprintf("%d days from now", int(d.Hours()/24))
}

// scripts says whether the page's scripts left the names that are waited for.
func (k *siteCheck) scripts(s pageState) {
	renew := "look for a newer version of this program, or name what the page has in a --site-file"
	switch {
	case s.Initialised && s.UID:
		k.add(findingScripts, LevelOK, "started", "")
	case s.Initialised:
		k.add(findingScripts, LevelWarning, "started, but give no token: the site may ask for a person more often", "if it does, run with --visible")
	case s.Scripts:
		k.add(findingScripts, LevelWarning, "they are there, but leave no name that is known: each page is waited for longer", renew)
	default:
		k.add(findingScripts, LevelOK, "the page has none", "")
	}
	if s.Data {
		k.add(findingData, LevelOK, k.page.client.options.Table.Data, "")
	} else {
		k.add(findingData, LevelWarning, "not found by its name: the site is asked who is logged in, and a model cannot be looked up", renew)
	}
}

// models lists the models, and looks for the one that is asked for.
func (k *siteCheck) models(ctx context.Context) {
	tab, cancel := k.page.within(ctx)
	defer cancel()
	o := k.page.client.options
	list, err := call[[]siteModel](tab, "models", o.Table)
	ids := make([]string, len(list))
	for i, m := range list {
		ids[i] = m.ID
	}
	switch {
	case err != nil || len(ids) == 0:
		k.add(findingModels, LevelWarning, "the page's data list none", "without --model this does not matter")
	case o.Model != "" && !slices.ContainsFunc(ids, func(id string) bool { return strings.EqualFold(id, o.Model) }):
		k.add(findingModels, LevelFault, fmt.Sprintf("the site has no model %q", o.Model), "choose one of these with --model: "+strings.Join(nearest(o.Model, list), ", "))
	default:
		k.add(findingModels, LevelOK, fmt.Sprintf("%d: %s", len(ids), oneLine(strings.Join(ids, ", "), 120)), "")
	}
}

// matched is what js/match.js says of one list.
type matched struct {
	At       int    `json:"at"`
	Of       int    `json:"of"`
	Selector string `json:"selector"`
}

// markupTimeout bounds the wait for what should show on the page.
var markupTimeout = 15 * time.Second

// markup says which entry of each list matches.
func (k *siteCheck) markup(ctx context.Context) {
	p := k.page
	_, _ = p.until(ctx, markupTimeout, func(s pageState) (bool, error) {
		return s.Composer != "" && s.Age >= float64(p.client.options.PageAge.Milliseconds()), nil
	}, func(pageState, error) error { return nil })
	seen, err := k.match(ctx)
	if err != nil {
		k.found = append(k.found, faultOf(strings.TrimSpace(findingMarkup), err))
		return
	}
	model := LevelWarning // it is needed for --model only
	if p.client.options.Model != "" {
		model = LevelFault
	}
	k.judge("composer", seen["composer"], LevelFault)
	if seen["composer"].At > 0 {
		k.judge("send", k.withText(ctx), LevelFault)
	} else {
		k.add(findingMarkup+"send", LevelWarning, "not looked at: it shows only beside a text, and there is no composer for one", "")
	}
	k.add(findingMarkup+"stop", LevelOK, "not looked at: it shows only while an answer comes", "")
	k.judge("avatar", seen["avatar"], LevelWarning)
	if at := seen["log_in"]; at.At > 0 {
		k.add(findingMarkup+"log_in", LevelWarning, "it matches, though somebody is logged in: "+at.Selector, "the site is asked instead, which is slower; correct it in a --site-file")
	} else {
		k.add(findingMarkup+"log_in", LevelOK, "matches nothing, as somebody is logged in", "")
	}
	k.judge("model", seen["model"], model)
	if seen["model"].At > 0 {
		k.judge("models", k.opened(ctx), model)
	} else {
		k.add(findingMarkup+"models", LevelWarning, "not looked at: there is nothing known to open the list with", "")
	}
}

func (k *siteCheck) match(ctx context.Context) (map[string]matched, error) {
	tab, cancel := k.page.within(ctx)
	defer cancel()
	tab, cancelTime := context.WithTimeout(tab, commandTimeout)
	defer cancelTime()
	return call[map[string]matched](tab, "match", k.page.client.options.Table)
}

// judge says which entry of a list matches; none is as bad as missing says.
func (k *siteCheck) judge(key string, m matched, missing Level) {
	const repair = "look for a newer version of this program, or put what the page has first in a --site-file"
	switch {
	case m.At == 0:
		k.add(findingMarkup+key, missing, fmt.Sprintf("none of %d matches", m.Of), repair)
	case m.At == 1:
		k.add(findingMarkup+key, LevelOK, fmt.Sprintf("the first of %d matches: %s", m.Of, m.Selector), "")
	default:
		k.add(findingMarkup+key, LevelWarning, fmt.Sprintf("the page has changed: only the %s of %d matches: %s", ordinal(m.At), m.Of, m.Selector), repair)
	}
}

func ordinal(n int) string {
	words := []string{"", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"}
	if n < len(words) {
		return words[n]
	}
	return fmt.Sprintf("%dth", n)
}

// withText looks for the send button, which shows only beside a text. The site
// is out of reach meanwhile and the gate refuses whatever carries the text; the
// page is thrown away afterwards.
func (k *siteCheck) withText(ctx context.Context) matched {
	p := k.page
	p.browser.proxy.setMode(modeShut)
	p.gate.lookFor(checkText)
	tab, cancel := p.within(ctx)
	defer cancel()
	put := func(text string) { _, _ = call[*string](tab, "fill", p.client.options.Table, text) }
	defer put("")
	_, _ = p.until(ctx, markupTimeout, func(s pageState) (bool, error) {
		if s.Length != len(checkText) {
			put(checkText) // a page that starts up throws it away
			return false, nil
		}
		return s.Send != "" || s.Composer == "", nil
	}, func(pageState, error) error { return nil })
	seen, err := k.match(ctx)
	if err != nil {
		return matched{Of: len(p.client.options.Table.Send)}
	}
	return seen["send"]
}

// opened looks for the rows of the list of models, which shows when it is asked
// for.
func (k *siteCheck) opened(ctx context.Context) matched {
	p := k.page
	tab, cancel := p.within(ctx)
	defer cancel()
	none := matched{Of: len(p.client.options.Table.Models)}
	if there, err := call[bool](tab, "list", p.client.options.Table); err != nil || !there {
		return none // the page drew itself anew
	}
	for end := time.Now().Add(2 * time.Second); ; {
		if seen, err := k.match(ctx); err == nil && seen["models"].At > 0 {
			return seen["models"]
		}
		if time.Now().After(end) || sleep(ctx, pollInterval) != nil {
			return none
		}
	}
}

// Reach reports whether a connection to the site can be made, by the way that
// the browser's requests would take. Nothing is asked of the site.
func (c *Client) Reach(ctx context.Context) error {
	const op = "reach the site"
	dial, err := upstreamDialer()
	if err != nil {
		return err
	}
	conn, err := dial(ctx, c.site.hostPort())
	if err != nil {
		return fail(KindUnreachable, op, "%w", err)
	}
	return conn.Close()
}
