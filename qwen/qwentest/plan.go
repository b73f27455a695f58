package qwentest

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// frame is one piece of an answer; at counts from acceptance.
type frame struct {
	at               time.Duration
	phase, status    string
	text             string   // adds to the phase's text
	titles, thoughts []string // replace what there was
	cutShort         bool     // the end of an answer that was too long
	apart            bool     // begins a part of its own
	extra            obj      // what a piece that is no text carries
	failure          obj      // an error in place of a piece; the last frame then
}

// plan is how one answer will come, fixed when its prompt is accepted.
type plan struct {
	frames   []frame
	never    bool    // it does not end
	killed   string  // the server gave up: details of the error frame at the end of the stream
	rest     []frame // of an answer that was cut by length
	unlisted bool
	late     time.Duration // a read shows the text only bit by bit, for so long after it is done
}

// response is an answer on its way. What of it exists at a moment follows from
// the clock.
type response struct {
	id, chat string
	index    int
	plan     plan
	start    time.Time
	stopped  time.Time
	changed  chan struct{} // closed when it is stopped
}

// state is a response at a moment.
type state struct {
	frames  int // so many are out
	running bool
	stopped bool
	failure obj
}

func (r *response) state(now time.Time) state {
	if !r.stopped.IsZero() {
		now = r.stopped
	}
	age := now.Sub(r.start)
	var st state
	for st.frames < len(r.plan.frames) && r.plan.frames[st.frames].at <= age {
		st.failure = r.plan.frames[st.frames].failure
		st.frames++
	}
	st.stopped = !r.stopped.IsZero()
	st.running = !st.stopped && (st.frames < len(r.plan.frames) || r.plan.never)
	return st
}

// stop ends a running response; false when there was nothing to stop.
func (r *response) stop(now time.Time) bool {
	if !r.state(now).running {
		return false
	}
	r.stopped = now
	close(r.changed)
	return true
}

func (r *response) end() time.Time {
	if !r.stopped.IsZero() {
		return r.stopped
	}
	return r.start.Add(r.plan.frames[len(r.plan.frames)-1].at)
}

// describe fills in an assistant's message as the API shows it.
func (r *response) describe(v obj, now time.Time, o Options) {
	st := r.state(now)
	parts, text := r.parts(st, o)
	v["content"], v["reasoning_content"], v["content_list"] = "", "", parts
	if r.plan.late > 0 && !st.running {
		r.lag(parts, now)
	}
	done := !st.running
	switch {
	case st.failure != nil:
		v["error"] = st.failure
		done = !o.NotDoneFailed
	case st.stopped:
		done = !o.NotDoneStopped
	}
	v["done"], v["is_stop"] = done, st.stopped
	if done {
		v["extra"].(obj)["endTime"] = r.end().Unix()
		if o.FillContent {
			v["content"] = text
		}
	}
}

// lag cuts the text to what of it a read shows by now.
func (r *response) lag(parts []obj, now time.Time) {
	share := float64(now.Sub(r.end())) / float64(r.plan.late)
	for _, p := range parts {
		if text := p["content"].(string); p["phase"] == "answer" && share < 1 {
			n := int(share * float64(len(text)))
			for n > 0 && !utf8.RuneStart(text[n]) {
				n--
			}
			p["content"] = text[:n]
		}
	}
}

// parts folds the frames that are out into the API's content_list.
func (r *response) parts(st state, o Options) ([]obj, string) {
	parts := []obj{}
	var all strings.Builder
	var last obj
	for _, f := range r.plan.frames[:st.frames] {
		if f.failure != nil || o.HideTyping && st.running {
			break
		}
		if last == nil || last["phase"] != f.phase || f.apart {
			last = obj{"phase": f.phase, "content": "", "role": "assistant", "extra": obj{}, "usage": obj{}}
			parts = append(parts, last)
			all.Reset()
		}
		last["status"] = f.status
		if f.phase == "thinking_summary" {
			last["extra"] = summary(f)
			continue
		}
		if f.cutShort {
			last["extra"] = obj{"finish_reason": "length"}
		}
		if f.extra != nil {
			last["extra"] = f.extra
		}
		all.WriteString(f.text)
		last["content"] = all.String()
	}
	if !st.running && last != nil && r.plan.killed == "" {
		last["status"] = "finished"
	}
	return parts, all.String()
}

