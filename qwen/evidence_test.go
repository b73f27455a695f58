package qwen_test

import (
	"bytes"
	"fmt"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

// TestEvidence: what the page shows when it is not understood is kept, named in
// the error's hint, and holds none of the secrets: token, cookies, e-mail,
// prompt, answer. Keeping it changes nothing.
func TestEvidence(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state", "evidence")
	s := onLight(t, "h2", brisk)
	s.client.SetEvidence(dir)
	t.Cleanup(func() { s.client.SetEvidence("") })
	if err := s.client.UseCookies(t.Context(), []qwen.Cookie{
		{Name: "token", Value: s.site.Token(), Domain: "127.0.0.1", Path: "/", Secure: true},
		{Name: "other", Value: "canarycookie", Domain: "127.0.0.1", Path: "/"}}); err != nil {
		t.Fatal(err)
	}
	o := brisk
	o.PageRetry, o.AskTitle, o.Autosave = 3, true, true
	secrets := []string{s.site.Token(), strings.Split(s.site.Token(), ".")[1], "canarycookie", qwentest.DefaultAccount, "person@", "Answer to prompt", "eyJ", "A heading", "//example.org", "nested"}
	prompt := func(n int) string {
		text := fmt.Sprintf("canaryprompt%d begins: \"quoted\" & <tagged>\nsecond canaryline%d, naïve\n", n, n)
		secrets = append(secrets, fmt.Sprintf("canaryprompt%d", n), fmt.Sprintf("canaryline%d", n), qwentest.Sum(strings.TrimSpace(text)))
		return strings.TrimSpace(text)
	}
	folders := 0
	kept := func(err error, want qwen.Kind, files ...string) {
		t.Helper()
		folders++
		list, listErr := qwen.ListEvidence(dir)
		if kind(err) != want || listErr != nil || len(list) != folders || list[0].Class != string(want) || !strings.Contains(fault(err).Hint(), "what the page showed is in ") {
			t.Fatalf("%v (%s; %s): %+v, %v", err, kind(err), fault(err).Hint(), list, listErr)
		}
		for _, name := range append(files, "report.txt", "page.png", "page.html", "replies.txt", "console.txt", "browser.log") {
			found := false
			for _, e := range list {
				_, statErr := os.Stat(filepath.Join(e.Path, name))
				found = found || statErr == nil && strings.Contains(fault(err).Hint(), e.Path)
			}
			if !found {
				t.Errorf("no %s", name)
			}
		}
	}

	// The send is answered by a check.
	s.configure(o)
	s.site.Fault(qwentest.Fault{Kind: qwentest.Challenge, Times: qwentest.Always})
	text := prompt(1)
	s.onStep(func(step string) {
		if step == qwen.StepFilled {
			if err := s.client.Console("the text is", text, s.site.Token(), "for person@example.org"); err != nil {
				t.Error(err)
			}
		}
	})
	_, _, err := s.send(t.Context(), text)
	refused(qwen.KindChallenge).check(t, s, text, err)
	kept(err, qwen.KindChallenge)
	s.onStep(nil)
	s.site.Clear()

	if !leftOut("more places") {
		// The site refuses a new chat: nothing is sent.
		s.site.Fault(qwentest.Fault{Kind: qwentest.Garbage, On: qwentest.OnNew, Times: qwentest.Always})
		text := prompt(2)
		_, _, err := s.send(t.Context(), text)
		outcome{qwen.KindSiteChanged, false, 0, 0}.check(t, s, text, err)
		kept(err, qwen.KindSiteChanged)
		s.site.Clear()

		// The same again is not kept again.
		s.site.Fault(qwentest.Fault{Kind: qwentest.Garbage, On: qwentest.OnNew, Times: qwentest.Always})
		_, _, err = s.send(t.Context(), text)
		folders--
		kept(err, qwen.KindSiteChanged)
		s.site.Clear()
	}

	// A chat that is read shows prompt and answer.
	text = prompt(3)
	address, message := s.mustSend(t, text)
	s.answer(t, address, message)
	s.site.Fault(qwentest.Fault{Kind: qwentest.Garbage, On: qwentest.OnChat, Times: qwentest.Always})
	_, err = s.client.Read(t.Context(), address, message, "")
	kept(err, qwen.KindSiteChanged)
	s.site.Clear()

	if !leftOut("more places") {
		// The whole page is a check.
		s.client.Forget()
		s.site.Fault(qwentest.Fault{Kind: qwentest.ChallengeHTML, On: qwentest.OnPage, Times: qwentest.Always})
		text = prompt(4)
		_, _, err = s.send(t.Context(), text)
		outcome{qwen.KindChallenge, false, 0, 0}.check(t, s, text, err)
		kept(err, qwen.KindChallenge)
		s.site.Clear()
	}

	without(t, dir, secrets)
	if keep := os.Getenv("WATCHER_TEST_KEEP"); keep != "" {
		_ = os.CopyFS(keep, os.DirFS(dir))
	}

	// Nothing can be kept: all is as without.
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.site.Fault(qwentest.Fault{Kind: qwentest.Challenge, Times: 1})
	text = prompt(5)
	_, _, err = s.send(t.Context(), text)
	refused(qwen.KindChallenge).check(t, s, text, err)
}

// without demands that no file holds a secret, and that nobody else may read one.
func without(t *testing.T, dir string, secrets []string) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			t.Error(err)
			return nil
		}
		info, err := d.Info()
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s may be read by others: %v, %v", path, info.Mode(), err)
		}
		if d.IsDir() {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		if strings.HasSuffix(path, ".png") {
			if _, err := png.Decode(bytes.NewReader(b)); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			return nil
		}
		b = bytes.ToLower(b)
		for _, secret := range secrets {
			if at := bytes.Index(b, bytes.ToLower([]byte(secret))); at >= 0 {
				t.Errorf("%s holds %q: …%s…", path, secret, b[max(0, at-60):min(len(b), at+60)])
			}
		}
		return nil
	})
}

