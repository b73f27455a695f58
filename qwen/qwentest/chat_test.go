package qwentest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// slow gives a site whose clock stands still, so that an answer can be looked
// at in the middle.
func slow(t *testing.T, o Options) (*wire, *manualClock) {
	t.Helper()
	clock := newManualClock()
	o.Clock, o.ChunkDelay, o.FirstByte = clock, time.Second, time.Second
	return dial(t, o), clock
}

// start sends a prompt without waiting for its stream and returns the chat.
func start(w *wire, prompt string) (chat string) {
	w.Helper()
	chat = w.newChat()
	go func() { _, _, _ = w.do("POST", sendPath(chat), body(chat, "", prompt)) }()
	for deadline := time.Now().Add(30 * time.Second); w.site.Find(prompt).Accepted == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatal("the prompt was not accepted")
		}
	}
	return chat
}

func TestChatGrows(t *testing.T) {
	w, clock := slow(t, Options{})
	chat := start(w, "grow")
	look := func() (done any, status any, text string) {
		data := w.read(chat)
		m := at(data, "chat", "messages", 1)
		if at(m, "content") != "" {
			t.Errorf("content is %q", at(m, "content"))
		}
		return at(m, "done"), at(m, "content_list", -1, "status"), answerIn(data)
	}
	if done, status, text := look(); done != false || status != nil || text != "" {
		t.Errorf("at first: %v %v %q", done, status, text)
	}
	clock.move(4 * time.Second)
	done, status, text := look()
	if done != false || status != "typing" || text == "" || !strings.HasPrefix(Answer("grow"), text) {
		t.Errorf("in the middle: %v %v %q", done, status, text)
	}
	if _, reply := w.post(sendPath(chat), body(chat, "", "too early")); !strings.Contains(reply, "The chat is in progress!") {
		t.Errorf("a second message: %s", reply)
	}
	w.site.Configure(func(o *Options) { o.HideTyping = true })
	if _, _, text := look(); text != "" {
		t.Errorf("HideTyping shows %q", text)
	}
	clock.move(time.Hour)
	if done, status, text := look(); done != true || status != "finished" || text != Answer("grow") {
		t.Errorf("at the end: %v %v %q", done, status, text)
	}
	if at(w.read(chat), "chat", "messages", 1, "extra", "endTime") == nil {
		t.Error("no endTime")
	}
}

// TestEnds looks at how an answer stands in the chat after each kind of end.
func TestEnds(t *testing.T) {
	for kind, want := range map[Kind]struct {
		done, failed, text bool
		frame              string // in the stream
	}{
		Empty: {true, false, false, `"status":"finished"`}, ThinkingOnly: {true, false, false, `"thinking_summary"`},
		Killed: {true, false, true, `The request is ended!`}, Inspect: {true, true, true, `data_inspection_failed`},
		StreamError: {true, true, true, `internal_error`}, Continue: {true, false, true, `"finish_reason":"length"`},
	} {
		w := dial(t, Options{})
		prompt := fmt.Sprintf("how does it end\n!rehearsal fault=%s n=2", kind)
		chat := w.newChat()
		_, stream := w.post(sendPath(chat), body(chat, "", prompt))
		m := at(w.read(chat), "chat", "messages", 1)
		text := answerIn(w.read(chat))
		if (at(m, "done") == true) != want.done || (at(m, "error") != nil) != want.failed || (text != "") != want.text || !strings.Contains(stream, want.frame) {
			t.Errorf("%s: done %v, error %v, text %q, stream %.300s", kind, at(m, "done"), at(m, "error"), text, stream)
		}
		if _, whole := Whole(text); whole {
			t.Errorf("%s: the text is whole", kind)
		}
		w.site.Configure(func(o *Options) { o.NotDoneFailed = true })
		if at(w.read(chat), "chat", "messages", 1, "done") == true && want.failed {
			t.Errorf("%s: NotDoneFailed has no effect", kind)
		}
	}
}

func TestStopAndResume(t *testing.T) {
	w, clock := slow(t, Options{})
	chat := start(w, "stop me")
	id := at(w.read(chat), "chat", "messages", 1, "id").(string)
	clock.move(5 * time.Second)
	resumed := w.stream(sendPath(chat) + "&response_id=" + id)
	if first := resumed(); at(first, "response.created", "response_id") != id {
		t.Errorf("resumed with %v", first)
	}
	for phase := any(nil); phase != "answer"; {
		phase = at(resumed(), "choices", 0, "delta", "phase")
	}
	if _, text := w.post("/api/v2/chat/completions/stop?chat_id="+chat, `{"chat_id":"`+chat+`","response_id":"`+id+`"}`); !strings.Contains(text, `"status":true`) {
		t.Errorf("stop: %s", text)
	}
	for resumed() != nil { // the stream ends, else this hangs
	}
	m := at(w.read(chat), "chat", "messages", 1)
	if at(m, "is_stop") != true || at(m, "done") != true {
		t.Errorf("stopped: %v", m)
	}
	if _, text := w.get(sendPath(chat) + "&response_id=" + id); !strings.Contains(text, `"status":false`) || !strings.Contains(text, "The request is ended!") {
		t.Errorf("resume after the end: %s", text)
	}
	w.site.Configure(func(o *Options) { o.EndedShape, o.NotDoneStopped = "error", true })
	if _, text := w.get(sendPath(chat) + "&response_id=" + id); !strings.Contains(text, `{"error":{`) {
		t.Errorf("resume after the end, other shape: %s", text)
	}
	if at(w.read(chat), "chat", "messages", 1, "done") != false {
		t.Error("NotDoneStopped has no effect")
	}
}

