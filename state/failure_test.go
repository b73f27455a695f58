package state

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var sampleFailure = Failure{
	Sentence: "The site stopped answering after 30 minutes.",
	Class:    "stalled",
	Prompt:   "8f434346648f6b96",
	Address:  chatA,
	When:     time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	Command:  "rm 'two  blanks.md.err'",
	Partial:  "# Half\n\nan answer\r\n",
}

func TestFailureForm(t *testing.T) {
	want := `The site stopped answering after 30 minutes.
class: stalled
prompt: 8f434346648f6b96
address: ` + chatA + `
when: 2026-01-02T03:04:05Z
rm 'two  blanks.md.err'

# Half

an answer` + "\r\n"
	if got := sampleFailure.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := (Failure{Sentence: "a\nb", Command: "x"}).String(); got != "a b\nx\n" {
		t.Errorf("%q", got)
	}
}

func TestFailureRoundTrip(t *testing.T) {
	word := rapid.StringMatching(`([!-~]{1,8}( {1,2}[!-~]{1,8}){0,3})?`)
	rapid.Check(t, func(t *rapid.T) {
		f := Failure{
			Sentence: word.Draw(t, "sentence"),
			Class:    word.Draw(t, "class"),
			Prompt:   word.Draw(t, "prompt"),
			Address:  word.Draw(t, "address"),
			Command:  "watcher " + word.Draw(t, "command"),
			Partial:  rapid.String().Draw(t, "partial"),
		}
		f.Command = strings.TrimSpace(f.Command)
		if when := rapid.Int64Range(0, 4e9).Draw(t, "when"); when > 0 {
			f.When = time.Unix(when, 0).UTC()
		}
		if got := ParseFailure([]byte(f.String())); got != f {
			t.Fatalf("%q\nreads as %+v\nwant     %+v", f.String(), got, f)
		}
	})
}

func TestParseFailureByHand(t *testing.T) {
	for file, want := range map[string]Failure{
		"":                                      {},
		"no":                                    {Sentence: "no"},
		"no\n":                                  {Sentence: "no"},
		"no\r\nclass: gone\r\ndo x":             {Sentence: "no", Class: "gone", Command: "do x"},
		"no\r\nclass: gone\r\n\r\nclass: other": {Sentence: "no", Class: "gone"},
		"no\nwhen: soon\n":                      {Sentence: "no"},
		"\n\nrest":                              {Partial: "rest"},
	} {
		if got := ParseFailure([]byte(file)); got != want {
			t.Errorf("%q: %+v, want %+v", file, got, want)
		}
	}
}

func FuzzFailure(f *testing.F) {
	f.Add([]byte(sampleFailure.String()))
	f.Fuzz(func(t *testing.T, b []byte) {
		// Total, and what was read once is read the same again.
		first := ParseFailure(b)
		if again := ParseFailure([]byte(first.String())); again.Partial != first.Partial || again.Class != first.Class {
			t.Fatalf("%q: %+v, then %+v", b, first, again)
		}
	})
}
