package qwen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The phases of an answer's parts that are shown to its reader. All others are
// work on the way: thinking, searches, tools.
//
// Source of the names and shapes in this file: clients of 2026 that read the
// stream and the chat.
const (
	phaseAnswer    = "answer"
	phaseImage     = "image_gen"      // content: the image's address
	phaseImageTool = "image_gen_tool" // extra.image_list[].image: addresses
	phaseSlides    = "slides"         // extra.slides.pdf_url
)

// partExtra is what a part carries beside its text.
type partExtra struct {
	Images []struct {
		Image string `json:"image"`
	} `json:"image_list"`
	Slides struct {
		PDF string `json:"pdf_url"`
	} `json:"slides"`
	Found  []source        `json:"web_search_info"`
	Tool   json.RawMessage `json:"tool_result"`
	Reason word            `json:"finish_reason"`
}

// extra is what a part carries, as far as it is understood.
func (p part) extra() (e partExtra) {
	_ = json.Unmarshal(p.Extra, &e)
	return e
}

// shown reports whether the part is one that its reader sees.
func (p part) shown() bool {
	switch p.Phase {
	case phaseAnswer, phaseImage, phaseImageTool, phaseSlides:
		return true
	}
	return false
}

// links are the part's images and files as Markdown. Their addresses hold a key
// of the site's that expires.
func (p part) links() (links []string) {
	add := func(format, address string) {
		address = strings.TrimSpace(address)
		if !isWeb(address) || strings.ContainsAny(address, " \t\r\n<>()\"") {
			return
		}
		links = append(links, fmt.Sprintf(format, address))
	}
	switch e := p.extra(); p.Phase {
	case phaseImage:
		add("![](%s)", p.Content)
	case phaseImageTool:
		for _, one := range e.Images {
			add("![](%s)", one.Image)
		}
	case phaseSlides:
		add("[slides](%s)", e.Slides.PDF)
	}
	return links
}

// isWeb reports whether an address is one that a reader's link may lead to.
func isWeb(address string) bool {
	return strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://")
}

// answer is the answer's Markdown: the parts of phase "answer" in order, with
// the images and files between them that the text doesn't link itself, or the
// content where there are no parts at all. Thinking never gets in.
func (m message) answer() string {
	if len(m.Parts) == 0 {
		return m.text()
	}
	var text strings.Builder
	for _, p := range m.Parts {
		if p.Phase == phaseAnswer {
			text.WriteString(p.Content)
		}
	}
	var b strings.Builder
	apart := false // what follows begins a paragraph
	for _, p := range m.Parts {
		if p.Phase == phaseAnswer && p.Content != "" {
			if apart {
				b.WriteString("\n\n")
			}
			b.WriteString(p.Content)
			apart = false
		}
		for _, link := range p.links() {
			if strings.Contains(text.String(), strings.TrimSuffix(link[strings.Index(link, "(")+1:], ")")) {
				continue
			}
			if b.Len() > 0 {
				b.WriteString("\n\n")
			}
			b.WriteString(link)
			apart = true
		}
	}
	return b.String()
}

// outputMost is how many tokens an answer has at most, thinking included: the
// max_summary_generation_length of every model in the site's own list.
const outputMost = 65_536

// cutShort reports whether the site ended the answer at its length limit, where
// its page offers a button to go on: it says so, or the count of tokens is at the
// limit. Of several parts of text the last one counts: an answer that went on has
// more of them.
func (m message) cutShort() bool {
	reason := func(raw json.RawMessage) word {
		var e partExtra
		_ = json.Unmarshal(raw, &e)
		return e.Reason
	}
	reasons := []word{m.Reason, reason(m.Extra), reason(m.Meta)}
	var last part
	for _, p := range m.Parts {
		if p.Phase == phaseAnswer {
			last = p
		}
	}
	var usage struct {
		Output float64 `json:"output_tokens"`
	}
	_ = json.Unmarshal(last.Usage, &usage)
	reasons = append(reasons, last.Reason, reason(last.Extra))
	return usage.Output >= outputMost || slices.ContainsFunc(reasons, func(r word) bool {
		return r == "length" || r == "max_tokens" || r == "max_length"
	})
}

// followedBy is the answer with the message that goes on with it: one text, which
// is whole when both are.
func (m message) followedBy(next message) message {
	m.Parts = append(slices.Clone(m.parts()), next.parts()...)
	m.Reasoning += next.Reasoning
	m.Done, m.Stopped = m.Done && next.Done, m.Stopped || next.Stopped
	m.Reason, m.Extra, m.Meta = next.Reason, next.Extra, next.Meta
	if !m.failed() {
		m.Error = next.Error
	}
	return m
}

// parts are the message's parts; a content without parts is one.
func (m message) parts() []part {
	if len(m.Parts) > 0 || m.text() == "" {
		return m.Parts
	}
	status := "typing"
	if m.Done {
		status = "finished"
	}
	return []part{{Content: m.text(), Phase: phaseAnswer, Status: status}}
}

// source is a page that a search found.
type source struct {
	URL   string `json:"url"`
	Title string `json:"title"`
}

// sources are the pages that the answer's searches found, in the order that its
// marks [[1]], [[2]], … count them. The list of a search grows with each frame,
// so one that begins as the list so far takes its place.
func (m message) sources() (all []source) {
	for _, p := range m.Parts {
		e := p.extra()
		found := e.Found
		var tool struct {
			Docs []source `json:"docs"`
		}
		switch {
		case len(found) > 0:
		case json.Unmarshal(e.Tool, &tool) == nil:
			found = tool.Docs
		default:
			_ = json.Unmarshal(e.Tool, &found)
		}
		same := func(a, b source) bool { return a.URL == b.URL }
		if len(found) >= len(all) && slices.EqualFunc(found[:len(all)], all, same) {
			all = nil
		}
		all = append(all, found...)
	}
	return all
}

// sourceList is the sources as Markdown, to stand at the answer's end; empty if
// there are none.
func (m message) sourceList() string {
	var b strings.Builder
	for i, s := range m.sources() {
		if i == 0 {
			b.WriteString("\n\n## Sources\n\n")
		}
		title := oneLine(firstOf(s.Title, s.URL), 200)
		title = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`).Replace(title)
		if !isWeb(s.URL) {
			fmt.Fprintf(&b, "%d. %s\n", i+1, title) // its number counts
			continue
		}
		address := strings.NewReplacer("<", "%3C", ">", "%3E", "\n", "", "\r", "").Replace(s.URL)
		fmt.Fprintf(&b, "%d. [%s](<%s>)\n", i+1, title, address)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
