package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"watcher/state"
)

// fail writes the .md.err and makes the job's failure the report's. marker is
// the one that stands beside it; nil if none does.
func (c *courier) fail(r *report, t *trouble, prompt string, marker *state.Marker, partial string) {
	f := state.Failure{
		Sentence: sentence(t),
		Class:    t.class,
		Prompt:   prompt,
		When:     time.Now(),
		Command:  command(&r.order, t, marker),
		Partial:  partial,
	}
	if marker != nil {
		f.Address = marker.Address
	}
	c.ending(&r.order, EventFailed, t.class)
	err := r.order.dir.WriteError(r.order.name, f)
	if err != nil && !errors.Is(err, state.ErrExists) {
		r.trouble, r.folder = diskTrouble(err), true
		return
	}
	r.failed, r.wrote = t, true
}

// failSent is fail for a job whose marker stands.
func (c *courier) failSent(r *report, t *trouble, partial string) {
	m := r.order.marker
	c.fail(r, t, m.Prompt, &m, partial)
}

// command is what to type to go on, or where only a new send can help, to send
// again. What a marker says is never thrown away by it.
func command(o *order, t *trouble, marker *state.Marker) string {
	file := func(k state.Kind) string { return Quote(filepath.Join(o.dir.Path(), o.name.File(k))) }
	goOn := "rm -- " + file(state.KindError)
	switch {
	case marker == nil: // the job is New then
		return goOn
	case marker.Address == "": // there is nothing in it to be lost
		return goOn + " " + file(state.KindMarker)
	case !t.again:
		return goOn
	case marker.By == "": // so a .retry finds nobody who may obey it
		return "watcher retry --force -- " + file(state.KindPrompt)
	}
	return "touch -- " + file(state.KindRetry)
}

func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// sentence is a trouble on one line, with what can be done.
func sentence(t *trouble) string {
	s := strings.TrimSpace(strings.ReplaceAll(t.text, "\n", " "))
	if t.hint != "" {
		s += "; " + t.hint
	}
	return s
}

// Quote makes a path one word of a POSIX shell, or of bash where it holds
// bytes that no terminal shows.
func Quote(path string) string {
	if utf8.ValidString(path) && !strings.ContainsFunc(path, unicode.IsControl) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(path) {
		switch ch := path[i]; {
		case ch == '\'' || ch == '\\':
			b.WriteString(`\` + string(rune(ch)))
		case ch < ' ' || ch >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, ch)
		default:
			b.WriteByte(ch)
		}
	}
	return b.String() + "'"
}
