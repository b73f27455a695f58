package qwen

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/chromedp"
)

// How long the site may take with a prompt that was let go.
const (
	headersTimeout = 150 * time.Second
	namedTimeout   = 60 * time.Second
)

// release lets the held request go through the one connection that the proxy
// allows, and waits for the site's first words.
func (s *sending) release(ctx context.Context) (string, error) {
	const op = "send the prompt"
	p := s.page
	watch := watchNetwork(p.ctx, s.held.Network)
	keep := false
	defer func() {
		if !keep {
			watch.stop()
		}
	}()
	p.browser.proxy.setMode(modeAllowOne)
	s.released, s.left = true, true
	if err := p.gate.proceed(*s.held); err != nil {
		return "", s.lost(fail(KindBrowser, op, "%w", err))
	}
	s.step(StepReleased)
	r, err := watch.headers(ctx, p.ctx)
	if err != nil {
		return "", s.lost(err)
	}
	s.step(StepHeaders)
	p.browser.proxy.setMode(modeOpen)
	p.gate.reopen()

	stream := newStream(p.ctx, watch, s.held.Network, r)
	named, err := stream.first(ctx)
	if err != nil {
		return "", err
	}
	if named.Message == "" {
		named.Message, err = s.inChat(ctx)
		if err != nil {
			return "", err
		}
	}
	s.step(StepNamed)
	keep = true
	go func() {
		defer watch.stop()
		if stream.end() {
			p.client.options.Ended(p.client.site.chatAddress(s.chat))
		}
	}()
	return named.Message, nil
}

// lost ends a send that got no answer. The proxy knows whether any byte went
// out through the one connection; if none did, the prompt is still here.
func (s *sending) lost(cause error) error {
	sent := s.page.browser.proxy.oneSent()
	s.page.browser.proxy.setMode(modeShut)
	s.left = sent > 0
	return cause
}

// inChat looks for our message in the chat, when the site took the prompt and
// its stream could not be read.
func (s *sending) inChat(ctx context.Context) (string, error) {
	const op = "see whether the site has the prompt"
	found, err := s.page.chat(ctx, op, s.chat)
	if err != nil {
		return "", err
	}
	turn, err := found.turn(op, "", "")
	if turn.Message != "" {
		return turn.Message, nil
	}
	if err == nil {
		err = fail(KindUnreachable, op, "the chat does not show it")
	}
	return "", err
}

// networkWatch follows one request through the Network domain's events. They
// are decoded leniently: a value that is newer than the library must not hide
// an event.
type networkWatch struct {
	id        string
	responses <-chan jsonv2.Value
	data      <-chan jsonv2.Value
	finished  <-chan jsonv2.Value
	failures  <-chan jsonv2.Value
	stops     []func()
}

// response is what is known when headers are in.
type response struct {
	Status int    `json:"status"`
	Type   string `json:"mimeType"`
}

// networkEvent is the union of the events' fields that matter.
type networkEvent struct {
	ID       string   `json:"requestId"`
	Response response `json:"response"`
	Data     string   `json:"data"`
	Error    string   `json:"errorText"`
}

// watchNetwork subscribes before the request is let go, so nothing is missed.
func watchNetwork(tab context.Context, id string) *networkWatch {
	w := &networkWatch{id: id}
	target := chromedp.FromContext(tab).Target
	subscribe := func(method string) <-chan jsonv2.Value {
		events, stop := target.Subscribe(method)
		w.stops = append(w.stops, stop)
		return events
	}
	w.responses = subscribe(network.ResponseReceived.Method)
	w.data = subscribe(network.DataReceived.Method)
	w.finished = subscribe(network.LoadingFinished.Method)
	w.failures = subscribe(network.LoadingFailed.Method)
	return w
}

func (w *networkWatch) stop() {
	for _, stop := range w.stops {
		stop()
	}
}

// ours decodes an event of our request.
func (w *networkWatch) ours(raw jsonv2.Value) (networkEvent, bool) {
	var ev networkEvent
	return ev, json.Unmarshal(raw, &ev) == nil && ev.ID == w.id
}

// headers waits for the response's headers.
func (w *networkWatch) headers(ctx, tab context.Context) (response, error) {
	const op = "send the prompt"
	limit := time.After(headersTimeout)
	for {
		select {
		case raw, ok := <-w.responses:
			if ev, mine := w.ours(raw); ok && mine {
				return ev.Response, nil
			} else if !ok {
				return response{}, fail(KindBrowser, op, "%w: the page ended", errNoHeaders)
			}
		case raw := <-w.failures:
			if ev, mine := w.ours(raw); mine {
				return w.headersBefore(ev)
			}
		case <-tab.Done():
			return response{}, fail(KindBrowser, op, "%w: the browser ended", errNoHeaders)
		case <-ctx.Done():
			return response{}, fail(KindUnreachable, op, "%w", ctx.Err())
		case <-limit:
			return response{}, fail(KindUnreachable, op, "%w within %v", errNoHeaders, headersTimeout)
		}
	}
}

// headersBefore looks once more for headers when the request failed: events of
// two kinds arrive in no fixed order.
func (w *networkWatch) headersBefore(failed networkEvent) (response, error) {
	for limit := time.After(200 * time.Millisecond); ; {
		select {
		case raw, ok := <-w.responses:
			if ev, mine := w.ours(raw); ok && mine {
				return ev.Response, nil
			} else if ok {
				continue
			}
		case <-limit:
		}
		return response{}, fail(KindUnreachable, "send the prompt", "%w: %s", errNoHeaders, firstOf(failed.Error, "unknown"))
	}
}

// bytesOf decodes an event's data.
func bytesOf(encoded string) []byte {
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil
	}
	return b
}

// stopWorkers ends the site's service workers: their requests pass beside the
// gate and could take the one connection. They start again by themselves.
func stopWorkers(tab context.Context) {
	if _, err := chromedp.Call(tab, serviceworker.Enable, cdp.Empty{}); err == nil {
		_, _ = chromedp.Call(tab, serviceworker.StopAllWorkers, cdp.Empty{})
	}
}
