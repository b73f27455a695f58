package frontmatter

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Options
		body       string
		lines      int
	}{
		{"one key", "---\nmodel: qwen3.7-plus\n---\nHello", Options{Model: "qwen3.7-plus"}, "Hello", 3},
		{"all keys", "---\nmodel: m-1\nthinking: off\nsearch: on\nchat: intro\nattach: [a.png, b/c.csv]\nengine: router\nsha256: " +
			strings.Repeat("Ab", 32) + "\nbytes: 12\nnot-before: 2026-12-24T08:00:00+02:00\nexpire: 48h\n---\nHi\n\nyou",
			Options{Model: "m-1", Thinking: "off", Search: "on", Chat: "intro", Attach: []string{"a.png", "b/c.csv"}, Engine: "router",
				SHA256: strings.Repeat("ab", 32), Bytes: 12, NotBefore: time.Date(2026, 12, 24, 6, 0, 0, 0, time.UTC), Expire: 48 * time.Hour},
			"Hi\n\nyou", 12},
		{"quotes and a comment", "---\n# mine\n\"chat\": 'in: tro' # so\n---\nx", Options{Chat: "in: tro"}, "x", 4},
		{"flow", "---\n{model: m, search: off}\n---\nx", Options{Model: "m", Search: "off"}, "x", 3},
		{"one file", "---\nattach: a b.png\n---\nx", Options{Attach: []string{"a b.png"}}, "x", 3},
		{"list of lines", "---\nattach:\n- a\n- b\n---\nx", Options{Attach: []string{"a", "b"}}, "x", 5},
		{"number as a name", "---\nmodel: 3\nchat: 0012\n---\nx", Options{Model: "3", Chat: "0012"}, "x", 4},
		{"digits alone", "---\nsha256: " + strings.Repeat("12345678", 8) + "\n---\nx", Options{SHA256: strings.Repeat("12345678", 8)}, "x", 3},
		{"an exponent", "---\nsha256: " + strings.Repeat("1", 40) + "e" + strings.Repeat("2", 23) + "\n---\nx",
			Options{SHA256: strings.Repeat("1", 40) + "e" + strings.Repeat("2", 23)}, "x", 3},
		{"white space behind the rules", "--- \nmodel: m\n---\t\nx", Options{Model: "m"}, "x", 3},
		{"no body", "---\nmodel: m\n---", Options{Model: "m"}, "", 3},
		{"the body is kept as it is", "---\nmodel: m\n---\n\n  x\n---\ny: z", Options{Model: "m"}, "\n  x\n---\ny: z", 3},
		{"an address", "---\nchat: https://chat.qwen.ai/c/1#x=y\n---\nx", Options{Chat: "https://chat.qwen.ai/c/1#x=y"}, "x", 3},
	} {
		got, err := Split(c.text)
		if !got.Options.NotBefore.IsZero() {
			got.Options.NotBefore = got.Options.NotBefore.UTC()
		}
		if err != nil || !reflect.DeepEqual(got, Parsed{c.want, c.body, c.lines}) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

// TestText: what is no front matter is text, byte for byte.
func TestText(t *testing.T) {
	for _, text := range []string{
		"", "Hello", "---", "---\n", "---\n---", "---\n---\nx", "---\n# a comment\n---\nx", "---\n\n---\nx", "--- x\nmodel: m\n---\nx",
		" ---\nmodel: m\n---\nx", "\n---\nmodel: m\n---\nx", "----\nmodel: m\n----\nx", "...\nmodel: m\n...\nx",
		"---\nWrite a poem.\n---\nThanks", "---\n- a\n- b\n---\nx", "---\ntitle: T\nauthor: A\n---\nx", "---\nModel: m\n---\nx",
		"---\nmodels: m\n---\nx", "---\nmodel m\n---\nx", "---\n1: 2\n---\nx", "---\n? [a]\n: b\n---\nx", "---\n<<: *a\n---\nx",
		"---\nText: with: colons\n\tand tabs\n---\nx", "---\n{\n---\nx", "---\n[\n---\nx", "---\n!!map {}\n---\nx", "---\n{}\n---\nx", "---\n~\n---\nx",
		"---\n\"model\n---\nx", "---\n%YAML 1.2\n---\nx", "---\nOnce upon a time\nmodel: m", "---\nmodel: m\nWrite a poem about it",
		"---\n" + strings.Repeat("[", 1<<20) + "\n---\nx", "---\n" + strings.Repeat("- ", 8000) + "\n---\nx", "---\n" + strings.Repeat("a: ", 5000) + "\n---\nx",
		"---\n" + strings.Repeat("words and words\n", 5000) + "---\nx",
		"---\na: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\n---\nx",
	} {
		if got, err := Split(text); err != nil || !got.Options.IsZero() || got.Body != text || got.Lines != 0 {
			t.Errorf("%.60q: %+v, %v", text, got.Options, err)
		}
	}
}

func TestInvalid(t *testing.T) {
	for _, c := range []struct {
		head, want string
		line       int
	}{
		{"model: m\ntitle: T", `no option "title"`, 3},
		{"title: T\nmodel: m", `no option "title"`, 2},
		{"model: m\n1: 2", `no option ""`, 3},
		{"model: a\n\nmodel: b", "twice, first in line 2", 4},
		{"model:", "no value", 2},
		{"model: ''", "no value", 2},
		{"model: Qwen3 Max", "in lower case: qwen3-max", 2},
		{"model: [a, b]", "one value", 2},
		{"model: {a: b}", "one value", 2},
		{"model: |\n  a\n  b", "one value", 2},
		{`model: "a\nb"`, "one value", 2},
		{"model: &a m", "anchors", 2},
		{"model: *a", "anchors", 2},
		{"model: !!str m", "tags", 2},
		{"thinking: yes", "auto or on or off", 2},
		{"search: true", "on or off", 2},
		{"engine: other", "chat or router", 2},
		{"sha256: abc", "64 hex digits", 2},
		{"bytes: 0", "1 or more", 2},
		{"bytes: -1", "1 or more", 2},
		{"bytes: 1e3", "1 or more", 2},
		{"not-before: tomorrow", "a time such as", 2},
		{"not-before: 2026-02-30", "a time such as", 2},
		{"expire: 2", "a duration", 2},
		{"expire: -2h", "a duration", 2},
		{"attach: []", "names no file", 2},
		{"attach: [a, a]", "twice", 2},
		{"attach: [/etc/passwd]", "absolute", 2},
		{"attach: [../a]", "leads out", 2},
		{"attach: [a/../../b]", "leads out", 2},
		{"attach: [a/..]", "leads out", 2},
		{"attach: [./a]", "plain path", 2},
		{"attach: [a//b]", "plain path", 2},
		{"attach: [.]", "plain path", 2},
		{"attach: [a, [b]]", "one value", 2},
		{"attach: [a, *b]", "anchors", 2},
		{"attach: {a: b}", "one value", 2},
		{"search: for: this", "no YAML", 2},
		{"note\nsearch: this", "", 3},
		{"chat: [", "no YAML", 2},
		{"- a\nchat: b", "", 3},
		{"&a\nchat: b", "", 3},
		{"chat: b\n...\nc: d", "not one YAML mapping", 2},
		{"chat: b\n" + strings.Repeat("# much\n", 3000), "longer than 16 KiB", 2},
		{"a: b\nchat: " + strings.Repeat("[", 500), "nested", 3},
	} {
		got, err := Split("---\n" + c.head + "\n---\nThe text.")
		var e *Error
		if !errors.As(err, &e) || e.Line != c.line || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %+v, %v", c.head, got, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "--front-matter=off") || len(err.Error()) > 400) {
			t.Errorf("%.40q: %v", c.head, err)
		}
	}
}

