package watch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"watcher/state"
	"watcher/watch/frontmatter"
)

// Prompt is a prompt as it is to be sent.
type Prompt struct {
	// Text is what is sent: the file's text behind its front matter. Sum is its
	// fingerprint, the one that a marker holds.
	state.Prompt
	// Options are what the front matter asks for.
	Options frontmatter.Options
	// Whole is the fingerprint of all of the file's text. Without options it is
	// the same as Sum.
	Whole string
	// Short says why the file is not the one that its own sha256 or bytes speak
	// of; "" when it is, or does not say.
	Short string
}

// Differs reports whether a marker speaks of another text. Other options do not
// count: what was sent is the text.
func (p Prompt) Differs(m state.Marker) bool {
	return m.Prompt != "" && m.Prompt != p.Sum && m.Prompt != p.Whole
}

// Speaks reports whether a failure speaks of this prompt. Of one that was not
// sent it names the whole of the file, so that other options make it void.
func (p Prompt) Speaks(f state.Failure) bool { return f.Prompt == p.Sum || f.Prompt == p.Whole }

// ReadPrompt reads a job's prompt, with its options unless plain: then all of
// the file is text.
//
// Errors: those of [state.Dir.ReadPrompt], where *state.InvalidError also tells
// of options that cannot be obeyed; frontmatter.ErrUnfinished.
func ReadPrompt(dir *state.Dir, name state.Name, plain bool) (Prompt, error) {
	read, err := dir.ReadPrompt(name)
	p := Prompt{Prompt: read, Whole: read.Sum}
	if err != nil || plain {
		return p, err
	}
	parts, err := frontmatter.Split(read.Text)
	var bad *frontmatter.Error
	switch {
	case errors.As(err, &bad):
		return Prompt{}, &state.InvalidError{Name: name, Reason: bad.Error()}
	case err != nil:
		return Prompt{}, fmt.Errorf("read prompt %q: %w", name.File(state.KindPrompt), err)
	case parts.Lines == 0:
		return p, nil
	}
	p.Options, p.Text, p.Sum = parts.Options, parts.Body, state.Fingerprint(parts.Body)
	p.Short = short(p.Options, read.Behind(parts.Lines))
	if strings.TrimSpace(p.Text) == "" {
		return Prompt{}, fmt.Errorf("read prompt %q: %w", name.File(state.KindPrompt), state.ErrEmpty)
	}
	return p, nil
}

// short compares what is behind the front matter with what that says of it.
func short(o frontmatter.Options, behind string) string {
	if n := int64(len(behind)); o.Bytes > 0 && n != o.Bytes {
		return fmt.Sprintf("its upload is not whole: %d bytes are there, and its front matter says %d", n, o.Bytes)
	}
	if sum := sha256.Sum256([]byte(behind)); o.SHA256 != "" && hex.EncodeToString(sum[:]) != o.SHA256 {
		return "its upload is not whole: the text has another sha256 than its front matter says"
	}
	return ""
}
