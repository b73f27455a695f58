package qwen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// evidenceTimeout bounds what is done to keep evidence.
const evidenceTimeout = 8 * time.Second

// evident reports whether what the page shows would help a person to understand
// the error: the site has changed or asks for a person, or the page fails in a
// way that is not known.
func evident(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Kind == KindSiteChanged || e.Kind == KindChallenge || e.Kind == KindBrowser)
}

// evidence keeps what a page shows that is about to be thrown away, and returns
// the error with the folder's name in its advice. A prompt must not be in flight
// any more: dropped with the browser's word, or answered. Before anything else
// the site is put out of reach and the gate refuses every send, so that whatever
// happens here, nothing leaves. What goes wrong changes nothing.
func (c *Client) evidence(ctx context.Context, p *page, err error) error {
	dir := c.options.Evidence
	if dir == "" || p == nil || !evident(err) || ctx.Err() != nil || !p.alive() {
		return err
	}
	p.browser.proxy.setMode(modeShut)
	_ = p.gate.abandon(nil)
	e := *asError(err, KindBrowser, "")
	box := evidenceBox{dir}
	path, failed := box.recent(string(e.Kind), e.Error()), error(nil)
	if path == "" {
		path, failed = p.keepEvidence(ctx, box, &e)
	}
	if failed != nil {
		c.options.Log.Debug().Err(failed).Msg("cannot keep what the page shows")
	}
	if path != "" {
		c.options.Log.Warn().Str("class", string(e.Kind)).Str("evidence", path).Msg("what the page showed is kept")
		e.Advice = strings.TrimPrefix(e.Advice+"; what the page showed is in "+path, "; ")
	}
	return &e
}

// keepEvidence writes the folder.
func (p *page) keepEvidence(ctx context.Context, box evidenceBox, e *Error) (string, error) {
	tab, cancel := p.within(ctx)
	defer cancel()
	tab, cancelTime := context.WithTimeout(tab, evidenceTimeout)
	defer cancelTime()
	state, stateErr := p.look(tab)
	replies, bodies := p.record.bodies(tab)
	s := p.scrubber(tab, bodies)
	files := map[string][]byte{
		"report.txt":  []byte(s.lines(p.report(e, state, stateErr))),
		"replies.txt": []byte(repliesText(s, replies, bodies)),
		"console.txt": []byte(consoleText(s, p.record.said())),
		"browser.log": []byte(s.lines(ownWords(p.browser.output.String()))),
	}
	// What is shown to nobody is not kept either: without the mask no picture.
	page, err := call[string](tab, "mask", p.client.options.Table, s.words, !p.gate.prompted())
	if err == nil {
		files["page.html"] = []byte(s.text(page))
		var shot cdppage.CaptureScreenshotResult
		if shot, err = chromedp.Call(tab, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{}); err == nil {
			files["page.png"] = shot.Data
		}
	}
	path, writeErr := box.write(string(e.Kind), files)
	return path, errors.Join(err, writeErr)
}

// scrubber knows the prompt, the cookies, what the page keeps, and the texts of
// the replies.
func (p *page) scrubber(tab context.Context, bodies []string) *scrubber {
	secrets := []string{p.account}
	if r, err := chromedp.Call(tab, network.GetCookies, network.GetCookiesParams{URLs: []string{p.client.site.url("/")}}); err == nil {
		for _, k := range r.Cookies {
			if len(k.Value) > 5 {
				secrets = append(secrets, k.Value)
			}
		}
	}
	if kept, err := call[[]string](tab, "secrets", p.client.options.Table); err == nil {
		secrets = append(secrets, kept...)
	}
	for _, body := range bodies {
		secrets = append(secrets, personal(body)...)
	}
	prompt := p.gate.sought()
	for line := range strings.Lines(prompt) {
		secrets = append(secrets, line)
	}
	return newScrubber(prompt, secrets...)
}

// report says in words and values what happened, where, and with what.
func (p *page) report(e *Error, s pageState, stateErr error) string {
	var b strings.Builder
	line := func(key, value string) { fmt.Fprintf(&b, "%s: %s\n", key, oneLine(value, 400)) }
	line("error", e.Error())
	line("class", string(e.Kind))
	line("when", time.Now().UTC().Format(time.RFC3339))
	line("what to do", e.Advice)
	line("program", firstOf(p.client.options.Version, "unknown"))
	line("browser", p.browser.version)
	line("site", p.client.site.base.String())
	line("front end", firstOf(p.gate.frontEnd(), "unknown"))
	line("page", withoutQuery(s.Href))
	if stateErr != nil {
		line("state", stateErr.Error())
	} else {
		s.Title, s.Href, s.User = "", "", nil
		state, _ := json.Marshal(s) // texts and numbers: can't fail
		line("state", string(state))
	}
	for _, strange := range p.gate.strangers() {
		line("refused", strange)
	}
	return b.String()
}

func repliesText(s *scrubber, replies []recorded, bodies []string) string {
	var b strings.Builder
	for i, one := range slices.Backward(replies) { // the last first: a cut takes the oldest
		actual := ""
		for name, value := range one.Response.Headers {
			if strings.EqualFold(name, "x-actual-status-code") {
				actual = ", actually " + value
			}
		}
		body := "(gone)"
		if bodies[i] != "" {
			body = oneLine(s.reply(bodies[i]), 8000)
		}
		fmt.Fprintf(&b, "%s %s\n  HTTP %d%s, %s\n  %s\n\n", one.at.UTC().Format(time.RFC3339), s.text(withoutQuery(one.Response.URL)),
			one.Response.Status, actual, one.Response.Type, body)
	}
	return b.String()
}

func consoleText(s *scrubber, lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintln(&b, oneLine(s.line(line), recordedLine))
	}
	return b.String()
}

// logHead is how a line of Chromium's log begins:
// [4711:4712:1130/214430.424394:ERROR:gpu_process.cc:12], or without numbers.
var logHead = regexp.MustCompile(`^\[[\d:/.]+:([A-Za-z]+\d*):([^:\]]+)`)

// ownWords is the browser's log without what pages wrote to their console: the
// browser outlives pages, so that may be an earlier prompt's, known to nobody
// any more. What comes before the first head is half a line.
func ownWords(log string) string {
	var b strings.Builder
	own := false
	for line := range strings.Lines(log) {
		if head := logHead.FindStringSubmatch(line); head != nil {
			own = !strings.EqualFold(head[2], "console")
		}
		if own {
			b.WriteString(line)
		}
	}
	return b.String()
}

// sought is the prompt that was put into the page, "" if none was.
func (g *gate) sought() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.needle == nil {
		return ""
	}
	return g.needle.whole
}