// TestUnfinished: an upload that breaks off within the options is not sent as
// text, wherever it does.
func TestUnfinished(t *testing.T) {
	whole := "---\nmodel: m\nattach:\n  - a\n- b\n\n# and\nnot-before: 2026-12-24 08:00\n---\nHello"
	first, end := len("---\nmodel:"), strings.Index(whole, "\n---\nHello")
	for n := first; n < end; n++ {
		if got, err := Split(whole[:n]); !errors.Is(err, ErrUnfinished) {
			t.Errorf("%q: %+v, %v", whole[:n], got, err)
		}
	}
}

func TestLocalTimes(t *testing.T) {
	for text, want := range map[string]time.Time{
		"2026-07-01":           time.Date(2026, 7, 1, 0, 0, 0, 0, time.Local),
		"2026-07-01 08:30":     time.Date(2026, 7, 1, 8, 30, 0, 0, time.Local),
		"2026-07-01T08:30":     time.Date(2026, 7, 1, 8, 30, 0, 0, time.Local),
		"2026-07-01 08:30:15":  time.Date(2026, 7, 1, 8, 30, 15, 0, time.Local),
		"2026-07-01T08:30:15":  time.Date(2026, 7, 1, 8, 30, 15, 0, time.Local),
		"'2026-07-01 08:30'":   time.Date(2026, 7, 1, 8, 30, 0, 0, time.Local),
		"2026-07-01T08:30:15Z": time.Date(2026, 7, 1, 8, 30, 15, 0, time.UTC),
	} {
		got, err := Split(fmt.Sprintf("---\nnot-before: %s\n---\nx", text))
		if err != nil || !got.Options.NotBefore.Equal(want) {
			t.Errorf("%s: %v, %v", text, got.Options.NotBefore, err)
		}
	}
}
