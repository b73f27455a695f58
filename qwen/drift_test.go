package qwen_test

import (
	"strings"
	"testing"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

// TestDrift: a page of which nothing is known any more. It is "site-changed" and
// nothing is sent; a site file repairs that, and a site file that is wrong in
// some other way sends nothing either.
func TestDrift(t *testing.T) {
	t.Parallel()
	s := onLight(t, "http", brisk)
	t.Cleanup(func() { s.client.SetTable(qwen.DefaultSite()) })
	o := brisk
	o.Markup = qwentest.MarkupStrange
	s.configure(o)
	with := func(file string) {
		t.Helper()
		table, err := qwen.ReadSite(strings.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		s.client.SetTable(table)
	}
	if !leftOut("checks") {
		if f := s.checkSite(t); f["selector composer"].Level != qwen.LevelFault || f["login"].Level != qwen.LevelOK {
			t.Errorf("the check finds a composer: %+v", f["selector composer"])
		}
	}
	const repaired = `"composer": ["[data-ask] input"], "send": ["[data-go]"]`
	for name, c := range map[string]struct{ file, says string }{
		"no file":                  {`{}`, "find the composer"},
		"the composer alone":       {`{"composer": ["[data-ask] input"]}`, "send button"},
		"another send":             {`{` + repaired + `, "completions": "/api/v2/chat/gone"}`, "in a way that is not known (POST "},
		"another new chat":         {`{` + repaired + `, "new_chat": "/api/v2/chats/gone"}`, "not the one that was just made"},
		"a draft for the send":     {`{` + repaired + `, "completions": "/api/v2/drafts"}`, ""},
		"a read-only path instead": {`{` + repaired + `, "completions": "/api/v2/configs/"}`, "in a way that is not known (POST "},
	} {
		if leftOut(name, "no file") {
			continue
		}
		t.Log(name)
		o.Autosave = strings.Contains(name, "draft")
		s.configure(o)
		with(c.file)
		prompt := "Nobody knows this page: " + name
		_, _, err := s.send(t.Context(), prompt)
		outcome{qwen.KindSiteChanged, false, 0, 0}.check(t, s, prompt, err)
		if !contains(err, c.says) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.says)
		}
		if e := s.site.Find(prompt); len(e.Elsewhere) > 0 {
			t.Errorf("%s: it came to %v", name, e.Elsewhere)
		}
	}
	o.Autosave = false
	s.configure(o)
	with(`{` + repaired + `}`)
	if !leftOut("checks") {
		for name, f := range s.checkSite(t) {
			if f.Level == qwen.LevelFault {
				t.Errorf("repaired: %s: %s", name, f.Detail)
			}
		}
	}
	prompt := "The file knows this page."
	address, message := s.mustSend(t, prompt)
	if got := s.answer(t, address, message).Text; got != qwentest.Answer(prompt) {
		t.Errorf("the answer is %q", got)
	}
}
