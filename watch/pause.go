package watch

import (
	"math/rand/v2"
	"time"
)

// brake is a pause with its back-off. The zero brake is no pause.
type brake struct {
	Pause
	step  time.Duration // the wait before the next probe
	fails int           // in this pause
}

// fail begins or goes on with a pause. It reports whether this is news: another
// class, or the first.
func (b *brake) fail(t *trouble, now time.Time) (news bool) {
	first, longest := backOff(t.class)
	if b.Class != t.class {
		b.Pause, b.step, b.fails = Pause{Class: t.class, Since: now}, first, 0
		news = true
	} else {
		b.step = min(2*b.step, longest)
	}
	b.fails++
	b.Reason, b.Hint = t.text, t.hint
	b.Until = now.Add(jitter(b.step))
	if until := t.until; until.After(now) {
		// The site's word, but by its clock and ours: no longer than a day.
		b.Until = now.Add(min(until.Sub(now), 24*time.Hour) + time.Second)
	}
	return news
}

// end lifts the pause and returns how often it had failed.
func (b *brake) end() (fails int) {
	fails = b.fails
	*b = brake{}
	return fails
}

// jitter spreads a wait by a tenth either way, so that many folders, jobs and
// machines do not move in step.
func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return d
	}
	return d - d/10 + rand.N(d/5+1)
}

// throttle keeps a failure that repeats from filling the log.
type throttle struct {
	last  time.Time // of the last line
	count int       // failures since the last success
}

const lineEvery = 30 * time.Second

// fail counts one failure and reports whether to write a line about it.
func (t *throttle) fail(now time.Time) bool {
	t.count++
	if t.count > 1 && now.Sub(t.last) < lineEvery {
		return false
	}
	t.last = now
	return true
}

// ok ends a row of failures and returns how many there were.
func (t *throttle) ok() (count int) {
	count = t.count
	*t = throttle{}
	return count
}
