package qwen

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// needle finds the prompt's text in requests that are not the send.
type needle struct {
	whole   string // with LF only, as all that is compared
	start   string // what a longer text is looked for by; "" for a short one
	escaped string // the start as JSON spells it, without the quotes
}

// A text shorter than this can stand in a request by chance ("normal" is a
// mode of chats). Then only a whole JSON value counts, under a name that texts
// go by. A longer one is looked for by its start.
const (
	needleMin = 16
	needleMax = 200
)

// textKeys are the names that texts go by in JSON.
var textKeys = []string{"content", "text", "prompt", "message", "query", "input", "draft", "value", "body"}

func newNeedle(prompt string) needle {
	n := needle{whole: onlyLF(prompt)}
	start := n.whole
	for len(start) > needleMax || !utf8.ValidString(start) {
		start = start[:min(len(start)-1, needleMax)]
	}
	if len(start) < needleMin {
		return n
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(start) // a string can't fail
	quoted := strings.TrimSpace(b.String())
	n.start, n.escaped = start, quoted[1:len(quoted)-1]
	return n
}

// onlyLF is a text without CRLF: forms are sent with it.
func onlyLF(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// in reports whether a request's address or body carries the text, spelt as
// it is, as JSON, as a form, or escaped in the address.
func (n needle) in(rawURL string, body []byte) bool {
	if u, err := url.Parse(rawURL); err == nil && (n.inForm(u.RawQuery) || n.inText(u.Path)) {
		return true
	}
	if len(body) == 0 {
		return false
	}
	if n.inText(string(body)) || n.inForm(string(body)) {
		return true
	}
	for values := json.NewDecoder(bytes.NewReader(body)); ; {
		var value any
		if values.Decode(&value) != nil {
			return false
		}
		if n.inValue("", value) {
			return true
		}
	}
}

// inText looks for a long text's start.
func (n needle) inText(text string) bool {
	return n.start != "" && (strings.Contains(onlyLF(text), n.start) || strings.Contains(text, n.escaped))
}

// inForm looks through the fields of a query or a form.
func (n needle) inForm(encoded string) bool {
	if n.start == "" {
		return false
	}
	for field := range strings.SplitSeq(encoded, "&") {
		if text, err := url.QueryUnescape(field); err == nil && n.inText(text) {
			return true
		}
	}
	return false
}

// inValue looks through the strings of a JSON value, JSON in strings included.
func (n needle) inValue(key string, value any) bool {
	switch v := value.(type) {
	case string:
		whole := onlyLF(v) == n.whole && (n.start != "" || slices.Contains(textKeys, strings.ToLower(key)))
		return whole || n.inText(v) || n.inQuoted(v)
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return n.inValue(key, one) })
	case map[string]any:
		for name, one := range v {
			if n.inText(name) || n.inValue(name, one) {
				return true
			}
		}
	}
	return false
}

// inQuoted looks into a string that is JSON itself, as wrapped messages are.
func (n needle) inQuoted(text string) bool {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return false
	}
	var value any
	return json.Unmarshal([]byte(text), &value) == nil && n.inValue("", value)
}
