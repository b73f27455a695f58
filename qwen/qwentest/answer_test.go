package qwentest

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestAnswers(t *testing.T) {
	for name, want := range map[string]struct {
		atLeast, atMost int
		holds           string
	}{
		"default": {800, 4000, "Ålesund"}, "short": {100, 200, "Yes."}, "long": {20_000, 30_000, "000100"}, "200k": {200_000, 210_000, "001000"},
		"one-char": {1, 1, "7"}, "table": {200, 1000, "大阪"}, "code": {200, 1000, "````markdown"}, "quotes": {300, 1500, "FAIL_SYS_USER_VALIDATE"},
		"think": {200, 1000, "<think>"}, "blank": {200, 1000, "\tan indented"},
	} {
		prompt := "hello\n!rehearsal answer=" + name
		answer := Answer(prompt)
		if n := len(answer); n < want.atLeast || n > want.atMost || !strings.Contains(answer, want.holds) || !utf8.ValidString(answer) {
			t.Errorf("%s: %d bytes, %.100q", name, n, answer)
		}
		if sum, whole := Whole(answer); name != "one-char" && (sum != Sum(prompt) || !whole) {
			t.Errorf("%s: Whole says %s %v", name, sum, whole)
		}
	}
}

// TestWholeSeesEveryCut: no proper beginning of an answer passes for whole.
func TestWholeSeesEveryCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answer := Answer(rapid.String().Draw(t, "prompt"))
		n := rapid.IntRange(0, len(answer)-1).Draw(t, "n")
		if _, whole := Whole(answer[:n]); whole {
			t.Fatalf("the first %d of %d bytes pass for whole", n, len(answer))
		}
	})
}

// TestFramesMakeTheAnswer: however it is cut into frames, the parts join to
// the answer and no frame cuts a character.
func TestFramesMakeTheAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prompt := rapid.String().Draw(t, "prompt")
		o := Options{AnswersMaxFrames: rapid.IntRange(1, 200).Draw(t, "frames")}.filled()
		var got strings.Builder
		for _, f := range planFor(prompt, nil, o).frames {
			if !utf8.ValidString(f.text) && utf8.ValidString(prompt) {
				t.Fatalf("a frame cuts a character: %q", f.text)
			}
			got.WriteString(f.text)
		}
		if got.String() != Answer(prompt) {
			t.Fatal("the frames do not make the answer")
		}
	})
}

func TestDirectives(t *testing.T) {
	d := parseDirectives("text\n!rehearsal answer=long fault=cut n=5 delay=2s times=-1 skip=1 reused take on=chat unknown=1\nmore\n  !rehearsal fault=open\n!rehearsalx fault=busy")
	if d.answer != "long" || len(d.faults) != 2 || d.faults[1].Kind != Open {
		t.Fatalf("%+v", d)
	}
	want := Fault{Kind: Cut, N: 5, Delay: 2e9, Times: Always, Skip: 1, Reused: true, Take: true, On: OnChat}
	if d.faults[0] != want {
		t.Errorf("got %+v, want %+v", d.faults[0], want)
	}
}
