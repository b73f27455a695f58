package qwen

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"
)

func TestParseCookies(t *testing.T) {
	text := "\ufeff# Netscape HTTP Cookie File\r\n\r\n" +
		"#HttpOnly_.qwen.ai\tTRUE\t/\tTRUE\t1900000000\ttoken\tabc=.def\r\n" +
		"chat.qwen.ai\tFALSE\t/x\tFALSE\t0\tcna\t\r\n"
	extension := `[{"name":"token","value":"abc=.def","domain":".qwen.ai","path":"/","secure":true,"httpOnly":true,"expirationDate":1900000000.5},
		{"name":"cna","value":"","domain":"chat.qwen.ai","path":"/x","session":true}]`
	automation := `{"cookies":[{"name":"token","value":"abc=.def","domain":".qwen.ai","path":"/","secure":true,"httpOnly":true,"expires":1900000000},
		{"name":"cna","value":"","domain":"chat.qwen.ai","path":"/x","expires":-1}],"origins":[]}`
	want := []Cookie{
		{Name: "token", Value: "abc=.def", Domain: ".qwen.ai", Path: "/", Secure: true, HTTPOnly: true, Expires: time.Unix(1900000000, 0)},
		{Name: "cna", Domain: "chat.qwen.ai", Path: "/x"},
	}
	for name, export := range map[string]string{"cookies.txt": text, "extension": extension, "automation": automation} {
		got, err := ParseCookies(strings.NewReader(export))
		if err != nil || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, export := range map[string]string{
		"empty": "", "comments only": "# nothing\n", "blanks for tabs": "chat.qwen.ai FALSE / TRUE 0 token abc\n",
		"six fields": "a\tb\tc\td\te\tf\n", "other JSON": `{"token":"x"}`, "broken JSON": `[{"name":`, "array of words": `["a"]`, "empty array": "[]",
	} {
		if got, err := ParseCookies(strings.NewReader(export)); kindOf(err) != KindInvalid {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestCookieBelongs(t *testing.T) {
	for domain, want := range map[string]bool{
		"chat.qwen.ai": true, ".chat.qwen.ai": true, ".qwen.ai": true, "qwen.ai": true, "CHAT.qwen.ai": true,
		"": false, ".": false, "ai": false, ".ai": false, "evilqwen.ai": false, "other.qwen.ai": false, "hat.qwen.ai": false, "a.chat.qwen.ai": false,
	} {
		if got := (Cookie{Name: "x", Domain: domain}).belongs("chat.qwen.ai"); got != want {
			t.Errorf("%q: %v", domain, got)
		}
	}
	if (Cookie{Domain: "chat.qwen.ai"}).belongs("chat.qwen.ai") {
		t.Error("a cookie without a name belongs")
	}
}

func TestCookieParam(t *testing.T) {
	o, _ := parseOrigin("https://chat.qwen.ai")
	host := Cookie{Name: "a", Domain: "chat.qwen.ai"}.param(o)
	if host.URL != "https://chat.qwen.ai/" || host.Domain != "" || host.Path != "/" {
		t.Errorf("a host's cookie: %+v", host)
	}
	wide := Cookie{Name: "a", Domain: ".qwen.ai", Path: "/x", Expires: time.Unix(5, 0)}.param(o)
	if wide.URL != "" || wide.Domain != ".qwen.ai" || wide.Path != "/x" || float64(wide.Expires) != 5 {
		t.Errorf("a domain's cookie: %+v", wide)
	}
}

func TestTokenExpiry(t *testing.T) {
	token := func(claims string) string {
		return "eyJhbGciOiJIUzI1NiJ9." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	}
	for name, c := range map[string]struct {
		token string
		unix  int64
		kind  Kind
	}{
		"with an end":    {token(`{"id":"u","exp":1900000000}`), 1900000000, ""},
		"without":        {token(`{"id":"u"}`), 0, ""},
		"padded":         {"h." + base64.URLEncoding.EncodeToString([]byte(`{"exp":1900000000}`)) + ".s", 1900000000, ""},
		"two parts":      {"a.b", 0, KindInvalid},
		"four parts":     {"a.b.c.d", 0, KindInvalid},
		"empty":          {"", 0, KindInvalid},
		"not base64":     {"a.!.c", 0, KindInvalid},
		"not JSON":       {"a." + base64.RawURLEncoding.EncodeToString([]byte("x")) + ".c", 0, KindInvalid},
		"end is a text":  {token(`{"exp":"soon"}`), 0, KindInvalid},
		"claims a array": {token(`[]`), 0, KindInvalid},
	} {
		end, err := tokenExpiry(c.token)
		if kindOf(err) != c.kind || (c.unix != 0) != !end.IsZero() || (c.unix != 0 && end.Unix() != c.unix) {
			t.Errorf("%s: %v, %v", name, end, err)
		}
		if err != nil && c.token != "" && strings.Contains(err.Error(), c.token) {
			t.Errorf("%s: the error shows the token", name)
		}
	}
}

// TestTokenIsRefusedOffline: what can't work is refused before any browser.
func TestTokenIsRefusedOffline(t *testing.T) {
	c, err := New(Options{Site: "https://chat.qwen.ai", Table: DefaultSite()})
	if err != nil {
		t.Fatal(err)
	}
	old := "h." + base64.RawURLEncoding.EncodeToString([]byte(`{"exp":1000000000}`)) + ".s"
	for token, kind := range map[string]Kind{old: KindLogin, " Bearer " + old + "\n": KindLogin, "hello": KindInvalid, "": KindInvalid} {
		if err := c.UseToken(t.Context(), token); kindOf(err) != kind {
			t.Errorf("%q: %v, want %s", token, err, kind)
		}
	}
	foreign := []Cookie{{Name: "token", Value: "x", Domain: "example.org"}}
	if err := c.UseCookies(t.Context(), foreign); kindOf(err) != KindInvalid {
		t.Errorf("cookies of another site: %v", err)
	}
	if _, err := c.Read(t.Context(), "https://evil.example/c/"+chatA, "", ""); kindOf(err) != KindInvalid {
		t.Errorf("a foreign address: %v", err)
	}
	c.Close()
}

func TestNewRefuses(t *testing.T) {
	for name, o := range map[string]Options{
		"no site":            {},
		"plain http":         {Site: "http://chat.qwen.ai"},
		"a trusted key afar": {Site: "https://chat.qwen.ai", TrustSPKI: "x"},
		"a path":             {Site: "https://chat.qwen.ai/c/x"},
	} {
		if _, err := New(o); kindOf(err) != KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLoginNeedsADisplay(t *testing.T) {
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	c, err := New(Options{Site: "https://chat.qwen.ai", Table: DefaultSite()})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Login(t.Context()); kindOf(err) != KindLogin || !strings.Contains(asError(err, "", "").Hint(), "--token-stdin") {
		t.Errorf("%v", err)
	}
}
