package qwen

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"
)

// gatePhase is what the gate does with the page's requests.
type gatePhase int

const (
	// gateReading: nobody asked for a send. Any is refused.
	gateReading gatePhase = iota
	// gateArmed: one send is expected; the first that comes is held.
	gateArmed
	// gateHolding: a send is held. Every other request to the site waits,
	// because any could take the one connection that the send will get.
	gateHolding
	// gateReleasing: the send was let go and is not answered yet. All else
	// goes on waiting.
	gateReleasing
	// gateReleased: the site has answered. Every repeat is refused for as long
	// as the page lives.
	gateReleased
)

// gate holds every request of one page (the Fetch domain, armed before the
// first navigation) and decides about each. A held request leaves in exactly
// two ways: release, or failRequest with its answer awaited. Cancelling,
// detaching or closing the page would send it.
//
// What the Fetch domain doesn't show can't be held: other pages and shared and
// service workers never run (guard.go), and a web socket that is opened while
// a prompt is in the page spoils the send.
type gate struct {
	tab  context.Context
	site origin
	path Site
	shut func() // puts the site out of reach

	mu      sync.Mutex
	phase   gatePhase
	needle  *needle
	resumed map[string]string // answer's id -> the page's request that takes up its stream
	files   uploads           // what the page sends for its next message
	cut     *cut              // the page is expected to go on with this answer, not to send
	asking  bool              // the page asked for a new chat since the send is expected
	chats   map[string]bool   // ids that chats/new returned to this page
	version string            // the front end's, as its own calls name it
	waiting []paused          // held while a send is held
	strange []string          // requests that carry the prompt and aren't the send
	spoiled error             // why the send must not be let go any more
	leaked  bool              // the prompt went out through a web socket
	held    chan paused
	refused chan error // the send will not come, and why
}

// newGate arms the gate on the page and serves it until the page ends.
func newGate(ctx, tab context.Context, site origin, path Site, shut func()) (*gate, error) {
	g := &gate{tab: tab, site: site, path: path, shut: shut, chats: map[string]bool{},
		held: make(chan paused, 1), refused: make(chan error, 1)}
	target := chromedp.FromContext(tab).Target
	requests, _ := target.Subscribe(fetch.RequestPaused.Method)
	go func() {
		for raw := range requests {
			var p paused
			if json.Unmarshal(raw, &p) == nil {
				g.serve(p)
			}
		}
	}()
	g.watchSockets()
	_, err := chromedp.Call(ctx, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{
		{URLPattern: "*", RequestStage: fetch.RequestStageRequest},
		{URLPattern: "*" + path.NewChat + "*", RequestStage: fetch.RequestStageResponse},
		{URLPattern: "*" + path.FileToken + "*", RequestStage: fetch.RequestStageResponse},
		{URLPattern: "*" + path.FileParse + "*", RequestStage: fetch.RequestStageResponse},
		{URLPattern: "*" + path.FileStatus + "*", RequestStage: fetch.RequestStageResponse},
	}})
	return g, err
}

// lookFor makes the gate refuse whatever carries the prompt's text from now
// on; called before the text goes into the page.
func (g *gate) lookFor(prompt string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := newNeedle(prompt)
	g.needle = &n
}

// expect arms the gate for one send.
func (g *gate) expect() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.phase = gateArmed
}

// serve decides about one paused request and carries it out.
func (g *gate) serve(p paused) {
	if p.atResponse() {
		// Apart, because the reply's body may be long in coming.
		go func() {
			g.noteNewChat(p)
			g.noteFiles(p)
			_ = g.proceed(p)
		}()
		return
	}
	switch g.decide(p) {
	case pass:
		_ = g.proceed(p)
	case refuse:
		_ = g.fail(p)
	case hold, wait:
	}
}

// verdict is what becomes of a paused request.
type verdict int

const (
	pass   verdict = iota // let it go
	refuse                // fail it
	hold                  // it is the send: keep it for the caller
	wait                  // keep it until the send is over
)

// decide is the gate's whole policy. The site is put out of reach within the
// decision to hold, so that no later one can be made with it in reach.
func (g *gate) decide(p paused) verdict {
	body := g.body(p)
	g.mu.Lock()
	defer g.mu.Unlock()
	if v := p.version(); v != "" && g.site.hosts(p.Request.URL) {
		g.version = v
	}
	g.noteResume(p)
	switch {
	case g.isSend(p) || g.isGoOn(p):
		if g.phase != gateArmed || g.spoiled != nil {
			return refuse
		}
		g.phase = gateHolding
		g.shut()
		g.held <- p
		return hold
	case g.needle != nil && g.needle.in(p.Request.URL, body), g.goesElsewhere(p, body):
		g.strange = append(g.strange, p.path())
		return refuse
	case (g.phase == gateHolding || g.phase == gateReleasing) && g.site.hosts(p.Request.URL):
		g.waiting = append(g.waiting, p)
		return wait
	case g.phase == gateArmed && p.Request.Method == "POST" && g.isAt(p, g.path.NewChat):
		g.asking = true
	}
	return pass
}

// isSend reports whether the request is one that makes the site answer.
func (g *gate) isSend(p paused) bool {
	return p.Request.Method == "POST" && g.isAt(p, g.path.Completions)
}

// isAt reports whether a request goes to a path of the site.
func (g *gate) isAt(p paused, path string) bool {
	u, err := url.Parse(p.Request.URL)
	return err == nil && g.site.owns(u) && strings.TrimRight(u.Path, "/") == strings.TrimRight(path, "/")
}

// refuse ends the wait for the send; the first reason counts.
func (g *gate) refuse(err error) {
	select {
	case g.refused <- err:
	default:
	}
}

// let runs open, which lets the site be reached for the held send, unless the
// send was spoiled. Both happen under one lock, so nothing can come between.
func (g *gate) let(open func()) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.spoiled != nil {
		return g.spoiled
	}
	g.phase = gateReleasing
	open()
	return nil
}

// reopen lets everything go that waited for the send, except other sends.
func (g *gate) reopen() {
	g.mu.Lock()
	g.phase = gateReleased
	waiting := g.waiting
	g.waiting = nil
	g.mu.Unlock()
	for _, p := range waiting {
		_ = g.proceed(p)
	}
}

// abandon fails everything that is held, the send first, and refuses sends
// from now on. It returns an error when the browser didn't confirm that the
// send is dropped; the page may then be ended only with the proxy shut.
func (g *gate) abandon(send *paused) error {
	g.mu.Lock()
	g.phase = gateReading
	waiting := g.waiting
	g.waiting = nil
	g.mu.Unlock()
	var err error
	if send == nil {
		select {
		case late := <-g.held:
			send = &late
		default:
		}
	}
	if send != nil {
		err = g.fail(*send)
	}
	for _, p := range waiting {
		_ = g.fail(p)
	}
	return err
}

// prompted reports whether a prompt was put into the page.
func (g *gate) prompted() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.needle != nil
}

// idle reports whether the site may be in reach: no send is under way.
func (g *gate) idle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.needle == nil || g.phase == gateReleased
}

// frontEnd is the version that the page's own calls name; "" until one does.
func (g *gate) frontEnd() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.version
}

// strangers are the requests that carried the prompt and weren't the send.
func (g *gate) strangers() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.strange
}
