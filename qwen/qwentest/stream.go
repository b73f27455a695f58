package qwentest

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// stream answers a send with the events of its answers. The client may leave
// at any time: the answers do not depend on it.
func (c *call) stream(t turn) {
	c.openStream()
	for _, m := range t.answers {
		created := obj{"chat_id": t.chat.id, "parent_id": t.user.id, "response_id": m.id}
		if len(t.answers) > 1 {
			created["response_index"] = fmt.Sprint(m.response.index)
		}
		c.event(obj{"response.created": created})
	}
	limit := -1
	if f, ok := c.faults.get(Cut, CutRST, CutHang, CutSlow); ok {
		limit = f.n(5)
	}
	var rs []*response
	for _, m := range t.answers {
		rs = append(rs, m.response)
	}
	c.follow(rs, t.from, limit)
}

func (c *call) openStream() {
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	c.w.WriteHeader(http.StatusOK)
	c.w.flush()
}

func (c *call) event(v any) {
	_, _ = fmt.Fprintf(c.w, "data: %s\n\n", encode(v))
	c.w.flush()
}

// follow sends the frames of the responses as they come, from the given one
// on; limit is the number after which the stream is cut, -1 for none.
func (c *call) follow(rs []*response, from, limit int) {
	tokens := 0
	for i := from; ; i++ {
		any := false
		for _, r := range rs {
			if i >= len(r.plan.frames) {
				continue
			}
			any = true
			if !c.await(r, r.start.Add(r.plan.frames[i].at)) {
				c.finish(rs)
				return
			}
			tokens++
			c.frame(r, r.plan.frames[i], tokens)
			if limit--; limit == 0 {
				c.cutStream()
			}
		}
		if !any {
			c.finish(rs)
			return
		}
	}
}

// cutStream strikes in the middle of a stream.
func (c *call) cutStream() {
	if f, ok := c.faults.get(CutSlow); ok {
		c.sleep(f.Delay)
		return
	}
	if c.faults.has(CutHang) {
		c.hang()
	}
	cut(c.r, c.faults.has(CutRST), false)
}

// await waits for a moment and keeps the stream alive meanwhile; false when
// the response was stopped or the client left.
func (c *call) await(r *response, at time.Time) bool {
	for {
		c.site.mu.Lock()
		wait, stopped := at.Sub(c.site.now()), !r.stopped.IsZero()
		c.site.mu.Unlock()
		if stopped || c.r.Context().Err() != nil {
			return false
		}
		if wait <= 0 {
			return true
		}
		alive := c.options.KeepAlive
		if alive > 0 && alive < wait {
			wait = alive
		}
		select {
		case <-c.options.Clock.After(wait):
			if wait == alive {
				c.event(obj{"response.info": obj{"action": "keep_alive", "chat_id": r.chat, "response_id": r.id, "timestamp": c.options.Clock.Now().Unix()}})
			}
		case <-r.changed:
		case <-c.r.Context().Done():
		}
	}
}

func (c *call) frame(r *response, f frame, tokens int) {
	if f.failure != nil {
		c.streamError(r, f.failure)
		return
	}
	delta := obj{"role": "assistant", "content": f.text, "phase": f.phase, "status": f.status}
	if f.phase == "thinking_summary" {
		delta["extra"] = summary(f)
	}
	if f.extra != nil {
		delta["extra"] = f.extra
	}
	if f.cutShort {
		delta["extra"] = obj{"finish_reason": "length"}
	}
	c.event(obj{
		"choices":     []obj{{"delta": delta}},
		"response_id": r.id, "timestamp": c.options.Clock.Now().Unix(),
		"usage": obj{"input_tokens": 24, "output_tokens": tokens, "total_tokens": 24 + tokens,
			"output_tokens_details": obj{"reasoning_tokens": 2, "text_tokens": max(0, tokens-2)}},
	})
}

func (c *call) streamError(r *response, failure obj) {
	v := obj{"error": failure}
	if !c.options.ErrorWithoutID {
		v["response_id"] = r.id
	}
	if c.options.ErrorShape == "raw" {
		_, _ = c.w.Write(encode(v))
		c.w.flush()
		return
	}
	c.event(v)
}

// finish ends a stream as its response demands.
func (c *call) finish(rs []*response) {
	r := rs[0]
	if r.plan.never {
		for c.await(r, c.options.Clock.Now().Add(time.Hour)) {
		}
		return
	}
	if r.plan.killed != "" {
		c.streamError(r, obj{"code": "Bad_Request", "details": r.plan.killed})
	}
	if c.options.DoneMarker {
		_, _ = c.w.Write([]byte("data: [DONE]\n\n"))
		c.w.flush()
	}
	if c.options.StreamStaysOpen || c.faults.has(Open) {
		<-c.r.Context().Done()
	}
}

// resume is GET completions with a response_id: the replay of a response that
// is still being generated. It never starts one.
func (c *call) resume() {
	s := c.site
	q := c.r.URL.Query()
	if c.options.Unsigned == "" && c.unsigned() {
		return
	}
	s.mu.Lock()
	owner, refusal := c.owner()
	if refusal != nil {
		s.mu.Unlock()
		refusal()
		return
	}
	var r *response
	var user string
	ch := s.live(q.Get("chat_id"))
	if ch != nil && ch.owner == owner {
		if m := ch.find(q.Get("response_id")); m != nil {
			r, user = m.response, m.parent
		}
	}
	var st state
	if r != nil {
		st = r.state(s.now())
	}
	s.mu.Unlock()
	if r == nil {
		c.notFound("response " + strings.TrimSpace(q.Get("response_id")))
		return
	}
	if !st.running && c.options.Continues == "resume" && len(r.plan.rest) > 0 {
		c.goOn(ch.id, r.id, "")
		return
	}
	if !st.running {
		c.ended()
		return
	}
	c.openStream()
	c.event(obj{"response.created": obj{"chat_id": r.chat, "parent_id": user, "response_id": r.id}})
	from := 0
	if c.options.ResumeLive {
		from = st.frames
	}
	c.follow([]*response{r}, from, -1)
}
