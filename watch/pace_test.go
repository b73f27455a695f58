package watch_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"watcher/watch"
	"watcher/watch/watchtest"
)

// ledger is a Pace in memory, as a profile keeps it in files.
type ledger struct {
	mu    sync.Mutex
	last  time.Time
	chats map[string]string
}

func (l *ledger) LastSend() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

func (l *ledger) Sent(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = at
}

func (l *ledger) Open(address, prompt string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chats[address] = prompt
}

func (l *ledger) Close(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.chats, address)
}

func (l *ledger) Unanswered() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.chats)
}

func paceRig(t *testing.T, f func(t *testing.T, r *rig, l *ledger)) {
	t.Helper()
	bubble(t, func(t *testing.T, r *rig) {
		l := &ledger{chats: map[string]string{}}
		r.cfg.Pace = l
		f(t, r, l)
	})
}

// The time between two sends is kept over restarts and between calls.
func TestGapOverRestarts(t *testing.T) {
	paceRig(t, func(t *testing.T, r *rig, _ *ledger) {
		r.cfg.SendGap = 20 * time.Minute
		for i := range 3 {
			r.write(fmt.Sprintf("%d.prompt", i), fmt.Sprint("text ", i))
		}
		for range 30 {
			_, stop := r.start()
			pass(2 * time.Minute)
			stop()
		}
		posts := r.chat.Accepted()
		if len(posts) != 3 {
			t.Fatalf("%d sends\n%s", len(posts), r.log)
		}
		for i, p := range posts[1:] {
			if d := p.At.Sub(posts[i].At); d < 18*time.Minute || d > 26*time.Minute {
				t.Errorf("send %d came %v after the one before", i+1, d)
			}
		}
	})
}

// A call inside the gap waits, if that is worth while.
func TestGenerateInsideTheGap(t *testing.T) {
	for gap, waits := range map[time.Duration]bool{30 * time.Second: true, 10 * time.Minute: false} {
		t.Run(gap.String(), func(t *testing.T) {
			paceRig(t, func(t *testing.T, r *rig, l *ledger) {
				r.cfg.SendGap = gap
				r.write("a.prompt", "one")
				r.write("b.prompt", "two")
				r.outcome(r.generate()[0], watch.SentNow, "", "")
				began := time.Now()
				got := r.generate("b.prompt")[0]
				took := time.Since(began)
				if waits {
					if r.outcome(got, watch.SentNow, "", ""); took < gap*8/10 || took > gap*12/10 {
						t.Errorf("took %v", took)
					}
					return
				}
				r.outcome(got, watch.InProgress, "", "time between two sends")
				if took > 10*time.Second || got.Next < 8*time.Minute || got.Next > 12*time.Minute {
					t.Errorf("took %v, next %v", took, got.Next)
				}
				l.last = time.Now().Add(100 * time.Hour) // the clock was set back: one gap, no more
				if got := r.generate("b.prompt")[0]; got.Outcome != watch.InProgress || got.Next > 12*time.Minute {
					t.Errorf("result = %+v", got)
				}
				l.last = time.Now().Add(-gap * 2)
				r.outcome(r.generate("b.prompt")[0], watch.SentNow, "", "")
			})
		})
	}
}

// The chats that earlier calls left unanswered count, wherever their folders
// are, and are looked after when they are in the way.
func TestInFlightOverCalls(t *testing.T) {
	paceRig(t, func(t *testing.T, r *rig, l *ledger) {
		r.cfg.SendGap, r.cfg.InFlight = 0, 2
		r.chat.Script(func(prompt string, _ int) watchtest.Plan {
			return watchtest.Plan{Think: map[bool]time.Duration{true: time.Hour, false: 3 * time.Minute}[prompt == "slow"]}
		})
		r.write("x/a.prompt", "slow")
		r.write("y/b.prompt", "quick")
		r.write("y/bystander.prompt", "nobody asked")
		r.write("z/c.prompt", "third")
		r.outcome(r.generate("x/a.prompt")[0], watch.SentNow, "", "")
		r.outcome(r.generate("y/b.prompt")[0], watch.SentNow, "", "")
		if len(l.chats) != 2 || l.chats[r.marker("x/a").Address] != r.path("x/a.prompt") {
			t.Errorf("open chats: %v", l.chats)
		}
		got := r.generate("z/c.prompt")[0]
		r.outcome(got, watch.InProgress, "", "2 chats are unanswered")
		pass(3 * time.Minute)
		r.outcome(r.generate("z/c.prompt")[0], watch.SentNow, "", "")
		r.answered("y/b", "quick") // it was in the way, and nobody else would have come
		if len(l.chats) != 2 || r.chat.Count("nobody asked") > 0 {
			t.Errorf("open chats: %v", l.chats)
		}
		pass(2 * time.Hour)
		r.outcome(r.generate("x/a.prompt", "z/c.prompt")[0], watch.Done, "", "")
		if len(l.chats) != 0 {
			t.Errorf("open chats: %v", l.chats)
		}
	})
}

// What the ledger holds by mistake, or about folders that are gone, holds up
// nobody and sends nothing.
func TestLedgerThatIsWrong(t *testing.T) {
	paceRig(t, func(t *testing.T, r *rig, l *ledger) {
		r.cfg.InFlight = 1
		r.write("other/new.prompt", "nobody asked")
		r.write("other/done.prompt", "done")
		r.write("other/done.md", "by hand")
		r.write("a.prompt", "hello")
		for i, file := range []string{"other/new.prompt", "other/done.prompt", "other/none.prompt", "other/text.txt"} {
			l.chats[fmt.Sprint("https://chat.example/c/", i)] = r.path(file)
		}
		gone := "https://chat.example/c/gone"
		l.chats[gone] = r.path("no/such/folder/a.prompt")
		r.outcome(r.generate()[0], watch.SentNow, "", "")
		if n := r.chat.Count("nobody asked"); n != 0 || len(l.chats) != 2 || l.chats[gone] == "" {
			t.Errorf("sent %d, open: %v", n, l.chats)
		}
		if r.read("other/done.md") != "by hand" {
			t.Error("a finished job was touched")
		}
	})
}

// Whatever ends a job takes it off the ledger.
func TestLedgerIsClosed(t *testing.T) {
	for name, end := range map[string]func(r *rig){
		"answered":    func(*rig) { pass(20 * time.Minute) },
		"cancelled":   func(r *rig) { r.write("a.prompt.cancel", "") },
		"retired":     func(r *rig) { r.write("a.prompt.hold", ""); r.write("a.prompt.retry", "") },
		"by hand":     func(r *rig) { r.write("a.md", "mine") },
		"taken away":  func(r *rig) { r.write("a.prompt.hold", ""); r.remove("a.md.url") },
		"after death": func(r *rig) { pass(20 * time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			paceRig(t, func(t *testing.T, r *rig, l *ledger) {
				r.chat.Script(plan(watchtest.Plan{Think: 15 * time.Minute}))
				r.write("a.prompt", "hello")
				_, stop := r.start()
				pass(10 * time.Second)
				if len(l.Unanswered()) != 1 || l.LastSend().IsZero() {
					t.Errorf("open chats: %v, last send %v", l.Unanswered(), l.LastSend())
				}
				if name == "after death" {
					stop()
					_, stop = r.start()
				}
				end(r)
				pass(2 * time.Minute)
				stop()
				if len(l.chats) != 0 {
					t.Errorf("open chats: %v\n%s", l.chats, strings.TrimSpace(r.log.String()))
				}
			})
		})
	}
}
