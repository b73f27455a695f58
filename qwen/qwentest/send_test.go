package qwentest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestStreamHasTheSitesShape(t *testing.T) {
	w := dial(t, Options{})
	prompt := "Hello\nworld"
	chat, frames := w.ask(prompt)
	created := at(frames[0], "response.created")
	if at(created, "chat_id") != chat || at(created, "response_id") == nil || at(created, "parent_id") == nil {
		t.Fatalf("first frame %v", frames[0])
	}
	var answer strings.Builder
	phases := ""
	for _, f := range frames[1:] {
		delta := at(f, "choices", 0, "delta")
		phase := at(delta, "phase").(string)
		if !strings.HasSuffix(phases, phase) {
			phases += " " + phase
		}
		if phase == "answer" {
			answer.WriteString(at(delta, "content").(string))
		} else if at(delta, "content") != "" || at(delta, "extra", "summary_title", "content", 0) != "Reading" {
			t.Errorf("thinking frame %v", f)
		}
		if at(f, "response_id") != at(created, "response_id") {
			t.Errorf("frame of another response: %v", f)
		}
	}
	last := at(frames[len(frames)-1], "choices", 0, "delta")
	if phases != " thinking_summary answer" || at(last, "status") != "finished" || at(last, "content") != "" {
		t.Errorf("phases%s, last %v", phases, last)
	}
	if answer.String() != Answer(prompt) {
		t.Errorf("the stream's answer is not Answer(prompt)")
	}
	data := w.read(chat)
	if answerIn(data) != Answer(prompt) || at(data, "chat", "history", "currentId") != at(created, "response_id") {
		t.Errorf("chat %v", data)
	}
	m := at(data, "chat", "history", "messages", at(created, "parent_id"))
	if at(m, "content") != prompt || at(m, "role") != "user" {
		t.Errorf("user message %v", m)
	}
}

// TestRefusals has the reply for every request the site does not take. None of
// them may put anything into the chat.
func TestRefusals(t *testing.T) {
	w := dial(t, Options{MaxPrompt: 1000})
	chat := w.newChat()
	good := body(chat, "", "hello")
	for _, c := range []struct {
		name, skip, path, body, want string
	}{
		{"no content type", "Content-Type", sendPath(chat), good, `"code":"RequestValidationError"`},
		{"no version", "Version", sendPath(chat), good, `"code":"Bad_Request"`},
		{"no source", "source", sendPath(chat), good, `FAIL_SYS_USER_VALIDATE`},
		{"no request id", "X-Request-Id", sendPath(chat), good, `<!doctypehtml>`},
		{"not signed", "bx-ua", sendPath(chat), good, `RGV587_ERROR`},
		{"no chat in the query", "", "/api/v2/chat/completions", good, `Field 'query -> chat_id': Field required`},
		{"another chat in the query", "", sendPath(uuid.NewString()), good, `"code":"RequestValidationError"`},
		{"unknown chat", "", sendPath("x"), strings.ReplaceAll(good, chat, "x"), `"code":"Not_Found"`},
		{"two messages", "", sendPath(chat), strings.Replace(good, `"messages":[`, `"messages":[{"role":"user","content":"a"},`, 1), `Invalid input too many messages.`},
		{"no message", "", sendPath(chat), `{"chat_id":"` + chat + `","messages":[]}`, `"code":"RequestValidationError"`},
		{"not JSON", "", sendPath(chat), `{"chat_id`, `"code":"RequestValidationError"`},
		{"unknown model", "", sendPath(chat), strings.ReplaceAll(good, `"model":"qwen3.8-max"`, `"model":"Qwen3.8-Max"`), `Model not found`},
		{"no thinking", "", sendPath(chat), strings.ReplaceAll(good, `"thinking_enabled":true`, `"thinking_enabled":false`), `"code":"invalid_input"`},
		{"unknown parent", "", sendPath(chat), body(chat, uuid.NewString(), "hello"), `is not exist`},
		{"too long", "", sendPath(chat), body(chat, "", strings.Repeat("x", 1001)), `RGV587_ERROR`},
	} {
		w.skip = c.skip
		reply, text := w.post(c.path, c.body)
		w.skip = ""
		if reply.StatusCode != http.StatusOK || !strings.Contains(text, c.want) {
			t.Errorf("%s: status %d, %.200s; want 200 with %s", c.name, reply.StatusCode, text, c.want)
		}
	}
	if n := len(at(w.read(chat), "chat", "messages").([]any)); n != 0 {
		t.Errorf("%d messages in the chat after refusals", n)
	}
	if e := w.site.Find("hello"); e.Accepted != 0 || e.Posted < 10 {
		t.Errorf("posted %d, accepted %d", e.Posted, e.Accepted)
	}
}

