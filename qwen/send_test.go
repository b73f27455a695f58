package qwen_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

// lines is a text of n numbered lines.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d: naïve café\n", i)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// TestTextIsKept: what the site has is the prompt, and what is read is the
// answer, both to the byte.
func TestTextIsKept(t *testing.T) {
	t.Parallel()
	s := onLight(t, "h2", brisk)
	for name, prompt := range map[string]string{
		"60 kB":       strings.Repeat("sixty thousand bytes ", 60_000/21) + "\n!rehearsal answer=200k",
		"5,000 lines": lines(5000) + "\n!rehearsal answer=long",
		"blanks":      "  \t leading and trailing \t\n\n\n  !rehearsal answer=blank\n\n three blank lines and a trailing blank ",
		"scripts": "ąčiū 👩‍👩‍👧 e\u0301 vs é; עברית עם english; العربية; \u200f\u202e reversed\u202c zero\u200bwidth nbsp\u00a0here, " +
			"line\u2028separator paragraph\u2029separator, \ufffd replacement, 𝔘𝔫𝔦 𐍈 中文 \u0007 bell \u001b escape",
		"marks": "/slash first\n# Heading\n\n- list\n  - nested\n\n```go\nfmt.Println(\"`x`\")\n```\n\n| a | b |\n|--|--|\n<b>bold</b> <script>alert(1)</script> &amp; " +
			"\"quotes\" 'single' \\backslash \\n \\u0041 ${x} {{y}} %s %00 </textarea>\n!rehearsal answer=code",
		"one character":     "7",
		"a word of the API": "normal",
		"one line of blank": "a\n \nb\n!rehearsal answer=table",
		"quotes of errors":  "What does {\"ret\":[\"FAIL_SYS_USER_VALIDATE\"]} mean?\n!rehearsal answer=quotes",
		"literal thinking":  "How are <think> tags written?\n!rehearsal answer=think",
		"a single digit":    "Say a digit.\n!rehearsal answer=one-char",
	} {
		if leftOut(name, "60 kB", "blanks", "marks", "one character") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s.log.to(t)
			address, message := s.mustSend(t, prompt)
			turn := s.answer(t, address, message)
			if want := qwentest.Answer(prompt); turn.Text != want {
				t.Errorf("the answer differs: %d bytes instead of %d", len(turn.Text), len(want))
			}
			if turn.Message != message || turn.Fingerprint != qwentest.Sum(prompt)[:16] || turn.Empty {
				t.Errorf("%+v", turn)
			}
		})
	}
}

func TestMegabyte(t *testing.T) {
	t.Parallel()
	o := brisk
	o.MaxPrompt = -1
	s := onLight(t, "h1", o)
	prompt := strings.Repeat("0123456789abcdef naïve\n", 1<<20/24) + "end"
	address, message := s.mustSend(t, prompt)
	if turn := s.answer(t, address, message); turn.Text != qwentest.Answer(prompt) {
		t.Error("the answer differs")
	}
}

// TestEveryMode: the whole way, there and back, over each kind of connection.
func TestEveryMode(t *testing.T) {
	t.Parallel()
	for name := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := onShared(t, name, brisk)
			prompt := "Explain fsync over " + name + " in one paragraph.\n\tSecond line: ünïcödé 👩‍👩‍👧."
			address, message := s.mustSend(t, prompt)
			if !strings.HasPrefix(address, s.server.URL+"/c/") || message == "" {
				t.Errorf("address %q, message %q", address, message)
			}
			if got := s.answer(t, address, message).Text; got != qwentest.Answer(prompt) {
				t.Errorf("the answer differs:\n%s", got)
			}
			found, err := s.client.Find(t.Context(), prompt)
			if err != nil || len(found) != 1 || found[0] != address {
				t.Errorf("Find gives %v, %v", found, err)
			}
		})
	}
}

