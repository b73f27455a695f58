package qwen

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// stream is the site's answer as it comes: frames of "data: {json}", or one
// JSON document when the site refuses. Only its first words and its end are
// used; the answer's text is read from the chat, which has all of it.
type stream struct {
	tab      context.Context
	watch    *networkWatch
	id       string
	response response
	named    time.Duration // how long an answer's first words may take
	buf      []byte        // bytes not yet read as frames
	head     []byte        // the first bytes, for a reply that is no stream
	over     bool          // no more bytes will come
	finished bool          // the answer's last frame was seen
	framed   bool          // a frame of an answer was seen
}

// created is what the site's first frame says.
type created struct {
	Chat    string `json:"chat_id"`
	Message string `json:"parent_id"` // ours
	Answer  string `json:"response_id"`
}

// frame is one frame of the stream.
type frame struct {
	Created *created        `json:"response.created"`
	Info    json.RawMessage `json:"response.info"` // "still there", about every 10 s
	Choices []struct {
		Delta struct {
			Phase  string `json:"phase"`
			Status string `json:"status"`
		} `json:"delta"`
	} `json:"choices"`
}

// headLimit is how much of a reply is kept for the case that it is no stream.
const headLimit = 64 << 10

func newStream(tab context.Context, w *networkWatch, id string, r response, named time.Duration) *stream {
	s := &stream{tab: tab, watch: w, id: id, response: r, named: named}
	if w.broken {
		s.whole()
		return s
	}
	buffered, err := chromedp.Call(tab, network.StreamResourceContent,
		network.StreamResourceContentParams{RequestID: network.RequestID(id)})
	if err != nil {
		// The reply is complete already, or can't be streamed.
		s.whole()
		return s
	}
	s.add(buffered.BufferedData)
	return s
}

// whole reads a reply that is complete.
func (s *stream) whole() {
	r, err := chromedp.Call(s.tab, network.GetResponseBody, network.GetResponseBodyParams{RequestID: network.RequestID(s.id)})
	s.over = true
	if err == nil {
		s.add(r.Body)
	}
}

func (s *stream) add(b []byte) {
	s.buf = append(s.buf, b...)
	if room := headLimit - len(s.head); room > 0 {
		s.head = append(s.head, b[:min(room, len(b))]...)
	}
}

// first waits for the frame that names our message. An empty created without
// error means that the reply ended or stayed silent: the chat must tell.
func (s *stream) first(ctx context.Context) (created, error) {
	const op = "send the prompt"
	limit := time.After(s.patience())
	for {
		for {
			f, ok := s.next()
			if !ok {
				break
			}
			if f.Created != nil {
				return *f.Created, nil
			}
		}
		if err := s.refusal(op); err != nil {
			return created{}, notGone(err)
		}
		if s.over {
			return created{}, nil
		}
		select {
		case raw, ok := <-s.watch.data:
			s.take(raw, ok)
		case raw, ok := <-s.watch.finished:
			s.note(raw, ok)
		case raw, ok := <-s.watch.failures:
			s.note(raw, ok)
		case <-s.tab.Done():
			s.over = true
		case <-ctx.Done():
			return created{}, nil
		case <-limit:
			return created{}, notGone(s.unread(op))
		}
	}
}

// unreadTimeout is how long a reply that is no answer may take: the page may
// never read it, and then nobody sees its text.
const unreadTimeout = 3 * time.Second

// isPage reports whether the reply is a page where an answer should be.
func (s *stream) isPage() bool { return strings.Contains(s.response.Type, "html") }

// patience is how long the first words are waited for.
func (s *stream) patience() time.Duration {
	if s.response.Status >= 400 || s.isPage() {
		return unreadTimeout
	}
	return s.named
}

// unread judges a reply whose text didn't come, by what its headers say. The
// one kind of page that the site is known to send there is a check.
func (s *stream) unread(op string) error {
	r := reply{Status: s.response.Status, Type: s.response.Type}
	if err := r.checkStatus(op); err != nil {
		return err
	}
	if s.isPage() {
		return fail(KindChallenge, op, "the site answers with a page, probably a check")
	}
	return nil
}

// strange is the reply, if it came whole and holds nothing of an answer: neither
// a frame of one nor a refusal. Empty if it is none of that.
func (s *stream) strange() string {
	if !s.over || s.framed {
		return ""
	}
	return oneLine(string(s.head), 80)
}

// end follows the stream to its last frame or its break, and reports whether
// there is reason to look at the chat now.
func (s *stream) end() bool {
	for !s.over && !s.finished {
		for {
			if _, ok := s.next(); !ok {
				break
			}
		}
		if s.finished {
			break
		}
		select {
		case raw, ok := <-s.watch.data:
			s.take(raw, ok)
		case raw, ok := <-s.watch.finished:
			s.note(raw, ok)
		case raw, ok := <-s.watch.failures:
			s.note(raw, ok)
		case <-s.tab.Done():
			return false
		}
	}
	return true
}

// take adds a data event's bytes.
func (s *stream) take(raw []byte, ok bool) {
	if !ok {
		s.over = true
	} else if ev, mine := s.watch.ours(raw); mine {
		s.add(bytesOf(ev.Data))
	}
}

// note ends the stream when the event says so, after what is still queued.
func (s *stream) note(raw []byte, ok bool) {
	if _, mine := s.watch.ours(raw); ok && !mine {
		return
	}
	for quiet := time.After(100 * time.Millisecond); !s.over; {
		select {
		case more, ok := <-s.watch.data:
			s.take(more, ok)
		case <-quiet:
			s.over = true
		}
	}
}

// next returns the next whole frame. Lines that are none are passed over.
func (s *stream) next() (frame, bool) {
	for {
		line, rest, ok := bytes.Cut(s.buf, []byte("\n"))
		if !ok {
			if !s.over || len(s.buf) == 0 {
				return frame{}, false
			}
			line, rest = s.buf, nil
		}
		s.buf = rest
		line, ok = bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		var f frame
		if !ok || json.Unmarshal(bytes.TrimSpace(line), &f) != nil {
			continue
		}
		s.framed = s.framed || f.Created != nil || f.Info != nil || f.Choices != nil
		for _, c := range f.Choices {
			if c.Delta.Phase == "answer" && c.Delta.Status == "finished" {
				s.finished = true
			}
		}
		return f, true
	}
}

// refusal is what the reply says when it is no stream of an answer: one JSON
// document, framed or not, with the site's no; or an HTTP status.
func (s *stream) refusal(op string) error {
	body := bytes.TrimSpace(s.head)
	for line := range bytes.Lines(body) {
		if data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:")); ok && json.Valid(data) {
			if err := (reply{Status: 200, Body: string(data)}).check(op, time.Now()); err != nil {
				return err
			}
		}
	}
	r := reply{Status: s.response.Status, Type: s.response.Type, Body: string(body)}
	switch {
	case len(body) == 0 && s.over && r.Status >= 400:
		return r.checkStatus(op)
	case len(body) > 0 && !bytes.HasPrefix(body, []byte("data:")) && !bytes.HasPrefix(body, []byte(":")) &&
		!bytes.HasPrefix(body, []byte("event:")) && !bytes.HasPrefix(body, []byte("id:")) &&
		(json.Valid(body) || s.over):
		return r.check(op, time.Now())
	}
	return nil
}