func summary(f frame) obj {
	return obj{"summary_title": obj{"content": list(f.titles)}, "summary_thought": obj{"content": list(f.thoughts)}}
}

// planFor works out how the answer to a prompt will come.
func planFor(prompt string, fs faults, o Options) plan {
	b := planner{pace: o.ChunkDelay, at: o.FirstByte}
	if f, ok := fs.get(Pace); ok {
		b.pace = f.Delay
	}
	b.think(prompt)
	if _, ok := fs.get(ThinkingOnly); ok {
		return b.plan
	}
	b.at += o.ThinkingPause
	if f, ok := fs.get(Pause); ok {
		b.at += f.Delay
	}
	text := Answer(prompt)
	if fs.has(Empty) {
		text = ""
	}
	if wish := parseDirectives(prompt).answer; wish == "search" {
		b.search()
	} else if wish == "image" {
		b.add(frame{phase: "image_gen", status: "finished", text: ImageURL, extra: obj{"output_image_hw": []int{1024, 1024}}})
	}
	b.answer(text, o.AnswersMaxFrames)
	if f, ok := fs.get(LateText); ok {
		b.plan.late = f.Delay
	}
	if f, ok := fs.get(Stuck); ok {
		b.keep(2 + f.n(3))
		b.plan.never = true
	}
	if f, ok := fs.get(Killed); ok {
		b.keep(2 + f.n(3))
		b.plan.killed = "The request is ended!"
	}
	if f, ok := fs.get(Continue); ok {
		b.end(2 + f.n(10))
	}
	if f, ok := fs.get(Inspect); ok {
		b.fail(2+f.n(3), obj{"code": "data_inspection_failed", "details": "The content may contain inappropriate material."})
	}
	if f, ok := fs.get(StreamError); ok {
		b.fail(2+f.n(3), obj{"code": "internal_error", "details": "Service busy, too many visits. Try again later."})
	}
	return b.plan
}

type planner struct {
	plan plan
	pace time.Duration
	at   time.Duration
}

func (b *planner) add(f frame) {
	f.at = b.at
	b.at += b.pace
	b.plan.frames = append(b.plan.frames, f)
}

// think adds two thinking frames; the second replaces the first, as on the site.
func (b *planner) think(prompt string) {
	sum := Sum(prompt)
	b.add(frame{phase: "thinking_summary", status: "typing", titles: []string{"Reading"}, thoughts: []string{"The prompt " + sum + " is read."}})
	b.add(frame{phase: "thinking_summary", status: "finished", titles: []string{"Reading", "Planning"},
		thoughts: []string{"The prompt " + sum + " is read.", "This thought is no part of the answer."}})
}

// search adds the frames of a search: the list of what was found grows.
func (b *planner) search() {
	found := []obj{{"url": "https://example.org/one", "title": "The first page", "hostname": "example.org", "snippet": "one"}}
	b.add(frame{phase: "web_search", status: "typing", extra: obj{"web_search_info": found}})
	found = append(found, obj{"url": "https://example.org/two?a=1&b=2", "title": "The [second] page", "hostname": "example.org"})
	b.add(frame{phase: "web_search", status: "finished", extra: obj{"web_search_info": found}})
}

// answer adds the text in at most pieces frames of at least 16 bytes, never
// cutting a character, and the frame that ends the turn.
func (b *planner) answer(text string, pieces int) {
	size := max(16, len(text)/pieces+1)
	for len(text) > 0 {
		n := min(size, len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		b.add(frame{phase: "answer", status: "typing", text: text[:n]})
		text = text[n:]
	}
	b.add(frame{phase: "answer", status: "finished"})
}

// keep drops all but the first n frames, one of text at least.
func (b *planner) keep(n int) {
	if n < len(b.plan.frames) {
		b.plan.frames = b.plan.frames[:n]
	}
	b.at = b.plan.frames[len(b.plan.frames)-1].at + b.pace
}

// end cuts the answer after n frames, at the limit of its length.
func (b *planner) end(n int) {
	if n < len(b.plan.frames) {
		b.plan.rest = slices.Clone(b.plan.frames[n:])
	}
	b.keep(n)
	b.add(frame{phase: "answer", status: "finished", cutShort: true})
}

func (b *planner) fail(n int, failure obj) {
	b.keep(n)
	b.add(frame{failure: failure})
}
