package qwentest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestAdmin(t *testing.T) {
	w := dial(t, Options{})
	if _, text := w.get("/_rehearsal/answer?prompt=hi"); text != Answer("hi") {
		t.Errorf("answer: %q", text)
	}
	reply, _ := w.post("/_rehearsal/fault", `{"kind":"busy","match":"two"}`)
	if reply.StatusCode != http.StatusNoContent {
		t.Errorf("fault: %d", reply.StatusCode)
	}
	if _, text := w.get("/_rehearsal/fault"); !strings.Contains(text, `"Kind":"busy"`) {
		t.Errorf("standing faults: %s", text)
	}
	w.ask("one")
	chat := w.newChat()
	if _, text := w.post(sendPath(chat), body(chat, "", "two")); !strings.Contains(text, "in progress") {
		t.Errorf("the fault did not strike: %s", text)
	}
	var report Report
	_, text := w.get("/_rehearsal/ledger")
	if err := json.Unmarshal([]byte(text), &report); err != nil || len(report.Entries) != 2 || report.Entries[0].Prompt != Sum("one") || report.Entries[0].Accepted != 1 {
		t.Errorf("ledger: %v %s", err, text)
	}
	if _, text := w.get("/_rehearsal/requests"); !strings.Contains(text, `"Fault":"busy"`) || strings.Contains(text, "_rehearsal") {
		t.Errorf("requests: %s", text)
	}
	for path, bad := range map[string]string{"fault": `{"kind":"no such"}`, "options": `{"NoSuch":1}`} {
		if reply, text := w.post("/_rehearsal/"+path, bad); reply.StatusCode != http.StatusBadRequest || text == "" {
			t.Errorf("%s %s: %d", path, bad, reply.StatusCode)
		}
	}
	if reply, _ := w.get("/_rehearsal/nothing"); reply.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown path: %d", reply.StatusCode)
	}
}

func TestAdminOptionsAndLogin(t *testing.T) {
	w := dial(t, Options{})
	w.post("/_rehearsal/options", `{"chunkdelay":"20ms","Hydration":1500,"guest":true,"models":["a"]}`)
	o := w.site.Options()
	if o.ChunkDelay != 20*time.Millisecond || o.Hydration != 1500*time.Millisecond || !o.Guest || o.Models[0] != "a" {
		t.Errorf("options %+v", o)
	}
	if _, text := w.get("/_rehearsal/options"); !strings.Contains(text, `"ChunkDelay":"20ms"`) {
		t.Errorf("options: %s", text)
	}
	w.post("/_rehearsal/options", `{"guest":false,"chunkdelay":-1}`)
	if w.site.Options().ChunkDelay != 0 || w.site.Options().Hydration != 1500*time.Millisecond {
		t.Errorf("options %+v", w.site.Options())
	}
	w.site.Configure(func(o *Options) { o.PageSize = 3 })
	if w.site.Options().ChunkDelay != 0 {
		t.Error("a second change brought a default back")
	}
	w.login("")
	reply, _ := w.get("/_rehearsal/login?email=other@example.org")
	if reply.StatusCode != http.StatusFound || reply.Header.Get("Location") != "/" {
		t.Errorf("login: %d", reply.StatusCode)
	}
	if _, text := w.get("/api/v1/auths/"); !strings.Contains(text, "other@example.org") {
		t.Errorf("logged in as %s", text)
	}
	w.post("/_rehearsal/logout?email=other@example.org", "")
	if reply, _ := w.get("/api/v1/auths/"); reply.StatusCode != 401 {
		t.Errorf("after logout: %d", reply.StatusCode)
	}
	if _, token := w.get("/_rehearsal/token?expired"); token != w.site.ExpiredToken() {
		t.Errorf("token %s", token)
	}
	w.post("/_rehearsal/fault", `[{"kind":"busy"},{"kind":"open"}]`)
	w.post("/_rehearsal/clear?kind=busy", "")
	if n := len(w.site.standing()); n != 1 {
		t.Errorf("%d faults stand", n)
	}
	w.post("/_rehearsal/clear", "")
	if n := len(w.site.standing()); n != 0 {
		t.Errorf("%d faults stand", n)
	}
}

// TestStartCalls are the calls a page makes at its start.
func TestStartCalls(t *testing.T) {
	w := dial(t, Options{})
	for path, want := range map[string]string{
		"/api/v2/configs/": `"cdn_version":"` + frontEnd + `"`, "/api/models": `"think_skip":{"enable":false}`, "/api/v2/models/": `"success":true`,
		"/api/v2/projects": `"data":[]`, "/api/v2/tts/config?x=1": `"success":true`, "/api/v2/nothing": `"code":"Not_Found"`,
		"/": `window.__prerendered_data = {`, "/auth?action=signin": "", "/c/guest": "message-input-textarea", "/s/x": "", "/sw.js": "respondWith",
		"/g/qwenweb/qwen-chat-fe/" + frontEnd + "/js/main.js": "Markdown", "/g/sd/baxia/2.5.37/baxiaCommon.js": "baxiaCommon",
		"/g/nothing.js": "not found",
	} {
		if _, text := w.get(path); !strings.Contains(text, want) {
			t.Errorf("%s: %.300s", path, text)
		}
	}
	if _, text := w.post("/api/v2/users/status", `{"typarms":{}}`); !strings.Contains(text, `"data":true`) {
		t.Errorf("status: %s", text)
	}
	if _, text := w.post("/api/v2/auths/signin", `{"email":"a@example.org","password":"wrong"}`); !strings.Contains(text, `"success":false`) {
		t.Errorf("a wrong password: %s", text)
	}
}

// TestSessionSlides: every visit brings a token that lives 30 days from now.
func TestSessionSlides(t *testing.T) {
	w, clock := slow(t, Options{})
	for range 3 {
		clock.move(29 * 24 * time.Hour)
		reply, err := w.client.Get(w.server.URL + "/")
		if err != nil {
			t.Fatal(err)
		}
		page, _ := io.ReadAll(reply.Body)
		reply.Body.Close()
		if !strings.Contains(string(page), `"email":"`+DefaultAccount) {
			t.Fatal("logged out in spite of a visit within 30 days")
		}
	}
	clock.move(31 * 24 * time.Hour)
	if reply, _ := w.get("/api/v1/auths/"); reply.StatusCode != 401 {
		t.Errorf("31 days later: %d", reply.StatusCode)
	}
}