// TestPages: what the page may be like. Each is one send and one answer.
func TestPages(t *testing.T) {
	t.Parallel()
	change := func(f func(*qwentest.Options)) qwentest.Options {
		o := brisk
		f(&o)
		return o
	}
	for name, o := range map[string]qwentest.Options{
		"June, Chinese":             change(func(o *qwentest.Options) { o.Markup, o.Language = qwentest.MarkupJun, "zh-CN" }),
		"renamed, Russian":          change(func(o *qwentest.Options) { o.Markup, o.Language = qwentest.MarkupRenamed, "ru-RU" }),
		"renamed, Chinese":          change(func(o *qwentest.Options) { o.Markup, o.Language = qwentest.MarkupRenamed, "zh-CN" }),
		"renamed":                   change(func(o *qwentest.Options) { o.Markup = qwentest.MarkupRenamed }),
		"a dead button at first":    change(func(o *qwentest.Options) { o.SendDuringHydration, o.Hydration = true, time.Second }),
		"a new composer":            change(func(o *qwentest.Options) { o.ReplaceOnHydration, o.Hydration = true, 600*time.Millisecond }),
		"late to start":             change(func(o *qwentest.Options) { o.Hydration, o.Ready = time.Second, time.Second }),
		"address first, fid kept":   change(func(o *qwentest.Options) { o.URLBefore, o.KeepFID, o.HistoryArray = true, true, true }),
		"an image never comes":      change(func(o *qwentest.Options) { o.SlowImage = true }),
		"a draft":                   change(func(o *qwentest.Options) { o.Draft = "an old draft that nobody wants any more" }),
		"a late draft":              change(func(o *qwentest.Options) { o.Draft, o.DraftDelay = "an old draft, restored late", 250*time.Millisecond }),
		"an alert":                  change(func(o *qwentest.Options) { o.Dialog = "alert" }),
		"a question before leaving": change(func(o *qwentest.Options) { o.Dialog = "beforeunload" }),
		"it hangs while typing":     change(func(o *qwentest.Options) { o.BlockInput = time.Second }),
		"clicks are ignored":        change(func(o *qwentest.Options) { o.IgnoreClicks = 2 }),
		"it draws by frame":         change(func(o *qwentest.Options) { o.DrawByFrame, o.LateRender = true, time.Second }),
		"streams stay open":         change(func(o *qwentest.Options) { o.StreamStaysOpen, o.FillContent = true, true }),
		"done marker, no typing":    change(func(o *qwentest.Options) { o.DoneMarker, o.HideTyping = true, true }),
		"drafts and titles":         change(func(o *qwentest.Options) { o.Autosave, o.AskTitle = true, true }),
		"slow replies":              change(func(o *qwentest.Options) { o.ReplyDelay = 200 * time.Millisecond }),
		"cookies needed":            change(func(o *qwentest.Options) { o.StrictCookies = true }),
	} {
		if leftOut(name, "June, Chinese", "renamed, Russian", "a dead button at first", "address first, fid kept", "an image never comes",
			"an alert", "it draws by frame", "streams stay open", "cookies needed") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := onLight(t, "http", o)
			prompt := "A page with " + name + ": what does link(2) promise?"
			address, message := s.mustSend(t, prompt)
			if turn := s.answer(t, address, message); turn.Text != qwentest.Answer(prompt) {
				t.Errorf("the answer differs: %q", turn.Text)
			}
		})
	}
}

// TestDraftOverTheText: a draft that the page restores over the text is not
// the page's way with texts. Nothing of it is posted, and the text goes out.
func TestDraftOverTheText(t *testing.T) {
	t.Parallel()
	const draft = "an old draft, restored over the text"
	s := onLight(t, "http", brisk)
	filled := 0
	s.onStep(func(step string) {
		if step != qwen.StepFilled {
			return
		}
		if filled++; filled == 1 {
			if err := s.client.Restore(t.Context(), draft); err != nil {
				t.Error(err)
			}
		}
	})
	s.mustSend(t, "What does the page restore over this?")
	if e := s.site.Find(draft); filled != 2 || e.Posted != 0 {
		t.Errorf("filled %d times, the draft posted %d times", filled, e.Posted)
	}
}

// TestPageChangesTheText: the job fails as altered, and nothing is posted.
func TestPageChangesTheText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ edit, prompt, at string }{
		{"trim", " a prompt with blanks around it ", "character 1 "},
		{"crlf", "two\nlines that are long enough", "character 4 "},
		{"nbsp", "two  blanks in a long enough text", "character 5 "},
		{"collapse", "three\n\n\n\nblank lines in a text", "character 8 "},
	} {
		if leftOut(c.edit, "trim", "collapse") {
			continue
		}
		t.Run(c.edit, func(t *testing.T) {
			t.Parallel()
			o := brisk
			o.Edits = c.edit
			s := onLight(t, "h2", o)
			_, _, err := s.send(t.Context(), c.prompt)
			if e := fault(err); kind(err) != qwen.KindAltered || e.MayHaveLeft() || !strings.Contains(e.Error(), c.at) {
				t.Errorf("%v, want altered at %s", err, c.at)
			}
			if e := s.site.Find(c.prompt); e.Posted != 0 {
				t.Errorf("posted %d", e.Posted)
			}
		})
	}
	t.Run("carriage return", func(t *testing.T) {
		s := onLight(t, "h2", brisk)
		begin := time.Now()
		_, _, err := s.send(t.Context(), "a\rb, which no text field keeps")
		if kind(err) != qwen.KindAltered || fault(err).MayHaveLeft() || time.Since(begin) > 30*time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
	// A page that ignores the button refuses a long text; with a short one it is
	// broken.
	for prompt, want := range map[string]qwen.Kind{
		strings.Repeat("longer than the page allows ", 400): qwen.KindInvalid, "longer than ten characters": qwen.KindSiteChanged,
	} {
		name := fmt.Sprint(len(prompt), " characters")
		if leftOut(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			o := brisk
			o.MaxTyped = 10
			s := onLight(t, "h2", o)
			_, _, err := s.send(t.Context(), prompt)
			if kind(err) != want || fault(err).MayHaveLeft() || s.site.Find(prompt).Posted != 0 {
				t.Errorf("%v, %+v", err, s.site.Find(prompt))
			}
		})
	}
}

