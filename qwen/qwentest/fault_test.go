package qwentest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestDrops cuts the connection in every way and looks at what was taken.
func TestDrops(t *testing.T) {
	for kind, want := range map[Kind][3]int{ // posted, accepted, unread
		DropRST: {1, 1, 0}, DropFIN: {1, 1, 0}, LoseRST: {1, 0, 0}, LoseFIN: {1, 0, 0}, HeadersRST: {1, 1, 0},
		HeadersFIN: {1, 1, 0}, UnreadRST: {0, 0, 1}, UnreadFIN: {0, 0, 1}, PartialRST: {1, 0, 0}, PartialFIN: {1, 0, 0},
	} {
		for _, mode := range []Mode{ModeHTTP, ModeHTTPS1, ModeHTTPS2} {
			t.Run(fmt.Sprintf("%s/%d", kind, mode), func(t *testing.T) {
				w := dialMode(t, Options{}, mode)
				w.site.Fault(Fault{Kind: kind, N: 300})
				chat := w.newChat()
				if _, text, err := w.do("POST", sendPath(chat), body(chat, "", "drop me")); err == nil {
					t.Errorf("there was a reply: %s", text)
				}
				r := w.site.Report()
				got := [3]int{0, 0, r.Unread}
				for _, e := range r.Entries {
					got[0] += e.Posted
					got[1] += e.Accepted
				}
				if got != want {
					t.Errorf("posted, accepted, unread %v, want %v", got, want)
				}
				if want[1] == 1 {
					return
				}
				if _, text := w.post(sendPath(chat), body(chat, "", "drop me")); !strings.Contains(text, "response.created") {
					t.Errorf("the second try: %s", text)
				}
			})
		}
	}
}

func TestDropOnlyOnAReusedConnection(t *testing.T) {
	w := dial(t, Options{})
	w.site.Fault(Fault{Kind: DropRST, Reused: true})
	chat := w.newChat()
	w.client.CloseIdleConnections()
	if _, text := w.post(sendPath(chat), body(chat, "", "fresh")); !strings.Contains(text, "response.created") {
		t.Fatalf("on a fresh connection: %s", text)
	}
	chat = w.newChat()
	if _, _, err := w.do("POST", sendPath(chat), body(chat, "", "reused")); err == nil {
		t.Fatal("no drop on a reused connection")
	}
	log := w.site.Requests()
	if last := log[len(log)-1]; !last.Reused || last.Status != 0 || last.Fault != "drop-rst" {
		t.Errorf("log: %+v", last)
	}
}

// TestCutGoesOn cuts the stream; the answer is finished without a reader.
func TestCutGoesOn(t *testing.T) {
	w := dial(t, Options{ChunkDelay: 2 * time.Millisecond})
	chat := w.newChat()
	prompt := "cut me\n!rehearsal answer=long fault=cut n=4"
	_, text, err := w.do("POST", sendPath(chat), body(chat, "", prompt))
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(text, "response.created") || strings.Contains(text, Sum(prompt)+`"`) {
		t.Fatalf("err %v, %d bytes", err, len(text))
	}
	for deadline := time.Now().Add(30 * time.Second); at(w.read(chat), "chat", "messages", 1, "done") != true; {
		if time.Now().After(deadline) {
			t.Fatal("the answer is not finished")
		}
	}
	if answerIn(w.read(chat)) != Answer(prompt) {
		t.Error("the answer is not whole")
	}
}

func TestRefusalFaults(t *testing.T) {
	for kind, want := range map[Kind]string{
		Quota: `"code":"RateLimited"`, TokenQuota: `Allocated quota exceeded`, Challenge: `"ret":["FAIL_SYS_USER_VALIDATE","RGV587_ERROR`,
		ChallengeHTML: `aliyun_waf_aa`, Busy: `The chat is in progress!`, ServerBusy: `"code":"internal_error"`,
		Unauthorized: `"code":"Unauthorized"`, Internal: `Internal error`, Garbage: `<html>`, NotFound: `"code":"Not_Found"`,
	} {
		for _, take := range []bool{false, true} {
			w := dial(t, Options{})
			w.site.Fault(Fault{Kind: kind, Take: take, N: 7})
			chat := w.newChat()
			reply, text := w.post(sendPath(chat), body(chat, "", "refuse me"))
			if reply.StatusCode != 200 || !strings.Contains(text, want) {
				t.Errorf("%s: %d %.200s", kind, reply.StatusCode, text)
			}
			accepted := w.site.Find("refuse me").Accepted == 1
			if accepted != take {
				t.Errorf("%s with Take=%v: accepted %v", kind, take, accepted)
			}
			if kind == Quota && !strings.Contains(text, `"num":7`) {
				t.Errorf("quota without hours: %s", text)
			}
		}
	}
}

