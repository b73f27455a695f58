package qwen

import (
	"encoding/json"
	"net/url"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// resumesMost is how often a stream that broke is taken up again.
const resumesMost = 3

// attend follows the answer's stream to its end and says that it ended. One that
// broke before its end is taken up again, to learn sooner when the answer is
// there; what it says is no answer, the chat is.
func (s *sending) attend(stream *stream, done func()) {
	defer done()
	c := s.page.client
	ended := func() { c.options.Ended(c.site.chatAddress(s.chat)) }
	if !stream.end() {
		return
	}
	ended()
	for tries := 0; tries < resumesMost && !stream.finished && s.answer != ""; tries++ {
		more, ok := s.resume(stream, tries > 0)
		if !ok {
			return // the page is gone
		}
		if ended(); !more {
			return
		}
	}
}

// resume follows the rest of a stream that broke: in the page's own request for it
// if it makes one, else in one of ours; ours says that there was one. more says that this one broke, too; ok is
// false when the page is gone.
func (s *sending) resume(stream *stream, ours bool) (more, ok bool) {
	p := s.page
	if sleep(p.live, p.client.options.rereads()) != nil {
		return false, false
	}
	if id := p.gate.resuming(s.answer); id != "" && !ours {
		return false, stream.watch.gone(p.live.Done(), id)
	}
	await, byValue := true, true
	path := p.client.options.Table.Completions + "?chat_id=" + url.QueryEscape(s.chat) + "&response_id=" + url.QueryEscape(s.answer)
	r, err := chromedp.Call(p.live, runtime.Evaluate, runtime.EvaluateParams{
		Expression: expression("resume", path, p.gate.frontEnd(), replyTimeout.Milliseconds()), AwaitPromise: &await, ReturnByValue: &byValue})
	if err != nil || r.Result == nil {
		return false, false
	}
	var end string
	_ = json.Unmarshal(r.Result.Value, &end)
	return end == "broken", true
}

// gone waits until a request of the page has ended; false when the page has.
func (w *networkWatch) gone(page <-chan struct{}, id string) bool {
	for {
		var raw []byte
		var ok bool
		select {
		case raw, ok = <-w.finished:
		case raw, ok = <-w.failures:
		case _, ok = <-w.data:
		case <-page:
		}
		if !ok {
			return false
		}
		var ev networkEvent
		if json.Unmarshal(raw, &ev) == nil && ev.ID == id {
			return true
		}
	}
}

// noteResume remembers that the page itself takes up a stream; the lock is held.
func (g *gate) noteResume(p paused) {
	u, err := url.Parse(p.Request.URL)
	if err != nil || p.Request.Method != "GET" || !g.isAt(p, g.path.Completions) {
		return
	}
	if id := u.Query().Get("response_id"); id != "" && p.Network != "" {
		if g.resumed == nil {
			g.resumed = map[string]string{}
		}
		g.resumed[id] = p.Network
	}
}

// resuming is the request with which the page took up an answer's stream; "" if it
// did not.
func (g *gate) resuming(answer string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.resumed[answer]
}
