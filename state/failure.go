package state

import (
	"strings"
	"time"
)

// Failure is what NAME.md.err holds: a job that failed for good.
type Failure struct {
	Sentence string    // for a person, one line
	Class    string    // design's failure class: "invalid", "filtered", …
	Prompt   string    // Fingerprint of the text that failed
	Address  string    // the chat, when there is one
	When     time.Time // to the second
	Command  string    // the exact command to go on or to resend
	Partial  string    // what could be read of an unfinished answer
}

// String is the failure as its file holds it.
func (f Failure) String() string {
	var b strings.Builder
	line := func(key, value string) {
		if value = oneLine(value); value != "" {
			b.WriteString(key + value + "\n")
		}
	}
	b.WriteString(oneLine(f.Sentence) + "\n")
	line("class: ", f.Class)
	line("prompt: ", f.Prompt)
	line("address: ", f.Address)
	if !f.When.IsZero() {
		line("when: ", f.When.UTC().Format(time.RFC3339))
	}
	line("", f.Command)
	if f.Partial != "" {
		b.WriteString("\n" + f.Partial)
	}
	return b.String()
}

// oneLine keeps a value from breaking the file's form.
func oneLine(s string) string {
	return strings.TrimSpace(strings.NewReplacer("\r", " ", "\n", " ").Replace(s))
}

// ParseFailure reads a failure. It never fails: a file that somebody wrote by
// hand gives what can be found in it, its first line as the sentence.
func ParseFailure(b []byte) Failure {
	head, partial, _ := strings.Cut(string(b), "\n\n")
	lines := strings.Split(head, "\n")
	f := Failure{Sentence: strings.TrimSpace(lines[0]), Partial: partial}
	for _, line := range lines[1:] {
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "class":
			f.Class = value
		case "prompt":
			f.Prompt = value
		case "address":
			f.Address = value
		case "when":
			f.When, _ = time.Parse(time.RFC3339, value) // zero when unreadable
		default:
			f.Command = line
		}
	}
	return f
}
