package qwen

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestReadSite: what a site file says replaces, what it doesn't stays.
func TestReadSite(t *testing.T) {
	t.Parallel()
	want := DefaultSite()
	want.Composer, want.Account, want.Data = []string{"[data-ask]", "textarea"}, "/api/v3/me", "__page"
	got, err := ReadSite(strings.NewReader("\xef\xbb\xbf" + `{"composer":["[data-ask]","textarea"],"account":"/api/v3/me","data":"__page"}`))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%+v\n%+v", err, got, want)
	}
	whole, err := json.Marshal(DefaultSite())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ReadSite(strings.NewReader(string(whole))); err != nil || !reflect.DeepEqual(got, DefaultSite()) {
		t.Errorf("the built-in table as a file: %v, %+v", err, got)
	}
	for text, says := range map[string]string{
		``: "JSON object", `[]`: "JSON object", `{"send":["a"]`: "JSON object",
		`{"composr":["a"]}`: `"composr"`, `{"Composer":["a"]}`: `"Composer"`,
		`{"composer":"textarea"}`: `"composer" must be a list`, `{"send":[]}`: `"send" must be a list`,
		`{"send":["a",""]}`: `"send" must be a list`, `{"send":[1]}`: `"send" must be a list`, `{"send":null}`: `"send" must be a list`,
		`{"home":["/"]}`: `"home" must be a text`, `{"home":""}`: `"home" must be a text`, `{"home":null}`: `"home" must be a text`,
		`{"max_chars":"many"}`: `"max_chars" must be a number`, `{"max_chars":-1}`: `"max_chars" must be a number`, `{"max_chars":null}`: `"max_chars" must be a number`,
		`{"chat":"/api/v3/chat"}`:                    `"chat" must end in /`,
		`{"completions":"https://example.com/send"}`: `"completions" must be a path`,
	} {
		if _, err := ReadSite(strings.NewReader(text)); asError(err, "", "").Kind != KindInvalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want it to say %s", text, err, says)
		}
	}
}

// TestSiteFileManual: the manual names every key, and no other.
func TestSiteFileManual(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../docs/site-file.md")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for line := range strings.Lines(string(b)) {
		if cell, ok := strings.CutPrefix(line, "| `"); ok {
			key, _, _ := strings.Cut(cell, "`")
			named = append(named, key)
		}
	}
	if !reflect.DeepEqual(named, SiteKeys()) {
		t.Errorf("the manual has %q\nthe table has %q", named, SiteKeys())
	}
}
