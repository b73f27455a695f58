package qwentest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestHangs: nothing more comes, and the client leaves when it likes. What was
// taken by then is the place of the hang.
func TestHangs(t *testing.T) {
	for kind, want := range map[Kind][3]int{ // posted, accepted, unread
		UnreadHang: {0, 0, 1}, PartialHang: {1, 0, 0}, Hang: {1, 0, 0}, HeadersHang: {1, 1, 0}, CutHang: {1, 1, 0},
	} {
		for _, mode := range []Mode{ModeHTTP, ModeHTTPS2} {
			t.Run(fmt.Sprintf("%s/%d", kind, mode), func(t *testing.T) {
				w := dialMode(t, Options{}, mode)
				n := 3 // frames
				if kind == PartialHang {
					n = 300 // bytes, so that some of the text is among them
				}
				w.site.Fault(Fault{Kind: kind, N: n})
				chat := w.newChat()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				over := make(chan string, 1)
				go func() { over <- w.readUntilCut(ctx, sendPath(chat), body(chat, "", "hang me\n!rehearsal answer=long")) }()
				w.struck(string(kind))
				if kind == CutHang {
					w.accepted("hang me\n!rehearsal answer=long")
				}
				select {
				case got := <-over:
					t.Errorf("it did not hang: %q", got)
				default:
				}
				cancel()
				<-over
				r := w.site.Report()
				got := [3]int{0, 0, r.Unread}
				for _, e := range r.Entries {
					got[0] += e.Posted
					got[1] += e.Accepted
				}
				if got != want {
					t.Errorf("posted, accepted, unread %v, want %v", got, want)
				}
			})
		}
	}
}

// readUntilCut posts and reads until the context ends it.
func (w *wire) readUntilCut(ctx context.Context, path, body string) string {
	r, err := http.NewRequestWithContext(ctx, "POST", w.server.URL+path, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	for key, value := range map[string]string{"Content-Type": "application/json", "Version": frontEnd, "source": "web",
		"X-Request-Id": "1", "bx-ua": "231!wire", "bx-umidtoken": "wire"} {
		r.Header.Set(key, value)
	}
	reply, err := w.client.Do(r)
	if err != nil {
		return err.Error()
	}
	defer reply.Body.Close()
	text, _ := io.ReadAll(reply.Body)
	return string(text)
}

// struck waits until a fault has struck, and what it takes is written down.
func (w *wire) struck(kind string) {
	w.Helper()
	w.await("the fault "+kind, func() bool {
		for _, line := range w.site.Requests() {
			if line.Fault == kind {
				r := w.site.Report()
				return r.Unread > 0 || len(r.Entries) > 0
			}
		}
		return false
	})
}

// accepted waits until a prompt is a message.
func (w *wire) accepted(prompt string) {
	w.Helper()
	w.await("the message", func() bool { return w.site.Find(prompt).Accepted == 1 })
}

func (w *wire) await(what string, met func() bool) {
	w.Helper()
	for deadline := time.Now().Add(10 * time.Second); !met(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("%s does not come", what)
		}
	}
}

// TestSlows: a silence at each place, by the site's clock, and then all goes on.
func TestSlows(t *testing.T) {
	for _, kind := range []Kind{UnreadSlow, PartialSlow, Slow, HeadersSlow, CutSlow} {
		for _, mode := range []Mode{ModeHTTP, ModeHTTPS2} {
			t.Run(fmt.Sprintf("%s/%d", kind, mode), func(t *testing.T) {
				clock := &jumpingClock{now: time.Unix(1_790_000_000, 0)}
				w := dialMode(t, Options{Clock: clock}, mode)
				w.site.Fault(Fault{Kind: kind, N: 2, Delay: time.Hour})
				begin := clock.Now()
				_, frames := w.ask("slow me")
				if waited := clock.Now().Sub(begin); waited < time.Hour {
					t.Errorf("waited %v", waited)
				}
				if e := w.site.Find("slow me"); e.Posted != 1 || e.Accepted != 1 || e.Partial != 0 || e.Size != len("slow me") {
					t.Errorf("%+v", e)
				}
				if at(frames[0], "response.created") == nil || at(frames[len(frames)-1], "choices", 0, "delta", "status") != "finished" {
					t.Errorf("the stream is not whole: %v", frames)
				}
			})
		}
	}
}

// TestNotProcessed: Go's client repeats a request that the server says it did
// not process, on a new connection or the same; without the fault's Take it is
// true that nothing was taken.
func TestNotProcessed(t *testing.T) {
	for kind, same := range map[Kind]bool{GoAway: false, RefuseStream: true} {
		for _, take := range []bool{false, true} {
			w := dialMode(t, Options{}, ModeHTTPS2)
			w.site.Fault(Fault{Kind: kind, Take: take})
			chat := w.newChat()
			w.post(sendPath(chat), body(chat, "", "repeat me"))
			if e := w.site.Find("repeat me"); e.Posted != 2 || e.Accepted < 1 {
				t.Errorf("%s, taken %v: %+v", kind, take, e)
			}
			log := w.site.Requests()
			first, second := log[len(log)-2], log[len(log)-1]
			if first.Fault != string(kind) || (first.Connection == second.Connection) != same {
				t.Errorf("%s: %+v, then %+v", kind, first, second)
			}
		}
	}
}

// TestGoAwayDone: the request is served, the next one has another connection.
func TestGoAwayDone(t *testing.T) {
	for _, mode := range []Mode{ModeHTTP, ModeHTTPS2} {
		w := dialMode(t, Options{}, mode)
		w.site.Fault(Fault{Kind: GoAwayDone})
		w.ask("served")
		w.get("/api/models")
		log := w.site.Requests()
		if log[len(log)-2].Connection == log[len(log)-1].Connection {
			t.Errorf("mode %d: the connection was used on", mode)
		}
		if e := w.site.Find("served"); e.Posted != 1 || e.Accepted != 1 {
			t.Errorf("%+v", e)
		}
	}
}

// TestOneRequest: no connection is used twice.
func TestOneRequest(t *testing.T) {
	for _, mode := range []Mode{ModeHTTP, ModeHTTPS1, ModeHTTPS2} {
		w := dialMode(t, Options{OneRequest: true}, mode)
		w.ask("alone")
		for _, line := range w.site.Requests() {
			if line.Reused {
				t.Errorf("mode %d: %+v", mode, line)
			}
		}
	}
}
