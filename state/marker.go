package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Stage is how far the sending of a prompt is known to have come.
type Stage string

// The stages. There is none that means "it never left": an older marker can
// come back with rsync, git or a backup, and must not allow a send.
const (
	StageReleased Stage = "released" // it may have left
	StageSent     Stage = "sent"     // it left, or nobody knows better
)

// Marker is what NAME.md.url holds: the chat's address, and in the address's
// fragment, which a browser ignores, what this program needs to go on.
type Marker struct {
	Address string // the chat, without a fragment; "" when it is not known
	Prompt  string // Fingerprint of the text that was sent
	By      string // the owner: the only one who may ever send this job again
	Stage   Stage
	At      int64  // unix seconds of the commit; 0 when unknown. Never a reason to send
	After   string // in a continued chat: the assistant message that ours follows
	Message string // the site's id of our message, once it is known

	// Engine is "" for the chat, else the other engine that was asked. The
	// address is then that engine's: it leads to no chat and no answer.
	Engine  string
	Instead string // with Engine: the chat that had the prompt first, and failed
}

// Fingerprint is the first 16 hex digits of the text's sha256.
func Fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// String is the marker as its file holds it: one line, newline included.
func (m Marker) String() string {
	var b strings.Builder
	b.WriteString(m.Address)
	sep := byte('#')
	put := func(key, value string) {
		if value != "" {
			b.WriteByte(sep)
			b.WriteString(key + "=" + url.QueryEscape(value))
			sep = '&'
		}
	}
	put("engine", m.Engine) // first: a cut one must not pass for a chat's
	put("prompt", m.Prompt)
	put("by", m.By)
	put("stage", string(m.Stage))
	if m.At != 0 {
		put("at", strconv.FormatInt(m.At, 10))
	}
	put("after", m.After)
	put("message", m.Message)
	put("instead", m.Instead)
	b.WriteByte('\n')
	return b.String()
}

// line is String, refusing a marker that would not be read back as it is.
func (m Marker) line() ([]byte, error) {
	b := []byte(m.String())
	if m.Address == "" || ParseMarker(b) != m {
		return nil, fmt.Errorf("write marker: %q cannot be written as one line and read back", string(b))
	}
	return b, nil
}

var (
	wholeChat   = regexp.MustCompile(`/[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	fingerprint = regexp.MustCompile(`^[0-9a-f]{16}$`)
)

// ParseMarker reads a marker. It never fails, and in every doubt it says
// "sent", since only StageReleased can, after long checks, lead to a second
// send. That stage needs one whole line, ending in a newline, in which every
// key stands once and the prompt and the owner are given.
//
// It also takes an address alone (somebody else's script wrote it), white
// space and a byte order mark around it, and more words behind it. A file that
// is empty, cut within the address or not text gives an empty Address: sent,
// but nobody knows where to. Whether an address may be opened is not for this
// package to say.
func ParseMarker(b []byte) Marker {
	sent := Marker{Stage: StageSent}
	b = bytes.TrimLeftFunc(bytes.TrimPrefix(b, []byte("\uFEFF")), unicode.IsSpace)
	end := bytes.IndexFunc(b, unicode.IsSpace)
	if end < 0 {
		end = len(b)
	}
	word, tail := string(b[:end]), b[end:]
	if word == "" || !utf8.ValidString(word) || strings.ContainsFunc(word, unicode.IsControl) {
		return sent
	}
	address, fragment, hash := strings.Cut(word, "#")
	if !hash && len(tail) == 0 && !wholeChat.MatchString(address) {
		return sent // it may have been cut within the address
	}
	m, clear := parseFragment(fragment)
	m.Address = address
	whole := bytes.IndexByte(tail, '\n') >= 0 && len(bytes.TrimSpace(tail)) == 0
	if !whole || !clear || address == "" || m.By == "" || !fingerprint.MatchString(m.Prompt) ||
		m.Stage != StageReleased {
		m.Stage = StageSent
	}
	return m
}

// parseFragment reads the keys of a fragment; unknown ones are left out. clear
// says that each was readable and stood there once.
func parseFragment(fragment string) (m Marker, clear bool) {
	clear = true
	seen := map[string]bool{}
	for _, pair := range strings.Split(fragment, "&") {
		key, raw, _ := strings.Cut(pair, "=")
		value, err := url.QueryUnescape(raw)
		clear = clear && err == nil && !seen[key]
		seen[key] = true
		switch key {
		case "prompt":
			m.Prompt = value
		case "by":
			m.By = value
		case "stage":
			m.Stage = Stage(value)
		case "at":
			m.At, err = strconv.ParseInt(value, 10, 64)
			clear = clear && err == nil
		case "after":
			m.After = value
		case "message":
			m.Message = value
		case "engine":
			m.Engine = value
		case "instead":
			m.Instead = value
		}
	}
	return m, clear
}
