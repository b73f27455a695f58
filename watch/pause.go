package watch

import (
	"math/rand/v2"
	"time"
)

// brake is a pause that knows how to grow. The zero brake is no pause.
type brake struct{ Pause }

// fail begins or goes on with a pause. It reports whether this is news: another
// class, or the first.
func (b *brake) fail(t *trouble, now time.Time) (news bool) {
	if news = b.Class != t.class; news {
		b.Pause = Pause{Class: t.class, Since: now}
	}
	b.Fails++
	b.Reason, b.Hint, b.Person = t.text, t.hint, t.person
	first, longest := backOff(t.class)
	b.Until = now.Add(jitter(min(first<<min(b.Fails-1, 16), longest)))
	if t.until.After(now) {
		// The site's word, but by its clock and ours: no longer than a day.
		b.Until = now.Add(min(t.until.Sub(now), 24*time.Hour) + time.Second)
	}
	return news
}

// end lifts the pause and returns how often it had failed.
func (b *brake) end() (fails int) {
	fails = b.Fails
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