func TestStuckStaysStuck(t *testing.T) {
	w, clock := slow(t, Options{})
	chat := start(w, "stuck\n!rehearsal fault=stuck n=2")
	clock.move(100 * time.Hour)
	m := at(w.read(chat), "chat", "messages", 1)
	if at(m, "done") != false || at(m, "content_list", -1, "status") != "typing" {
		t.Errorf("after 100 hours: %v", m)
	}
	if _, text := w.post(sendPath(chat), body(chat, "", "next")); !strings.Contains(text, "The chat is in progress!") {
		t.Errorf("next: %s", text)
	}
}

func TestLateAndGone(t *testing.T) {
	w, clock := slow(t, Options{})
	chat := start(w, "late\n!rehearsal fault=late delay=90s\n!rehearsal fault=gone delay=200s")
	clock.move(89 * time.Second)
	if data := w.read(chat); len(at(data, "chat", "messages").([]any)) != 0 || at(data, "currentId") != nil {
		t.Errorf("before its time: %v", data)
	}
	clock.move(time.Second)
	if n := len(at(w.read(chat), "chat", "messages").([]any)); n != 2 {
		t.Errorf("%d messages after it", n)
	}
	clock.move(110 * time.Second)
	if w.read(chat) != nil {
		t.Error("the chat is still there")
	}
}

func TestDual(t *testing.T) {
	for _, asList := range []bool{false, true} {
		w := dial(t, Options{DualAsList: asList, HistoryArray: true, KeepFID: true})
		chat, frames := w.ask("two\n!rehearsal fault=dual")
		if at(frames[0], "response.created", "response_index") != "0" || at(frames[1], "response.created", "response_index") != "1" {
			t.Errorf("frames %v %v", frames[0], frames[1])
		}
		data := w.read(chat)
		children := at(data, "chat", "messages", 0, "childrenIds").([]any)
		if ids := at(data, "currentResponseIds").([]any); len(ids) != 2 || len(children) != map[bool]int{false: 2, true: 1}[asList] {
			t.Errorf("current %v, children %v", ids, children)
		}
		if _, isArray := at(data, "chat", "history", "messages").([]any); !isArray {
			t.Error("HistoryArray has no effect")
		}
	}
}

func TestListPages(t *testing.T) {
	w := dial(t, Options{PageSize: 2})
	for range 3 {
		w.newChat()
	}
	count := func(page int) int {
		_, text := w.get(fmt.Sprintf("/api/v2/chats/?page=%d", page))
		return len(decode(t, text)["data"].([]any))
	}
	if a, b, c := count(1), count(2), count(3); a != 2 || b != 1 || c != 0 {
		t.Errorf("pages of %d, %d, %d", a, b, c)
	}
	_, text := w.get("/api/v2/chats/?page=2")
	id := at(decode(t, text), "data", 0, "id").(string)
	if _, text := w.must("DELETE", "/api/v2/chats/"+id, ""); !strings.Contains(text, `"data":{"status":true}`) {
		t.Errorf("delete: %s", text)
	}
	if n := count(2); n != 0 || w.read(id) != nil {
		t.Errorf("%d on page 2 after a deletion", n)
	}
}

func TestGuests(t *testing.T) {
	w := dial(t, Options{})
	w.login("")
	chat, _ := w.ask("as a guest")
	if answerIn(w.read(chat)) != Answer("as a guest") {
		t.Error("a guest cannot read the chat")
	}
	if _, text := w.get("/api/v2/chats/?page=1"); !strings.Contains(text, `"code":"Unauthorized"`) {
		t.Errorf("a guest's list: %s", text)
	}
	_, page := w.get("/")
	if !strings.Contains(page, "Log in") || strings.Contains(page, `"user":`) {
		t.Error("the page does not look like a guest's")
	}
	w.site.Configure(func(o *Options) { o.LoginWall = true })
	if reply, _ := w.get("/"); reply.StatusCode != 302 || reply.Header.Get("Location") != "/auth?action=signin" {
		t.Errorf("login wall: %d %s", reply.StatusCode, reply.Header.Get("Location"))
	}
}

func TestKeepAliveFrames(t *testing.T) {
	w := dial(t, Options{Clock: &jumpingClock{now: time.Unix(1_790_000_000, 0)}})
	_, frames := w.ask("quiet\n!rehearsal fault=pause delay=61s")
	n := 0
	for _, f := range frames {
		if at(f, "response.info", "action") == "keep_alive" {
			n++
		}
	}
	if n != 6 {
		t.Errorf("%d keep_alive frames in a silence of 61 s", n)
	}
}