// TestScrub: secrets go, in each way in which they can be spelt, and what says
// what went wrong stays.
func TestScrub(t *testing.T) {
	t.Parallel()
	const prompt = "tell me about \"A&B\" ünd <x>\nsecond line of it"
	for in, want := range map[string]string{
		"it says tell me about \"A&B\" ünd <x> here":            "it says [27 hidden] here",
		`{"q":"tell me about \"A\u0026B\" ünd \u003cx\u003e"}`:  `{"q":"[27 hidden]"}`,
		"tell me about &#34;A&amp;B&#34; ünd &lt;x&gt;":         "[27 hidden]",
		"?q=tell+me+about+%22A%26B%22+%C3%BCnd+%3Cx%3E":         "?q=[27 hidden]",
		"only the second line of it.":                           "only the [17 hidden].",
		"Authorization: Bearer abcdef":                          "[26 hidden]",
		"mail to someone.else+tag@mail.example.org now":         "mail to [33 hidden] now",
		"a eyJhbGciOiJIUzI1NiJ9.eyJpZCI6IjEifQ.c2ln token":      "a [40 hidden] token",
		"https://chat.qwen.ai/x/punish?x5secdata=aabb&x5step=2": "https://chat.qwen.ai/x/punish?[14 hidden]&[8 hidden]",
		"The chat is in progress!":                              "The chat is in progress!",
	} {
		if got, _ := qwen.Scrub(in, prompt, ""); got != want {
			t.Errorf("%s\n gives %s\n want  %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"it begins tell me about \"A&B\" and goes on": "[41 hidden]", "a second line, of another text": "[30 hidden]", "nothing of it": "nothing of it",
	} {
		if got := qwen.ScrubLine(in, prompt); got != want {
			t.Errorf("%s\n gives %s\n want  %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		`{"success":false,"data":{"code":"RateLimited","details":"upper limit","num":3}}`:           `{"data":{"code":"RateLimited","details":"upper limit","num":3},"success":false}`,
		`{"id":"1","email":"a@b.org","name":"Me","token":"secret","title":"A chat of mine"}`:        `{"email":"[7 hidden]","id":"1","name":"[2 hidden]","title":"[14 hidden]","token":"[6 hidden]"}`,
		"data: {\"choices\":[{\"delta\":{\"content\":\"an answer\",\"phase\":\"answer\"}}]}\n\nx\n": "data: {\"choices\":[{\"delta\":{\"content\":\"[9 hidden]\",\"phase\":\"answer\"}}]}\n",
		"<html><meta name=aliyun_waf_aa>a person's text":                                            "(not JSON: 46 bytes; marks in it: aliyun_waf <html)",
		"": "(empty)",
	} {
		if _, got := qwen.Scrub(in); got != want {
			t.Errorf("%s\n gives %s\n want  %s", in, got, want)
		}
	}
}

// TestEvidenceIsBounded: the newest stay, in number and in size.
func TestEvidenceIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range qwen.EvidenceFolders + 5 {
		old := filepath.Join(dir, fmt.Sprintf("202609%02dT120000Z-challenge", i+1))
		if err := os.MkdirAll(old, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "a person's own folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	big := make([]byte, 9<<20)
	for range 3 {
		path, err := qwen.KeepEvidence(dir, "site-changed", map[string][]byte{"report.txt": []byte("error: gone\nmore\n"), "page.html": big, "page.png": big})
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(path, "page.html")); err != nil || info.Size() > 4<<20 {
			t.Errorf("page.html: %v, %v", info, err)
		}
		if _, err := os.Stat(filepath.Join(path, "page.png")); err == nil {
			t.Error("half a picture is kept")
		}
	}
	list, err := qwen.ListEvidence(dir)
	if err != nil || len(list) != qwen.EvidenceFolders || list[0].Error != "gone" || list[0].Class != "site-changed" || list[3].Class != "challenge" {
		t.Errorf("%d are left: %+v, %v", len(list), list, err)
	}
	for range 20 {
		if _, err := qwen.KeepEvidence(dir, "challenge", map[string][]byte{"page.html": big, "console.txt": big}); err != nil {
			break // more than nine in one second have no name
		}
	}
	list, _ = qwen.ListEvidence(dir)
	total := int64(0)
	for _, e := range list {
		total += e.Bytes
	}
	if total > 50<<20 || len(list) < 3 {
		t.Errorf("%d folders, %d bytes", len(list), total)
	}
	if _, err := os.Stat(filepath.Join(dir, "a person's own folder")); err != nil {
		t.Error(err)
	}
}