// TestModel is chosen in the page's own list, in each form of it.
func TestModel(t *testing.T) {
	t.Parallel()
	s := newStage(t, qwentest.ModeHTTPS2, brisk, func(o *qwen.Options) { o.Model = "qwen3.7-max" })
	s.login(t)
	for _, markup := range []qwentest.Markup{qwentest.MarkupAug, qwentest.MarkupJun, qwentest.MarkupRenamed} {
		o := brisk
		o.Markup = markup
		s.configure(o)
		s.mustSend(t, "Which model are you, on the page of "+string(markup)+"?")
	}
	o := brisk
	o.Models = []string{"qwen3.8-max", "qwen3.7-plus"}
	s.configure(o)
	_, _, err := s.send(t.Context(), "To a model that is gone.")
	if kind(err) != qwen.KindSiteChanged || fault(err).MayHaveLeft() || !strings.Contains(fault(err).Hint(), "qwen3.8-max") {
		t.Errorf("a model that is gone: %v (%s)", err, fault(err).Hint())
	}
	if err := s.client.CheckChoices(t.Context()); kind(err) != qwen.KindInvalid || !strings.Contains(fault(err).Hint(), "--model: qwen3.8-max") {
		t.Errorf("checked before: %v", err)
	}
}

// TestChoices are made in the page's own controls, in each form and language of
// it, and the request is the proof: where it says something else, nothing leaves.
func TestChoices(t *testing.T) {
	t.Parallel()
	s := newStage(t, qwentest.ModeHTTPS1, brisk, func(o *qwen.Options) {
		o.Model, o.Thinking, o.Search = "qwen3.7-plus", qwen.ThinkingOff, qwen.SearchOff
	})
	s.login(t)
	for name, c := range map[string]struct {
		change func(*qwentest.Options)
		want   qwen.Kind
	}{
		"June, Chinese":      {func(o *qwentest.Options) { o.Markup, o.Language = qwentest.MarkupJun, "zh-CN" }, ""},
		"August, Russian":    {func(o *qwentest.Options) { o.Language = "ru-RU" }, ""},
		"August":             {func(*qwentest.Options) {}, ""},
		"choices are lost":   {func(o *qwentest.Options) { o.ForgetChoices = true }, qwen.KindSiteChanged},
		"no known selectors": {func(o *qwentest.Options) { o.Markup = qwentest.MarkupRenamed }, qwen.KindSiteChanged},
	} {
		if leftOut(name, "June, Chinese", "choices are lost") {
			continue
		}
		o := brisk
		c.change(&o)
		s.configure(o)
		prompt := "Do you search, on the page of " + name + "?"
		_, _, err := s.send(t.Context(), prompt)
		got, posted := s.site.Asked(prompt), s.site.Find(prompt).Posted
		switch {
		case kind(err) != c.want:
			t.Errorf("%s: %v, want %q", name, err, c.want)
		case c.want != "" && (fault(err).MayHaveLeft() || posted != 0 || !contains(err, "would ask with --thinking auto instead of off")):
			t.Errorf("%s: %v, posted %d", name, err, posted)
		case c.want == "" && (got != qwentest.Asked{Model: "qwen3.7-plus", Thinking: "Fast"} || posted != 1):
			t.Errorf("%s: %+v, posted %d", name, got, posted)
		}
	}
}

// TestWishes: what a prompt itself asks for goes before the options, and is
// proven as they are. A wish that can't be is that prompt's failure.
func TestWishes(t *testing.T) {
	t.Parallel()
	s := onLight(t, "h1", brisk)
	nothing := func(string, string) error { return nil }
	prompt := "A prompt with wishes of its own."
	out := qwen.Outgoing{Prompt: prompt, Model: "qwen3.7-plus", Thinking: "off", Search: "off"}
	if _, err := s.client.Send(t.Context(), out, nothing); err != nil {
		t.Fatal(err)
	}
	if got := s.site.Asked(prompt); got != (qwentest.Asked{Model: "qwen3.7-plus", Thinking: "Fast"}) {
		t.Errorf("asked %+v", got)
	}
	for wrong, out := range map[string]qwen.Outgoing{
		"qwen3.7-plus":         {Model: "qwen3.7-pluss"},
		"can't answer without": {Model: "qwen3.8-max", Thinking: "off"},
		"thinking \"never\"":   {Thinking: "never"},
		"search \"maybe\"":     {Search: "maybe"},
	} {
		out.Prompt = "A wish that can't be: " + wrong
		_, err := s.client.Send(t.Context(), out, nothing)
		if kind(err) != qwen.KindInvalid || fault(err).MayHaveLeft() || !contains(err, wrong) && !strings.Contains(fault(err).Hint(), wrong) ||
			s.site.Find(out.Prompt).Posted != 0 {
			t.Errorf("%s: %v, %+v", wrong, err, s.site.Find(out.Prompt))
		}
	}
}
