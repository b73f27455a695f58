package qwen

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

var errNoHeaders = errors.New("the connection broke before the site answered")

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
	broken    bool // the request failed after its headers
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
func (w *networkWatch) headers(ctx, tab context.Context, patience time.Duration) (response, error) {
	const op = "send the prompt"
	limit := time.After(patience)
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
			return response{}, fail(KindUnreachable, op, "%w within %v", errNoHeaders, patience)
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
				w.broken = true
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