func TestStatusFaults(t *testing.T) {
	w := dial(t, Options{})
	for _, code := range []int{500, 502, 503, 429, 408, 421, 425, 307} {
		w.site.Fault(Fault{Kind: Status, N: code})
		chat := w.newChat()
		reply, _ := w.post(sendPath(chat), body(chat, "", "status"))
		if reply.StatusCode != code {
			t.Errorf("got %d, want %d", reply.StatusCode, code)
		}
		if code == http.StatusTemporaryRedirect && !strings.Contains(reply.Header.Get("Location"), "/api/v2/chat/completions?") {
			t.Errorf("307 to %q", reply.Header.Get("Location"))
		}
	}
	if e := w.site.Find("status"); e.Accepted != 0 || e.Posted != 8 {
		t.Errorf("%+v", e)
	}
}

func TestErrorShapes(t *testing.T) {
	for shape, want := range map[string][2]string{
		"json": {"application/json", `{"data":{`}, "raw": {"text/event-stream", `{"data":{`}, "framed": {"text/event-stream", `data: {"data":{`},
	} {
		w := dial(t, Options{ErrorShape: shape})
		w.site.Fault(Fault{Kind: Busy})
		chat := w.newChat()
		reply, text := w.post(sendPath(chat), body(chat, "", "x"))
		if !strings.HasPrefix(reply.Header.Get("Content-Type"), want[0]) || !strings.HasPrefix(text, want[1]) {
			t.Errorf("%s: %s %s", shape, reply.Header.Get("Content-Type"), text)
		}
	}
}

// TestFaultsOnOtherEndpoints puts the same faults elsewhere.
func TestFaultsOnOtherEndpoints(t *testing.T) {
	w := dial(t, Options{})
	chat, _ := w.ask("where")
	for on, path := range map[string]string{OnChat: "/api/v2/chats/" + chat, OnList: "/api/v2/chats/?page=1", OnAuths: "/api/v1/auths/", OnPage: "/", OnOther: "/api/models"} {
		w.site.Fault(Fault{Kind: Status, N: 503, On: on})
		if reply, _ := w.get(path); reply.StatusCode != 503 {
			t.Errorf("%s: %d", on, reply.StatusCode)
		}
		if reply, _ := w.get(path); reply.StatusCode != 200 {
			t.Errorf("%s, second time: %d", on, reply.StatusCode)
		}
	}
	w.site.Fault(Fault{Kind: Challenge, On: OnNew, Times: Always})
	for range 2 {
		if _, text := w.post("/api/v2/chats/new", `{"models":["qwen3.8-max"]}`); !strings.Contains(text, "FAIL_SYS") {
			t.Errorf("chats/new: %s", text)
		}
	}
	w.post("/_____tmd_____/solve", "")
	w.newChat()
	w.site.Fault(Fault{Kind: WrongChat})
	if got := at(w.read(chat), "id"); got == chat {
		t.Error("the right chat was served")
	}
	w.site.Fault(Fault{Kind: NotFound, On: OnChat, Match: "nobody wrote this"})
	if w.read(chat) == nil {
		t.Error("a fault for another prompt struck")
	}
}

func TestFaultJSONRefusesWhatItDoesNotKnow(t *testing.T) {
	s := New(Options{})
	for _, bad := range []string{`{"kind":"nonsense"}`, `{"kind":"cut","colour":1}`, `{"kind":"slow","delay":"soon"}`, `[`} {
		if err := s.FaultJSON([]byte(bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	if err := s.FaultJSON([]byte(`[{"kind":"cut","n":3},{"Kind":"slow","delay":"20ms","times":-1}]`)); err != nil {
		t.Fatal(err)
	}
	if got := s.standing(); len(got) != 2 || got[1]["Delay"] != "20ms" {
		t.Errorf("standing: %v", got)
	}
	if !bytes.Contains(encode(s.Options().Markup), []byte("aug")) {
		t.Error("the default markup is not August's")
	}
}
