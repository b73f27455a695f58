package watch

import (
	"time"

	"watcher/state"
)

// What one process remembers about a sent job. None of it is in a file: it is
// measured on the monotonic clock, and only patience is lost with it.

// doubt is what is known about a prompt that may have left. A browser that
// could still send it is dead; what was on its way arrives within the grace
// time. So two reads after that, some time apart, that both show positively no
// message at all, prove that it never will be there.
type doubt struct {
	since     time.Time // no browser that could still send lived after this; zero: not known yet
	refusal   *trouble  // the site refused it: nothing is on its way, so there is no grace to wait for
	empty     time.Time // when the first read that counts had ended
	confirmed bool      // this process saw the send succeed: never retired
}

// ruling is what a read decides about a doubtful job.
type ruling uint8

const (
	undecided ruling = iota // read again at the time given
	itLeft
	itNeverLeft
)

// judge takes one read that began and ended at the times given.
func (d doubt) judge(t Turn, began, ended time.Time, grace, gap, poll time.Duration) (doubt, ruling, time.Time) {
	if t.Message != "" {
		return d, itLeft, time.Time{}
	}
	if !t.Empty || d.confirmed {
		d.empty = time.Time{}
		return d, undecided, ended.Add(jitter(poll))
	}
	counts := d.since
	if d.refusal == nil {
		counts = counts.Add(grace)
	}
	switch {
	case began.Before(counts):
		return d, undecided, counts
	case d.empty.IsZero():
		d.empty = ended
		return d, undecided, ended.Add(gap)
	case began.Before(d.empty.Add(gap)):
		return d, undecided, d.empty.Add(gap)
	}
	return d, itNeverLeft, time.Time{}
}

// patience is how long a chat has been watched without an answer.
type patience struct {
	seen     bool
	progress int           // at the last read
	readAt   time.Time     // the last read that worked
	idle     time.Duration // watched time without growth
	basis    int64         // what the deadline was counted from, unix seconds
	expire   time.Duration // and how long that gave
	deadline time.Time     // on the monotonic clock
}

// expires sets the deadline: expire after the site's time of our message, else
// after the marker's, else after now. The wall clock is asked once for each
// basis, and a time in the future counts as now: a clock that jumps later
// moves no deadline.
func (p patience) expires(asked, at int64, now time.Time, expire time.Duration) patience {
	basis := asked
	if basis == 0 {
		basis = at
	}
	if !p.deadline.IsZero() && expire == p.expire && (basis == p.basis || basis == 0) {
		return p
	}
	if basis == 0 {
		basis = p.basis
	}
	age := time.Duration(0)
	if basis != 0 {
		age = max(0, min(now.Sub(time.Unix(basis, 0)), expire))
	}
	p.basis, p.expire, p.deadline = basis, expire, now.Add(expire-age)
	return p
}

// grow takes one read. Only time that was really watched counts as idle: after
// an hour without a successful read, or asleep, at most two polls are added.
func (p patience) grow(t Turn, now time.Time, poll time.Duration) patience {
	if p.seen && t.Progress == p.progress {
		p.idle += min(now.Sub(p.readAt), 2*poll)
	} else {
		p.idle = 0
	}
	p.seen, p.progress, p.readAt = true, t.Progress, now
	return p
}

// verdict says, right after a read, whether patience is over: a failure class
// or "".
func (p patience) verdict(now time.Time, stall time.Duration) string {
	switch {
	case !p.deadline.IsZero() && !now.Before(p.deadline):
		return ClassExpired
	case p.idle >= stall:
		return ClassStalled
	}
	return ""
}

// ours reports whether a marker counts as one of our unanswered chats.
func ours(m state.Marker, owner string) bool {
	return m.Engine == "" && m.By != "" && (owner == "" || m.By == owner)
}
