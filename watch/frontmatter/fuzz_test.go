package frontmatter

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func FuzzSplit(f *testing.F) {
	for _, text := range []string{
		"---\nmodel: m\nattach: [a, b]\n---\nHello", "---\n---\nx", "---\nchat: &a [*a]\n---", "---\n? a\n: b\n---\n", "---\n<<: {model: m}\n---\nx",
		"---\nexpire: 1h\nbytes: 0x10\n...\n---", "---\n!!str model: |\n x\n---\n", "--- \n{model: m, 'chat': \"x\"}\n---\t\n", "---\nmodel: m\nnot-be",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Split(text)
		var e *Error
		switch {
		case errors.As(err, &e):
			if e.Line < 2 || e.Line > 2+strings.Count(text, "\n") || strings.Contains(e.Error(), "\n") {
				t.Errorf("line %d: %q", e.Line, e.Error())
			}
		case errors.Is(err, ErrUnfinished):
		case err != nil:
			t.Errorf("%v", err)
		case got.Lines == 0:
			if got.Body != text || !got.Options.IsZero() {
				t.Errorf("no front matter, and %+v", got)
			}
		default:
			if !strings.HasSuffix(text, got.Body) || got.Options.IsZero() {
				t.Errorf("%+v", got)
			}
			if head := strings.TrimSuffix(text, got.Body); strings.Count(strings.TrimSuffix(head, "\n"), "\n")+1 != got.Lines {
				t.Errorf("%d lines in %q", got.Lines, head)
			}
		}
	})
}

// TestRoundTrip: whatever is asked for in proper YAML is understood, and the
// body behind it is not touched.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := drawOptions(rt)
		lines := rapid.Permutation(write(want)).Draw(rt, "order")
		body := rapid.String().Draw(rt, "body")
		head := "---\n" + strings.Join(lines, "\n") + "\n---\n"
		got, err := Split(head + body)
		if err != nil || got.Body != body || got.Lines != strings.Count(head, "\n") {
			rt.Fatalf("%q: %+v, %v", head, got, err)
		}
		if !got.Options.NotBefore.Equal(want.NotBefore) {
			rt.Fatalf("%v, want %v", got.Options.NotBefore, want.NotBefore)
		}
		got.Options.NotBefore, want.NotBefore = time.Time{}, time.Time{}
		if !reflect.DeepEqual(got.Options, want) {
			rt.Fatalf("%+v, want %+v", got.Options, want)
		}
		// One stranger among them, and nothing is obeyed.
		if _, err := Split("---\nstranger: 1\n" + strings.TrimPrefix(head, "---\n") + body); err == nil {
			rt.Fatalf("a stranger beside %q is no error", head)
		}
		// Without the first line all of it is text.
		text := strings.TrimPrefix(head, "---\n") + body
		if got, err := Split(text); err != nil || got.Body != text {
			rt.Fatalf("%q is not left alone: %v", text, err)
		}
	})
}

func drawOptions(rt *rapid.T) (o Options) {
	word := rapid.StringMatching(`[a-z0-9][a-z0-9.-]{0,12}`)
	maybe := func(label string) bool { return rapid.Bool().Draw(rt, label) }
	o.Model = word.Draw(rt, "model")
	if maybe("thinking") {
		o.Thinking = rapid.SampledFrom([]string{"auto", "on", "off"}).Draw(rt, "how")
	}
	if maybe("chat") {
		o.Chat = rapid.StringMatching(`[^\x00-\x1f\x7f\s][^\x00-\x1f\x7f]{0,20}`).Draw(rt, "which")
	}
	if maybe("attach") {
		o.Attach = rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z0-9 '"#:,&*!\[\]é日]{1,10}\.png`), 1, 4, rapid.ID[string]).Draw(rt, "files")
	}
	if maybe("sha256") {
		o.SHA256 = rapid.StringMatching(`[0-9a-f]{64}`).Draw(rt, "sum")
	}
	if maybe("bytes") {
		o.Bytes = rapid.Int64Range(1, 1<<40).Draw(rt, "size")
	}
	if maybe("time") {
		o.NotBefore = time.Unix(rapid.Int64Range(0, 1<<33).Draw(rt, "at"), 0)
	}
	if maybe("expire") {
		o.Expire = time.Duration(rapid.Int64Range(1, 1<<50).Draw(rt, "long"))
	}
	return o
}

// write is the options as a careful person writes them.
func write(o Options) (lines []string) {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	put := func(key, value string, given bool) {
		if given {
			lines = append(lines, key+": "+value)
		}
	}
	put("model", o.Model, o.Model != "")
	put("thinking", o.Thinking, o.Thinking != "")
	put("chat", quote(o.Chat), o.Chat != "")
	var files []string
	for _, f := range o.Attach {
		files = append(files, quote(f))
	}
	put("attach", "["+strings.Join(files, ", ")+"]", len(files) > 0)
	put("sha256", o.SHA256, o.SHA256 != "")
	put("bytes", strconv.FormatInt(o.Bytes, 10), o.Bytes > 0)
	put("not-before", o.NotBefore.Format(time.RFC3339), !o.NotBefore.IsZero())
	put("expire", o.Expire.String(), o.Expire > 0)
	return lines
}
