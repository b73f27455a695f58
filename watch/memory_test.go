package watch

import (
	"testing"
	"time"

	"watcher/state"
)

func TestJudge(t *testing.T) {
	const grace, gap, poll = 2 * time.Minute, 30 * time.Second, time.Minute
	zero := time.Now()
	at := func(s int) time.Time { return zero.Add(time.Duration(s) * time.Second) }
	empty, full, vague := Turn{Empty: true}, Turn{Message: "m"}, Turn{}
	refused := &trouble{class: ClassQuota}
	for _, c := range []struct {
		name  string
		d     doubt
		t     Turn
		at    int // the read began; it takes a second
		want  ruling
		empty int // when the first read that counts had ended; 0: none
		next  int // -1: about a poll later
	}{
		{"a message, early", doubt{since: zero}, full, 1, itLeft, 0, 0},
		{"empty too early", doubt{since: zero}, empty, 1, undecided, 0, 120},
		{"began before the end of grace", doubt{since: zero}, empty, 119, undecided, 0, 120},
		{"first that counts", doubt{since: zero}, empty, 120, undecided, 121, 151},
		{"second too soon", doubt{since: zero, empty: at(121)}, empty, 140, undecided, 121, 151},
		{"second", doubt{since: zero, empty: at(121)}, empty, 151, itNeverLeft, 121, 0},
		{"second, a message", doubt{since: zero, empty: at(121)}, full, 151, itLeft, 121, 0},
		{"neither empty nor there", doubt{since: zero, empty: at(121)}, vague, 151, undecided, 0, -1},
		{"refused: counts at once", doubt{since: zero, refusal: refused}, empty, 0, undecided, 1, 31},
		{"refused: second", doubt{since: zero, refusal: refused, empty: at(1)}, empty, 31, itNeverLeft, 1, 0},
		{"refused, a message", doubt{since: zero, refusal: refused, empty: at(1)}, full, 31, itLeft, 1, 0},
		{"confirmed: never", doubt{since: zero, confirmed: true, empty: at(121)}, empty, 500, undecided, 0, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, what, next := c.d.judge(c.t, at(c.at), at(c.at+1), grace, gap, poll)
			if what != c.want {
				t.Errorf("ruling %d, want %d", what, c.want)
			}
			if want := at(c.empty); c.empty == 0 && !d.empty.IsZero() || c.empty != 0 && !d.empty.Equal(want) {
				t.Errorf("empty at %v, want %ds", d.empty.Sub(zero), c.empty)
			}
			if c.next > 0 && !next.Equal(at(c.next)) || c.next < 0 && next.Before(at(c.at+50)) {
				t.Errorf("next at %v, want %ds", next.Sub(zero), c.next)
			}
		})
	}
}

func TestPatienceCountsWatchedTimeOnly(t *testing.T) {
	const poll, stall = time.Minute, 10 * time.Minute
	now := time.Now()
	var p patience
	read := func(progress int, later time.Duration) string {
		now = now.Add(later)
		p = p.grow(Turn{Progress: progress}, now, poll)
		return p.verdict(now, stall)
	}
	read(1, 0)
	for i := range 3 {
		if got := read(1, time.Hour); got != "" { // asleep: two polls each
			t.Fatalf("verdict %q after %d reads an hour apart", got, i+2)
		}
	}
	if read(2, poll); p.idle != 0 {
		t.Errorf("idle %v after growth", p.idle)
	}
	for range 9 {
		if got := read(2, poll); got != "" {
			t.Fatalf("verdict %q after %v", got, p.idle)
		}
	}
	if got := read(2, poll); got != ClassStalled {
		t.Errorf("verdict %q after %v, want stalled", got, p.idle)
	}
}

func TestDeadline(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Now()
	unix := func(d time.Duration) int64 { return now.Add(d).Unix() }
	for _, c := range []struct {
		name      string
		asked, at int64
		left      time.Duration
	}{
		{"nothing known", 0, 0, day},
		{"the marker's time", 0, unix(-time.Hour), day - time.Hour},
		{"the site's time wins", unix(-2 * time.Hour), unix(-time.Hour), day - 2*time.Hour},
		{"long ago", unix(-100 * day), 0, 0},
		{"in the future", unix(100 * day), 0, day},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := patience{}.expires(c.asked, c.at, now, day)
			if d := p.deadline.Sub(now) - c.left; d < -2*time.Second || d > 2*time.Second {
				t.Errorf("deadline in %v, want %v", p.deadline.Sub(now), c.left)
			}
			// A clock that jumps by a day moves nothing.
			jumped := now.Round(0).Add(day)
			if q := p.expires(c.asked, c.at, jumped, day); !q.deadline.Equal(p.deadline) {
				t.Errorf("the deadline moved by %v", q.deadline.Sub(p.deadline))
			}
		})
	}
}

func TestOurs(t *testing.T) {
	for _, c := range []struct {
		by, owner string
		want      bool
	}{{"me", "me", true}, {"me", "", true}, {"you", "me", false}, {"", "me", false}, {"", "", false}} {
		if got := ours(state.Marker{By: c.by}, c.owner); got != c.want {
			t.Errorf("ours(by %q, owner %q) = %v", c.by, c.owner, got)
		}
	}
}
