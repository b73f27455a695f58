package qwen

import (
	"strings"
	"testing"
)

func TestOrigin(t *testing.T) {
	for site, want := range map[string]string{
		"https://chat.qwen.ai":       "https://chat.qwen.ai",
		"https://chat.qwen.ai/":      "https://chat.qwen.ai",
		" https://CHAT.Qwen.ai:443 ": "https://chat.qwen.ai",
		"https://chat.qwen.ai:":      "https://chat.qwen.ai",
		"https://chat.qwen.ai:8443":  "https://chat.qwen.ai:8443",
		"http://127.0.0.1:80":        "http://127.0.0.1",
		"http://localhost:8080":      "http://localhost:8080",
		"http://[::1]:8080":          "http://[::1]:8080",
		"https://[::1]":              "https://[::1]",
	} {
		o, err := parseOrigin(site)
		if err != nil || o.base.String() != want {
			t.Errorf("%q: %v, %v; want %s", site, o.base, err, want)
		}
	}
	for _, site := range []string{"", "chat.qwen.ai", "ftp://chat.qwen.ai", "https://", "https://:443", "http://chat.qwen.ai",
		"http://10.0.0.1", "http://127.0.0.1.evil.example", "https://user@chat.qwen.ai", "https://chat.qwen.ai/c/", "https://chat.qwen.ai?x",
		"https://chat.qwen.ai#x", "file:///etc/passwd", "javascript:alert(1)", "https:chat.qwen.ai", "https://chat qwen"} {
		if o, err := parseOrigin(site); kindOf(err) != KindInvalid {
			t.Errorf("%q gives %v, %v", site, o.base, err)
		}
	}
}

func TestHostPort(t *testing.T) {
	for site, want := range map[string]string{
		"https://chat.qwen.ai": "chat.qwen.ai:443", "http://localhost": "localhost:80", "https://[::1]:8443": "[::1]:8443",
	} {
		if o, err := parseOrigin(site); err != nil || o.hostPort() != want {
			t.Errorf("%s: %s, %v", site, o.hostPort(), err)
		}
	}
}

// TestChatIDOfHostileAddresses: whoever writes the folder must not be able to
// steer the browser.
func TestChatIDOfHostileAddresses(t *testing.T) {
	o, err := parseOrigin("https://chat.qwen.ai")
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{
		"https://chat.qwen.ai/c/" + chatA, " https://chat.qwen.ai/c/" + chatA + "\n", "HTTPS://Chat.Qwen.AI/c/" + chatA,
		"https://chat.qwen.ai/c/" + strings.ToUpper(chatA), "https://chat.qwen.ai/c/" + chatA + "#prompt=0&by=1", "https://chat.qwen.ai/c/" + chatA + "#/../x",
	} {
		if id, err := o.chatID(address); err != nil || id != chatA {
			t.Errorf("%q: %q, %v", address, id, err)
		}
	}
	for _, address := range []string{
		"", chatA, "/c/" + chatA, "//chat.qwen.ai/c/" + chatA, "http://chat.qwen.ai/c/" + chatA, "https://evil.example/c/" + chatA,
		"https://chat.qwen.ai.evil.example/c/" + chatA, "https://chat.qwen.ai@evil.example/c/" + chatA, "https://user@chat.qwen.ai/c/" + chatA,
		"https://user:pw@chat.qwen.ai/c/" + chatA, "https://chat.qwen.ai:444/c/" + chatA, "https://chat.qwen.ai:443@evil.example/c/" + chatA,
		"https://chat.qwen.ai/c/" + chatA + "/", "https://chat.qwen.ai/c/" + chatA + "/../../s/x", "https://chat.qwen.ai/c/../c/" + chatA,
		"https://chat.qwen.ai//c/" + chatA, "https://chat.qwen.ai/x/c/" + chatA, "https://chat.qwen.ai/c/" + chatA + "?x=1", "https://chat.qwen.ai/c/" + chatA + "%2f..",
		"https://chat.qwen.ai/c/" + chatA[:35], "https://chat.qwen.ai/c/" + chatA + "0", "https://chat.qwen.ai/c/guest", "https://chat.qwen.ai/c/",
		"https://chat.qwen.ai/c/" + strings.Replace(chatA, "1", "g", 1), "https://chat.qwen.ai/c/" + chatA[:8] + "_" + chatA[9:],
		"javascript:location='https://chat.qwen.ai/c/" + chatA + "'", "file:///c/" + chatA, "https:chat.qwen.ai/c/" + chatA, "https://chat.qwen.ai\\@evil.example/c/" + chatA,
		"https://chat.qwen.ai\t/c/" + chatA, "https://chat.qwen.ai/c/" + chatA + "\nhttps://evil.example", "https://chat。qwen.ai/c/" + chatA, "%",
	} {
		if id, err := o.chatID(address); kindOf(err) != KindInvalid || id != "" {
			t.Errorf("%q: %q, %v", address, id, err)
		}
	}
}

func TestWhereAPageIs(t *testing.T) {
	o, _ := parseOrigin("https://chat.qwen.ai")
	for href, want := range map[string]bool{
		"https://chat.qwen.ai/": true, "https://chat.qwen.ai/c/x?y#z": true, "https://chat.qwen.ai": true,
		"https://chat.qwen.ai.evil.example/": false, "https://chat.qwen.ai@evil.example/": false, "https://chat.qwen.ai:8443/": false,
		"http://chat.qwen.ai/": false, "about:blank": false, "chrome-error://chromewebdata/": false, "": false, "%": false,
	} {
		if o.at(href) != want {
			t.Errorf("%q: %v", href, !want)
		}
	}
	for address, want := range map[string]bool{
		"wss://chat.qwen.ai/ws": true, "ws://CHAT.qwen.ai": true, "wss://other.example": false, "%": false,
	} {
		if o.hosts(address) != want {
			t.Errorf("%q: %v", address, !want)
		}
	}
}

// TestTableIsComplete: no entry of the site table is empty.
func TestTableIsComplete(t *testing.T) {
	s := DefaultSite()
	for name, list := range map[string][]string{"composer": s.Composer, "send": s.Send, "stop": s.Stop, "avatar": s.Avatar,
		"log in": s.LogIn, "model": s.Model, "models": s.Models, "punish": s.Punish, "blocked": s.Blocked, "ready": s.Ready} {
		if len(list) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
	for _, path := range []string{s.Home, s.Auth, s.NewChat, s.Completions, s.Chat, s.List, s.Account} {
		if !strings.HasPrefix(path, "/") {
			t.Errorf("path %q", path)
		}
	}
}
