package frontmatter

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// names are the keys that are known.
var names = []string{"model", "thinking", "search", "chat", "attach", "engine", "sha256", "bytes", "not-before", "expire"}

// options obeys the pairs. known is how many keys are ours; with an error, too.
func options(pairs []pair) (o Options, known int, err error) {
	seen := map[string]int{}
	note := func(line int, format string, a ...any) {
		if err == nil {
			err = &Error{line, fmt.Sprintf(format, a...)}
		}
	}
	for _, p := range pairs {
		if p.key == "" || !slices.Contains(names, p.key) {
			note(p.line, "there is no option %q; there are %s", shown(p), strings.Join(names, ", "))
			continue
		}
		known++
		if seen[p.key] > 0 {
			note(p.line, "%s stands there twice, first in line %d", p.key, seen[p.key])
			continue
		}
		seen[p.key] = p.line
		if reason := o.set(p); reason != "" {
			note(p.line, "%s: %s", p.key, reason)
		}
	}
	return o, known, err
}

// shown is a key for a message.
func shown(p pair) string {
	if len(p.key) > 40 {
		return strings.ToValidUTF8(p.key[:40], "") + "…"
	}
	return p.key
}

// set obeys one key; the reason says why it cannot be.
func (o *Options) set(p pair) (reason string) {
	if p.key == "attach" {
		o.Attach, reason = attach(p.value)
		return reason
	}
	v, reason := scalar(p.value)
	if reason != "" {
		return reason
	}
	switch p.key {
	case "model":
		o.Model = v
		if id := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(v)), " ", "-"); id != v {
			return fmt.Sprintf("name it by its id, which is in lower case: %s", id)
		}
	case "thinking":
		o.Thinking = v
		return oneOf(v, "auto", "on", "off")
	case "search":
		o.Search = v
		return oneOf(v, "on", "off")
	case "engine":
		o.Engine = v
		return oneOf(v, EngineChat, EngineRouter)
	case "chat":
		o.Chat = v
	case "sha256":
		if o.SHA256 = strings.ToLower(v); !sha256Form.MatchString(o.SHA256) {
			return "it is 64 hex digits"
		}
	case "bytes":
		return o.setBytes(v)
	case "not-before":
		return o.setNotBefore(v)
	case "expire":
		return o.setExpire(v)
	}
	return ""
}

var sha256Form = regexp.MustCompile(`^[0-9a-f]{64}$`)

func oneOf(v string, list ...string) (reason string) {
	if slices.Contains(list, v) {
		return ""
	}
	return fmt.Sprintf("it is %s, not %q", strings.Join(list, " or "), v)
}

// maxAttach is how many files one prompt may bring.
const maxAttach = 32

// attach are paths that cannot lead out of the folder by what they say. What is
// there is looked at later.
func attach(n ast.Node) (list []string, reason string) {
	list, reason = scalars(n)
	switch {
	case reason != "":
		return nil, reason
	case len(list) == 0:
		return nil, "it names no file"
	case len(list) > maxAttach:
		return nil, fmt.Sprintf("it names %d files and %d is the most", len(list), maxAttach)
	}
	for i, file := range list {
		switch {
		case path.IsAbs(file):
			return nil, fmt.Sprintf("%q is absolute; files are named relative to the prompt's folder", file)
		case slices.Contains(strings.Split(file, "/"), ".."):
			return nil, fmt.Sprintf("%q leads out of the prompt's folder", file)
		case path.Clean(file) != file || file == ".":
			return nil, fmt.Sprintf("%q is not the plain path of a file", file)
		case slices.Contains(list[:i], file):
			return nil, fmt.Sprintf("%q stands there twice", file)
		}
	}
	return list, ""
}

func (o *Options) setBytes(v string) (reason string) {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n <= 0 {
		return "it is a number of bytes, 1 or more"
	}
	o.Bytes = n
	return ""
}

// timeForms are the ways to write a time; those without a zone are local.
var timeForms = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly}

func (o *Options) setNotBefore(v string) (reason string) {
	for _, form := range timeForms {
		if t, err := time.ParseInLocation(form, v, time.Local); err == nil {
			o.NotBefore = t
			return ""
		}
	}
	return "it is a time such as 2026-12-24 08:00 (local) or 2026-12-24T08:00:00Z"
}

func (o *Options) setExpire(v string) (reason string) {
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		return "it is a duration such as 90m or 48h"
	}
	o.Expire = d
	return ""
}
