package qwentest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Entry is what the site knows of one prompt.
type Entry struct {
	Prompt     string   // sha256 of its text, hexadecimal
	Size       int      // bytes of its text
	Posted     int      // bodies with it, whole or in part, that reached the completions endpoint
	Partial    int      // of these, cut bodies; their text is a beginning of this one
	Accepted   int      // times it became a message of a chat
	ChatIDs    []string // the chats it was posted to, in order, each once
	Elsewhere  []string // paths of other requests whose body held it or a beginning of it
	RequestIDs []string // X-Request-Id of the posted bodies, in order
	Times      []time.Time
}

// Report is the ledger with what belongs to no prompt.
type Report struct {
	Entries    []Entry
	Unread     int      // sends whose body the site did not read (unread-rst, unread-fin)
	Violations []string // requests no client should make, such as deleting all chats
}

// Request is a line of the request log.
type Request struct {
	Time       time.Time
	Method     string
	Path       string // with the query
	Proto      string
	Status     int // 0 while it runs and when the connection was cut
	Connection int64
	Reused     bool // the connection had served a request before
	RequestID  string
	Fault      string // kinds of the faults that struck, by comma

	order int64 // of the request on its connection, from 1
}

// Asked is what the last message with a text that was accepted asked for.
type Asked struct {
	Model    string
	Thinking string // Auto, Thinking or Fast
	Search   bool
}

// Asked returns what the message with a prompt's text asked for; all zero when
// none was accepted.
func (s *Site) Asked(prompt string) Asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.asked[prompt]
}

type posted struct {
	text, chat, requestID string
	partial               bool
	at                    time.Time
}

type ledger struct {
	posts      []posted
	accepted   map[string]int // text -> messages
	asked      map[string]Asked
	taken      []string          // the texts that became messages, in order
	files      map[string][]File // text -> what came with it
	goneOn     []string          // of the requests to go on with an answer: the prompts of its chat
	elsewhere  []posted          // chat holds the path
	unread     int
	violations []string
}

// ClearLedger forgets what the site received; its chats stay.
func (s *Site) ClearLedger() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ledger = ledger{accepted: map[string]int{}}
}

// memory is how many lines of a log are kept, at least.
const memory = 50_000

// trimmed drops the older half of a log that grew too long.
func trimmed[T any](log []T) []T {
	if len(log) < 2*memory {
		return log
	}
	return slices.Clone(log[len(log)-memory:])
}

func (s *Site) logRequest(r *http.Request) *Request {
	c := connectionOf(r)
	used := c.used.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	line := &Request{
		Time: s.now(), Method: r.Method, Path: r.URL.RequestURI(), Proto: r.Proto,
		Connection: c.id, Reused: used > 1, RequestID: r.Header.Get("X-Request-Id"), order: used,
	}
	s.requests = append(trimmed(s.requests), line)
	return line
}

// meets writes down the faults that strike a call, before they do.
func (c *call) meets(fs faults) {
	c.faults = fs
	c.site.mu.Lock()
	defer c.site.mu.Unlock()
	c.line.Fault = fs.names()
}

// Requests returns the log of all requests, oldest first. Those under
// /_rehearsal are not in it.
func (s *Site) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Request
	for _, line := range s.requests {
		out = append(out, *line)
	}
	return out
}

// notePost writes down a body at the completions endpoint, before anything
// else is done with it.
func (s *Site) notePost(r *http.Request, raw []byte, partial bool) (texts []string) {
	var body sendBody
	if json.Unmarshal(raw, &body) == nil {
		for _, m := range body.Messages {
			texts = append(texts, m.Content)
		}
	} else if text, ok := beginning(raw); ok {
		texts, partial = append(texts, text), true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range texts {
		s.ledger.posts = append(s.ledger.posts, posted{
			text: text, chat: r.URL.Query().Get("chat_id"), requestID: r.Header.Get("X-Request-Id"),
			partial: partial, at: s.now(),
		})
	}
	return texts
}

// noteElsewhere writes down the strings in the body of another request.
func (s *Site) noteElsewhere(path string, raw []byte) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	eachString(v, func(text string) {
		s.ledger.elsewhere = append(trimmed(s.ledger.elsewhere), posted{text: text, chat: path})
	})
}

func eachString(v any, do func(string)) {
	switch v := v.(type) {
	case string:
		do(v)
	case []any:
		for _, e := range v {
			eachString(e, do)
		}
	case map[string]any:
		for _, e := range v {
			eachString(e, do)
		}
	}
}

// beginning reads the first message's text from a cut body.
func beginning(raw []byte) (string, bool) {
	_, rest, ok := strings.Cut(string(raw), `"content":"`)
	if !ok {
		return "", false
	}
	for i := 0; i < len(rest); i++ {
		if rest[i] == '"' { // the text is whole, the cut comes later
			rest = rest[:i]
		} else if rest[i] == '\\' {
			i++
		}
	}
	for end := len(rest); end >= 0 && end > len(rest)-12; end-- { // a cut escape is at most 12 bytes long
		var text string
		if json.Unmarshal([]byte(`"`+rest[:end]+`"`), &text) == nil {
			return text, true
		}
	}
	return "", false
}
