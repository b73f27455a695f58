package frontmatter

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Options are what a prompt asks for. The zero value of each asks for nothing.
type Options struct {
	Model    string // the site's id of a model, lower case
	Thinking string // auto, on or off
	Search   string // on or off
	// Chat is the chat to continue: a job's name, the path of its prompt
	// relative to this one's folder, or an address.
	Chat   string
	Attach []string // files that go with the text, relative to the folder
	Engine string   // EngineChat, EngineRouter
	// SHA256 (64 hex digits, lower case) and Bytes are of the file's bytes
	// behind the front matter, by which a whole upload is known.
	SHA256    string
	Bytes     int64         // 0: not given
	NotBefore time.Time     // not to be sent earlier
	Expire    time.Duration // without an answer for so long it has failed
}

// The engines.
const (
	EngineChat   = "chat"   // the web chat, and no other
	EngineRouter = "router" // the fallback engine, and not the web chat
)

// IsZero reports whether nothing is asked for.
func (o Options) IsZero() bool {
	return o.Model == "" && o.Thinking == "" && o.Search == "" && o.Chat == "" && len(o.Attach) == 0 &&
		o.Engine == "" && o.SHA256 == "" && o.Bytes == 0 && o.NotBefore.IsZero() && o.Expire == 0
}

// Parsed is a text, taken apart.
type Parsed struct {
	Options Options
	Body    string // what is sent
	Lines   int    // of the front matter, both "---" included; 0: there is none
}

// ErrUnfinished says that a front matter was begun and not closed.
var ErrUnfinished = errors.New("its front matter has no closing --- line so far")

// Error is a front matter that cannot be obeyed.
type Error struct {
	Line   int    // of the text, from 1
	Reason string // what is wrong there
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d of its front matter: %s; to send these lines as text put an empty line above them, "+
		"or use --front-matter=off", e.Line, e.Reason)
}

// maxHead bounds the options in bytes. More is no front matter, and a parser of
// YAML is not asked about it.
const maxHead = 16 << 10

// Split takes a text apart, as package state gives it: lines end in "\n", and
// there is no byte order mark. Times without a zone are in the local one.
//
// Errors: ErrUnfinished, *Error.
func Split(text string) (Parsed, error) {
	plain := Parsed{Body: text}
	head, body, lines := cut(text)
	if lines == 0 {
		if unfinished(text) {
			return Parsed{}, ErrUnfinished
		}
		return plain, nil
	}
	at := keyLine(head)
	if len(head) > maxHead {
		if at == 0 {
			return plain, nil
		}
		return Parsed{}, &Error{at, fmt.Sprintf("the front matter is longer than %d KiB", maxHead>>10)}
	}
	pairs, err := mapping(head)
	if err != nil {
		// No mapping: Markdown, if no line of it looks like one of ours.
		if at == 0 {
			return plain, nil
		}
		return Parsed{}, &Error{at, err.Error()}
	}
	o, known, err := options(pairs)
	switch {
	case known == 0:
		return plain, nil
	case err != nil:
		return Parsed{}, err
	}
	return Parsed{Options: o, Body: body, Lines: lines}, nil
}

// cut finds the lines between two rules, and what is behind them. lines is how
// many there are with both rules; 0 when the text does not begin like that.
func cut(text string) (head, body string, lines int) {
	line, rest, more := strings.Cut(text, "\n")
	if !more || !isRule(line) {
		return "", "", 0
	}
	lines = 1
	for at := 0; ; {
		line, _, more := strings.Cut(rest[at:], "\n")
		lines++
		if isRule(line) {
			return rest[:at], rest[min(at+len(line)+1, len(rest)):], lines
		}
		if !more {
			return "", "", 0
		}
		at += len(line) + 1
	}
}

// isRule takes white space behind the rule, which nobody sees.
func isRule(line string) bool { return strings.TrimRight(line, " \t") == "---" }

// ours is a line that begins with one of the keys.
var ours = regexp.MustCompile(`^["']?(` + strings.Join(names, "|") + `)["']?[ \t]*:([ \t]|$)`)

// keyLine is the number of the first line that begins with a known key, counted
// in the text, whose first line is the rule; 0 when there is none.
func keyLine(head string) int {
	n := 1
	for line := range strings.SplitSeq(head, "\n") {
		if n++; ours.MatchString(line) {
			return n
		}
	}
	return 0
}

// unfinished reports whether a text looks like a front matter that breaks off:
// behind the rule nothing but known keys and what belongs to them. The last
// line may be the beginning of one.
func unfinished(text string) bool {
	first, rest, _ := strings.Cut(text, "\n")
	if !isRule(first) || len(rest) > maxHead {
		return false
	}
	known := false
	for line := range strings.SplitSeq(rest, "\n") {
		switch {
		case ours.MatchString(line):
			known = true
		case line == "" || strings.ContainsRune(" \t#", rune(line[0])) || known && strings.HasPrefix(line, "-"):
		case known && beginsKey(line) && strings.HasSuffix(rest, "\n"+line):
		default:
			return false
		}
	}
	return known
}

func beginsKey(line string) bool {
	for _, name := range names {
		if strings.HasPrefix(name+":", line) {
			return true
		}
	}
	return false
}