func TestWhoIsAsking(t *testing.T) {
	w := dial(t, Options{})
	chat, _ := w.ask("mine")
	w.login(w.site.TokenFor("other@example.org"))
	reply, text := w.get("/api/v2/chats/" + chat)
	if !strings.Contains(text, `"code":"Not_Found"`) || reply.Header.Get("x-actual-status-code") != "404" {
		t.Errorf("another account reads %s", text)
	}
	if _, text := w.post(sendPath(chat), body(chat, "", "theirs")); !strings.Contains(text, "Not_Found") {
		t.Errorf("another account sends: %s", text)
	}
	for name, token := range map[string]string{"expired": w.site.ExpiredToken(), "rubbish": "a.b.c", "half": "abc"} {
		w.login(token)
		if _, text := w.get("/api/v2/chats/" + chat); !strings.Contains(text, "FAIL_SYS_USER_VALIDATE") {
			t.Errorf("%s token: %s", name, text)
		}
		if reply, text := w.get("/api/v1/auths/"); reply.StatusCode != 401 || !strings.Contains(text, "401 Unauthorized") {
			t.Errorf("%s token: auths says %d %s", name, reply.StatusCode, text)
		}
	}
	token := w.site.Token()
	w.login(token)
	if reply, text := w.get("/api/v1/auths/"); reply.StatusCode != 200 || at(decode(t, text), "email") != DefaultAccount {
		t.Errorf("auths: %d %s", reply.StatusCode, text)
	}
	w.site.LogOut(DefaultAccount)
	if reply, _ := w.get("/api/v1/auths/"); reply.StatusCode != 401 {
		t.Errorf("after LogOut: %d", reply.StatusCode)
	}
	w.site.Configure(func(o *Options) { o.Auths200 = true })
	if reply, text := w.get("/api/v1/auths/"); reply.StatusCode != 200 || text != `{"detail":"401 Unauthorized"}` {
		t.Errorf("Auths200: %d %s", reply.StatusCode, text)
	}
}

func TestFollowUps(t *testing.T) {
	w := dial(t, Options{})
	chat, frames := w.ask("first")
	first := at(frames[0], "response.created", "response_id").(string)
	w.post(sendPath(chat), body(chat, first, "second"))
	data := w.read(chat)
	if got := at(data, "chat", "messages", 2, "parentId"); got != first {
		t.Errorf("the second turn hangs on %v, want %v", got, first)
	}
	if got := at(data, "chat", "history", "messages", first, "childrenIds", 0); got != at(data, "chat", "messages", 2, "id") {
		t.Errorf("the first answer's child is %v", got)
	}
	w.post(sendPath(chat), body(chat, "", "a new root"))
	if got := at(w.read(chat), "chat", "messages", 4, "parentId"); got != nil {
		t.Errorf("a message without parent hangs on %v", got)
	}
	if e := w.site.Find("second"); e.Posted != 1 || e.Accepted != 1 {
		t.Errorf("second: %+v", e)
	}
}

func TestLedgerKnowsPartsAndOtherPaths(t *testing.T) {
	w := dial(t, Options{})
	prompt := "a prompt with \"quotes\", a\nnewline and ünïcödé"
	w.site.Fault(Fault{Kind: PartialFIN, N: strings.Index(body(uuid.NewString(), "", prompt), "newline")})
	chat := w.newChat()
	if _, _, err := w.do("POST", sendPath(chat), body(chat, "", prompt)); err == nil {
		t.Fatal("a cut body got a reply")
	}
	if r := w.site.Report(); len(r.Entries) != 1 || r.Entries[0].Partial != 1 || r.Entries[0].Prompt == Sum(prompt) || r.Entries[0].Size < 8 {
		t.Fatalf("after a part: %+v", r)
	}
	w.post(sendPath(chat), body(chat, "", prompt))
	w.post("/api/v2/drafts", string(encode(obj{"content": prompt[:20]})))
	e := w.site.Find(prompt)
	if e.Posted != 2 || e.Partial != 1 || e.Accepted != 1 || len(e.RequestIDs) != 2 || len(e.Elsewhere) != 1 {
		t.Errorf("entry %+v", e)
	}
	w.must("DELETE", "/api/v2/chats/", "")
	if r := w.site.Report(); len(r.Violations) != 1 || w.read(chat) != nil {
		t.Errorf("after DELETE without an id: %+v", r.Violations)
	}
}
