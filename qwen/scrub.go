package qwen

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// scrubber removes secrets from texts that are kept: those it was told, and
// whatever has the shape of a token, an e-mail address or a header that carries
// one.
type scrubber struct {
	words   []string
	windows map[string]bool // every few letters in a row of a long text
}

// A word must be as long as this to be looked for: a shorter one tells nothing
// and would black out what has nothing to do with it.
const (
	secretMin  = 4
	secretMost = 5000 // so many words
	windowSize = 12   // bytes of a text that are enough to know it by
)

// newScrubber knows these secrets, each as a whole and line by line, and the
// prompt by any part of it.
func newScrubber(prompt string, secrets ...string) *scrubber {
	s := &scrubber{windows: map[string]bool{}}
	prompt = oneLine(prompt, len(prompt))
	for i := range max(0, len(prompt)-windowSize+1) {
		s.windows[prompt[i:i+windowSize]] = true
	}
	s.add(prompt)
	s.add(secrets...)
	return s
}

func (s *scrubber) add(secrets ...string) {
	for _, secret := range secrets {
		s.words = append(s.words, secret)
		for line := range strings.Lines(secret) {
			s.words = append(s.words, strings.TrimSpace(line), oneLine(line, len(line)))
		}
	}
	s.words = slices.DeleteFunc(s.words, func(w string) bool { return len(w) < secretMin })
	slices.SortFunc(s.words, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	s.words = slices.Compact(s.words)
	s.words = s.words[:min(len(s.words), secretMost)]
}

// shapes are what is a secret by its look.
var shapes = []*regexp.Regexp{
	regexp.MustCompile(`\beyJ[\w-]+(\.[\w-]+)*`),                               // a JWT, whole or cut
	regexp.MustCompile(`[\w-]{16,}\.[\w-]{16,}\.[\w-]{16,}`),                   // another token in three parts
	regexp.MustCompile(`[\w.+%-]+(@|%40)[\w-]+(\.[\w-]+)+`),                    // an e-mail address
	regexp.MustCompile(`(?i)\b(bearer|basic)\s+[\w.~+/=-]+`),                   // a header's value
	regexp.MustCompile(`(?i)\b(authorization|(set-)?cookie)\b"?\s*[:=][^\n]*`), // a header
	regexp.MustCompile(`(?i)\b(token|x5secdata|x5step|key|sign|signature|password)=[^&\s"']+`),
}

// text is the text without its secrets.
func (s *scrubber) text(text string) string {
	for _, w := range s.words {
		for _, spelt := range spellings(w) {
			if strings.Contains(text, spelt) {
				text = strings.ReplaceAll(text, spelt, hidden(w))
			}
		}
	}
	for _, shape := range shapes {
		text = shape.ReplaceAllStringFunc(text, hidden)
	}
	return text
}

// line is one line without its secrets; with any part of the prompt in it, it
// is gone as a whole.
func (s *scrubber) line(line string) string {
	line = s.text(line)
	for i := range max(0, len(line)-windowSize+1) {
		if s.windows[line[i:i+windowSize]] {
			return hidden(line)
		}
	}
	return line
}

// lines is line for each line.
func (s *scrubber) lines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		fmt.Fprintln(&b, s.line(oneLine(line, len(line))))
	}
	return b.String()
}

func hidden(secret string) string { return fmt.Sprintf("[%d hidden]", utf8.RuneCountInString(secret)) }

// spellings are the ways in which a text stands in other texts.
func spellings(w string) []string {
	quoted, _ := json.Marshal(w) // a string can't fail
	return []string{w, string(quoted[1 : len(quoted)-1]), html.EscapeString(w), url.QueryEscape(w), url.PathEscape(w)}
}

// keptKeys are the names in the site's replies whose texts say what went wrong,
// or what a thing is. All other texts are hidden: they may be a person's.
var keptKeys = map[string]bool{"code": true, "details": true, "detail": true, "message": true, "ret": true, "msg": true, "status": true,
	"phase": true, "role": true, "type": true, "object": true, "chat_type": true, "chat_mode": true, "sub_chat_type": true, "action": true,
	"id": true, "chat_id": true, "parent_id": true, "parentId": true, "response_id": true, "currentId": true, "request_id": true,
	"model": true, "cdn_version": true, "error": true, "errors": true, "token_type": true}

// reply is a reply's body fit to be kept: JSON and frames of JSON without
// texts that may be a person's, anything else by its size only.
func (s *scrubber) reply(body string) string {
	trimmed := strings.TrimSpace(body)
	if v, ok := decodeAny(trimmed); ok {
		return s.text(encodeAny(hideTexts(v, false)))
	}
	var b strings.Builder
	for line := range strings.Lines(trimmed) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:")
		if v, isJSON := decodeAny(strings.TrimSpace(data)); ok && isJSON {
			fmt.Fprintf(&b, "data: %s\n", s.text(encodeAny(hideTexts(v, false))))
		}
	}
	if b.Len() > 0 {
		return b.String()
	}
	if trimmed == "" {
		return "(empty)"
	}
	marks := ""
	for _, mark := range []string{"aliyun_waf", "waf_nc", "_____tmd_____", "<html", "baxia"} {
		if strings.Contains(strings.ToLower(trimmed), mark) {
			marks += " " + mark
		}
	}
	return fmt.Sprintf("(not JSON: %d bytes; marks in it:%s)", len(body), firstOf(marks, " none"))
}

func decodeAny(text string) (v any, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return v, (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && d.Decode(&v) == nil
}

func encodeAny(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // it was decoded from JSON
	return strings.TrimSpace(b.String())
}

// hideTexts puts its length in the place of each text but those under a key
// that is kept.
func hideTexts(v any, kept bool) any {
	switch v := v.(type) {
	case string:
		if kept && utf8.RuneCountInString(v) <= 300 {
			return v
		}
		return hidden(v)
	case []any:
		for i := range v {
			v[i] = hideTexts(v[i], kept)
		}
	case map[string]any:
		for key := range v {
			v[key] = hideTexts(v[key], keptKeys[key])
		}
	}
	return v
}

// personal are the texts in a reply that may show elsewhere on the page: chats'
// titles and contents, names and addresses.
func personal(body string) (texts []string) {
	var walk func(v any, mine bool)
	walk = func(v any, mine bool) {
		switch v := v.(type) {
		case string:
			if mine {
				texts = append(texts, v)
			}
		case []any:
			for _, one := range v {
				walk(one, mine)
			}
		case map[string]any:
			for key, one := range v {
				walk(one, slices.Contains([]string{"content", "title", "email", "token", "reasoning_content", "summary", "filename"}, key))
			}
		}
	}
	for line := range strings.Lines(strings.TrimSpace(body)) {
		if v, ok := decodeAny(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "data:"))); ok {
			walk(v, false)
		}
	}
	return texts
}
