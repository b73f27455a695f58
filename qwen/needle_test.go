package qwen

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const site = "https://chat.qwen.ai/api/v2/"

func TestNeedleFindsEverySpelling(t *testing.T) {
	prompt := "Tell me: \"what\" is <a> & b?\nSecond\tline \\ end, naïve 数独 \u2028 👩‍👩‍👧."
	n := newNeedle(prompt)
	js, _ := json.Marshal(map[string]any{"deep": []any{map[string]any{"any": "x " + prompt}}})
	wrapped, _ := json.Marshal(map[string]any{"payload": string(js)})
	lines := "{\"a\":1}\n" + string(js)
	crlf := strings.ReplaceAll(prompt, "\n", "\r\n")
	component := strings.ReplaceAll(url.QueryEscape(prompt), "+", "%20")
	for name, body := range map[string]string{
		"raw": prompt, "raw in something": "--boundary\r\n\r\n" + prompt + "\r\n--boundary", "CRLF": crlf,
		"JSON": string(js), "JSON in JSON": string(wrapped), "form": "a=1&text=" + url.QueryEscape(prompt),
		"form, CRLF": "text=" + url.QueryEscape(crlf), "component": "text=" + component, "JSON lines": lines,
		"as a key": `{"` + "Tell me: \\\"what\\\" is <a> & b?\\nSecond\\tline \\\\ end, naïve 数独 \u2028 👩‍👩‍👧." + `":1}`,
	} {
		if !n.in(site+"drafts", []byte(body)) {
			t.Errorf("not found as %s", name)
		}
	}
	for name, address := range map[string]string{
		"query": site + "search?q=" + url.QueryEscape(prompt), "component": site + "search?q=" + component,
		"bare query": site + "search?" + component,
		"path":       site + "search/" + url.PathEscape(prompt),
	} {
		if !n.in(address, nil) {
			t.Errorf("not found in the %s", name)
		}
	}
}

func TestNeedleLeavesTheRest(t *testing.T) {
	n := newNeedle("A prompt that is long enough")
	for _, body := range []string{"", "{}", `{"chatId":"","models":["qwen3.8-max"]}`, "A prompt", "long enough", "[1,2", `"A prompt that is"`} {
		if n.in(site+"chats/new?x=1", []byte(body)) {
			t.Errorf("found in %q", body)
		}
	}
}

// TestNeedleOfShortTexts: a short text may be a word of the site's own calls.
func TestNeedleOfShortTexts(t *testing.T) {
	newChat := `{"chatId":"","models":["qwen3.8-max"],"project_id":"","timestamp":1,"chat_type":"t2t","chat_mode":"normal"}`
	for _, prompt := range []string{"normal", "t2t", "1", "qwen3.8-max", "a", "user"} {
		n := newNeedle(prompt)
		if n.in(site+"chats/new?page=1", []byte(newChat)) {
			t.Errorf("the prompt %q would stop the page's own call", prompt)
		}
		for _, body := range []string{`{"content":"` + prompt + `"}`, `{"messages":[{"role":"x","content":"` + prompt + `"}]}`, `{"p":"{\"text\":\"` + prompt + `\"}"}`} {
			if !n.in(site+"drafts", []byte(body)) {
				t.Errorf("the prompt %q is not found in %s", prompt, body)
			}
		}
	}
}

// TestNeedleFindsAnyPrompt as JSON and as a form, whatever it holds.
func TestNeedleFindsAnyPrompt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prompt := rapid.StringN(16, 400, -1).Draw(t, "prompt")
		n := newNeedle(prompt)
		body, err := json.Marshal(map[string]any{"content": prompt})
		if err != nil {
			t.Fatal(err)
		}
		if !n.in(site, body) || !n.in(site, []byte("c="+url.QueryEscape(prompt))) || !n.in(site+"?c="+url.QueryEscape(prompt), nil) {
			t.Fatalf("%q is not found", prompt)
		}
	})
}

func TestNeedleOfBrokenText(t *testing.T) {
	for _, prompt := range []string{"\xff\xfe", strings.Repeat("\xff", 500), strings.Repeat("ä", 101), "a" + strings.Repeat("ä", 300)} {
		if n := newNeedle(prompt); len(n.start) > needleMax {
			t.Errorf("a start of %d bytes", len(n.start))
		}
	}
}
