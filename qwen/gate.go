package qwen

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
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
	// gateReleased: the send was let go. Every repeat is refused for as long
	// as the page lives.
	gateReleased
)

// gate holds every request of one page (the Fetch domain, armed before the
// first navigation) and decides about each. A held request leaves in exactly
// two ways: release, or failRequest with its answer awaited. Cancelling,
// detaching or closing the page would send it.
type gate struct {
	tab  context.Context
	site origin
	path Site

	mu      sync.Mutex
	phase   gatePhase
	needle  *needle
	chats   map[string]bool // ids that chats/new returned to this page
	waiting []paused        // held while a send is held
	strange []string        // requests that carry the prompt and aren't the send
	shut    func()          // called the moment a send is held
	held    chan paused
	refused chan error // chats/new said no
}

// paused is a request that the browser holds for us. It is decoded from the
// raw event with only what is needed: an enumeration that is newer than the
// library must not make a request invisible.
type paused struct {
	ID      fetch.RequestID `json:"requestId"`
	Network string          `json:"networkId"`
	Status  *int            `json:"responseStatusCode"`
	Reason  string          `json:"responseErrorReason"`
	Request struct {
		URL     string `json:"url"`
		Method  string `json:"method"`
		HasBody bool   `json:"hasPostData"`
		Entries []struct {
			Bytes string `json:"bytes"`
		} `json:"postDataEntries"`
		Body string `json:"postData"`
	} `json:"request"`
}

// atResponse reports whether the request is paused with its reply in.
func (p paused) atResponse() bool { return p.Status != nil || p.Reason != "" }

// newGate arms the gate on the page and serves it until the page ends.
func newGate(ctx, tab context.Context, site origin, path Site) (*gate, error) {
	g := &gate{tab: tab, site: site, path: path, chats: map[string]bool{},
		held: make(chan paused, 1), refused: make(chan error, 1)}
	events, _ := chromedp.FromContext(tab).Target.Subscribe(fetch.RequestPaused.Method)
	go func() {
		for raw := range events {
			var p paused
			if json.Unmarshal(raw, &p) == nil {
				g.serve(p)
			}
		}
	}()
	_, err := chromedp.Call(ctx, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{
		{URLPattern: "*", RequestStage: fetch.RequestStageRequest},
		{URLPattern: "*" + path.NewChat + "*", RequestStage: fetch.RequestStageResponse},
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

// expect arms the gate for one send. shut is called at once when the send is
// held, before anything else is done with it.
func (g *gate) expect(shut func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.phase, g.shut = gateArmed, shut
}

// serve decides about one paused request and carries it out.
func (g *gate) serve(p paused) {
	if p.atResponse() {
		g.noteNewChat(p)
		g.proceed(p)
		return
	}
	switch g.decide(p) {
	case pass:
		g.proceed(p)
	case refuse:
		g.fail(p)
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

// decide is the gate's whole policy.
func (g *gate) decide(p paused) verdict {
	body := g.body(p)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.isSend(p):
		if g.phase != gateArmed {
			return refuse
		}
		g.phase = gateHolding
		g.shut()
		g.held <- p
		return hold
	case g.needle != nil && g.needle.in(p.Request.URL, body):
		g.strange = append(g.strange, p.Request.Method+" "+pathOf(p.Request.URL))
		return refuse
	case g.phase == gateHolding && g.ofSite(p):
		g.waiting = append(g.waiting, p)
		return wait
	}
	return pass
}

// isSend reports whether the request is one that makes the site answer.
func (g *gate) isSend(p paused) bool {
	u, err := url.Parse(p.Request.URL)
	return err == nil && p.Request.Method == "POST" && g.site.owns(u) &&
		strings.TrimRight(u.Path, "/") == g.path.Completions
}

func (g *gate) ofSite(p paused) bool {
	u, err := url.Parse(p.Request.URL)
	return err == nil && strings.EqualFold(u.Host, g.site.base.Host)
}

func pathOf(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "an address that is none"
	}
	return u.Host + u.Path
}

// body returns a paused request's body, asking for it when the event came
// without.
func (g *gate) body(p paused) []byte {
	var body []byte
	for _, e := range p.Request.Entries {
		b, err := base64.StdEncoding.DecodeString(e.Bytes)
		if err != nil {
			return []byte(p.Request.Body)
		}
		body = append(body, b...)
	}
	if body == nil && p.Request.HasBody {
		if p.Request.Body != "" {
			return []byte(p.Request.Body)
		}
		r, err := chromedp.Call(g.tab, network.GetRequestPostData,
			network.GetRequestPostDataParams{RequestID: network.RequestID(p.Network)})
		if err == nil {
			return r.PostData
		}
	}
	return body
}

// noteNewChat reads the reply to the page's call for a new chat: its id is the
// only one that our send may carry. A refusal ends the wait for the send.
func (g *gate) noteNewChat(p paused) {
	const op = "make a new chat"
	r, err := chromedp.Call(g.tab, fetch.GetResponseBody, fetch.GetResponseBodyParams{RequestID: p.ID})
	if err != nil || p.Status == nil {
		g.refuse(fail(KindUnreachable, op, "no reply"))
		return
	}
	answer := reply{Status: *p.Status, Body: string(r.Body)}
	if err := answer.check(op, time.Now()); err != nil {
		g.refuse(err)
		return
	}
	made, err := decode[struct {
		ID string `json:"id"`
	}](answer, op)
	if err != nil || !uuidPattern.MatchString(made.ID) {
		g.refuse(fail(KindSiteChanged, op, "the reply names no chat"))
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.chats[strings.ToLower(made.ID)] = true
}

func (g *gate) refuse(err error) {
	select {
	case g.refused <- err:
	default:
	}
}

// reopen lets everything go that waited for the send, except other sends.
func (g *gate) reopen() {
	g.mu.Lock()
	g.phase = gateReleased
	waiting := g.waiting
	g.waiting = nil
	g.mu.Unlock()
	for _, p := range waiting {
		g.proceed(p)
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
		g.fail(p)
	}
	return err
}

// proceed lets a request go. An error means that the page or the request is
// gone already.
func (g *gate) proceed(p paused) error {
	_, err := chromedp.Call(g.tab, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: p.ID})
	return err
}

// fail refuses a request and waits for the browser's word that it is dropped.
func (g *gate) fail(p paused) error {
	_, err := chromedp.Call(g.tab, fetch.FailRequest, fetch.FailRequestParams{
		RequestID: p.ID, ErrorReason: network.ErrorReasonBlockedByClient})
	return err
}

// strangers are the requests that carried the prompt and weren't the send.
func (g *gate) strangers() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.strange
}

// given are the ids of the chats that this page was given.
func (g *gate) given() map[string]bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	chats := map[string]bool{}
	for id := range g.chats {
		chats[id] = true
	}
	return chats
}
