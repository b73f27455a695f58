package qwen

import (
	"cmp"
	"context"
	"fmt"
)

// Thinking is whether a model thinks before it answers.
type Thinking string

// The choices of the page's own control, by what it shows: Auto, Thinking, Fast.
const (
	ThinkingAuto Thinking = "auto"
	ThinkingOn   Thinking = "on"
	ThinkingOff  Thinking = "off"
)

// Search is whether the model may search the web.
type Search string

// On lets the model search, or demands it where the page makes a chat of that
// kind; off keeps it from searching.
const (
	SearchOn  Search = "on"
	SearchOff Search = "off"
)

// choice is what a send must ask beside the model; "" accepts what the page has.
type choice struct {
	thinking Thinking
	search   Search
}

func (o *Options) choice() choice { return choice{o.Thinking, o.Search} }

// wish is what one send must ask: the options, or what the prompt itself says.
type wish struct {
	model string
	choice
	own bool // the model, or how to think, is the prompt's own wish
}

// wish is what a send must ask. An error is the prompt's fault.
func (o *Options) wish(out Outgoing) (wish, error) {
	w := wish{
		model:  firstOf(out.Model, o.Model),
		choice: choice{Thinking(firstOf(out.Thinking, string(o.Thinking))), Search(firstOf(out.Search, string(o.Search)))},
		own:    out.Model != "" || out.Thinking != "",
	}
	return w, w.check()
}

// check refuses what is no choice.
func (c choice) check() error {
	const op = "read the options"
	switch c.thinking {
	case "", ThinkingAuto, ThinkingOn, ThinkingOff:
	default:
		return fail(KindInvalid, op, "thinking %q: it is auto, on or off", c.thinking)
	}
	switch c.search {
	case "", SearchOn, SearchOff:
	default:
		return fail(KindInvalid, op, "search %q: it is on or off", c.search)
	}
	return nil
}

// thinkingNames are the choices as the page shows them in English and as its
// requests name them, in the order of its list.
var thinkingNames = []struct {
	choice Thinking
	name   string
}{{ThinkingAuto, "Auto"}, {ThinkingOn, "Thinking"}, {ThinkingOff, "Fast"}}

// set makes the choices in the page. A control that isn't found is no error: what
// the request asks is seen when it is held.
func (p *page) set(ctx context.Context, c choice) error {
	table := p.client.options.Table
	tab, cancel := p.within(ctx)
	defer cancel()
	tab, cancelTime := context.WithTimeout(tab, modelTimeout)
	defer cancelTime()
	for i, t := range thinkingNames {
		if t.choice != c.thinking {
			continue
		}
		if _, err := call[string](tab, "choose", table, table.Thinking, table.Thoughts, t.name, i); err != nil {
			return fail(KindBrowser, "choose how to think", "%w", err)
		}
	}
	if c.search == "" {
		return nil
	}
	if _, err := call[string](tab, "toggle", table, c.search == SearchOn); err != nil {
		return fail(KindBrowser, "choose whether to search", "%w", err)
	}
	return nil
}

// verify demands the choices of the held request. What it doesn't say, or says
// in two ways, is not what was chosen.
func (c choice) verify(b sendBody) error {
	m := b.Messages[0]
	if got := m.Features.thinking(); c.thinking != "" && got != string(c.thinking) {
		return c.refused("--thinking", string(c.thinking), got)
	}
	if got := m.search(); c.search != "" && got != string(c.search) {
		return c.refused("--search", string(c.search), got)
	}
	return nil
}

// refused is the error of a request that asks something else.
func (c choice) refused(flag, want, got string) error {
	e := fail(KindSiteChanged, "check the request", "the page would ask with %s %s instead of %s", flag, cmp.Or(got, "(not told)"), want)
	e.Advice = fmt.Sprintf("the page's control for it is not understood, or its model can't do that: leave %s away, or choose another model", flag)
	return e
}

// thinking is what a request asks; empty if it doesn't say, or says two things.
//
// Source: requests of 2026. thinking_mode names the choice; Fast is the one
// without thinking. The two switches are older, and may be all that is there.
func (f sendFeatures) thinking() string {
	is := func(b *bool, v bool) bool { return b != nil && *b == v }
	switch f.Mode {
	case "Auto":
		if !is(f.AutoThinking, false) {
			return string(ThinkingAuto)
		}
	case "Thinking":
		if !is(f.Thinking, false) && !is(f.AutoThinking, true) {
			return string(ThinkingOn)
		}
	case "Fast":
		if !is(f.Thinking, true) && !is(f.AutoThinking, true) {
			return string(ThinkingOff)
		}
	case "":
		switch {
		case is(f.AutoThinking, true):
			return string(ThinkingAuto)
		case is(f.Thinking, true):
			return string(ThinkingOn)
		case is(f.Thinking, false):
			return string(ThinkingOff)
		}
	}
	return ""
}

// search is what a request asks; empty if it doesn't say.
func (m sendMessage) search() string {
	switch {
	case m.Type == "search" || m.SubType == "search" || m.Features.Search != nil && *m.Features.Search:
		return string(SearchOn)
	case m.Features.Search != nil:
		return string(SearchOff)
	}
	return ""
}
