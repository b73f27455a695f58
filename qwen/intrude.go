package qwen

import (
	"encoding/json"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// intrude notes that something came up that can't be held. It reports whether
// the page has a prompt in it. Then the site is out of reach when intrude
// returns, and a send that isn't answered yet is spoiled.
func (g *gate) intrude(what string) (prompt bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.needle == nil {
		return false
	}
	g.shut()
	if g.phase != gateReleased && g.spoiled == nil {
		g.spoiled = fail(KindSiteChanged, "guard the prompt", "the page opened %s, which can't be held", what)
		g.refuse(g.spoiled)
	}
	return true
}

// watchSockets spoils the send when the page opens a web socket while the
// prompt is in it, and notices when one carries the prompt away.
func (g *gate) watchSockets() {
	target := chromedp.FromContext(g.tab).Target
	opened, _ := target.Subscribe(network.WebSocketCreated.Method)
	go func() {
		for raw := range opened {
			var socket struct {
				URL string `json:"url"`
			}
			if json.Unmarshal(raw, &socket) == nil && g.site.hosts(socket.URL) {
				g.intrude("a web socket")
			}
		}
	}()
	sent, _ := target.Subscribe(network.WebSocketFrameSent.Method)
	go func() {
		for raw := range sent {
			var frame struct {
				Response struct {
					Data string `json:"payloadData"`
				} `json:"response"`
			}
			if json.Unmarshal(raw, &frame) == nil {
				g.noteFrame(frame.Response.Data)
			}
		}
	}()
}

// noteFrame looks for the prompt in what a web socket sent.
func (g *gate) noteFrame(data string) {
	g.mu.Lock()
	carries := g.needle != nil && g.phase != gateReleased && g.needle.in("", []byte(data))
	g.leaked = g.leaked || carries
	g.mu.Unlock()
	if carries {
		g.intrude("a web socket")
	}
}

// leak reports whether the prompt was seen to leave beside the gate.
func (g *gate) leak() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leaked
}

// spoil is why the send must not be let go any more; nil if it may.
func (g *gate) spoil() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.spoiled
}
