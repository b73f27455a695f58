package watch

import (
	"time"

	"watcher/state"
)

// over reports whether a request can be answered now.
func (l *loop) over(k *ask, o Outcome, now time.Time) bool {
	j := l.jobOf(k)
	switch {
	case j == nil || (o == Done || o == Failed) && !j.asks():
		return true
	case l.busy(j) || l.asking(j):
		return !k.stay && !now.Before(k.at.Add(l.cfg.Patience))
	case j.asks() && j.action.verb >= cancel:
		return !k.wait && !now.Before(k.at.Add(l.cfg.Patience))
	case k.wait && o != Done && o != Failed:
		return o == CannotSend
	case j.phase() == state.New:
		return l.overNew(k, j, o, now)
	case j.phase() == state.Sent:
		return l.overSent(k, j, o, now)
	}
	return true
}

func (l *loop) overNew(k *ask, j *job, o Outcome, now time.Time) bool {
	switch {
	case o == CannotSend || j.banned:
		return true
	case j.unsettled != "":
		turnedBack := j.balk != "" && j.balk != reasonChanging && !j.triedAt.Before(k.at)
		began := later(k.at, j.entered) // it may be New again since this call
		return turnedBack || !j.lookedAt.Before(began.Add(l.settle(j)))
	case j.action.verb != wait, j.wish.settling && now.Before(k.at.Add(l.cfg.Patience)):
		return false
	case j.action.queue && !j.folder.hold:
		// It waits for its turn, if that may come soon enough.
		end := k.at.Add(l.cfg.Patience)
		return !now.Before(end) || j.action.at.After(end)
	}
	return true
}

// settle is the time that a prompt's two looks are apart.
func (l *loop) settle(j *job) time.Duration {
	if j.folder.leaseless {
		return max(l.cfg.Settle, l.cfg.LeaselessSettle)
	}
	return l.cfg.Settle
}

func (l *loop) overSent(k *ask, j *job, o Outcome, now time.Time) bool {
	tried := !j.triedAt.Before(k.at)
	switch {
	case o == SentNow || !j.believed || j.marker.Engine != "" && j.action.verb == wait:
		return true
	case j.action.verb == prove && k.stay:
		// Stay while the proof makes progress.
		late := !j.doubt.since.IsZero() && now.After(j.doubt.since.Add(l.cfg.Grace+l.cfg.gap()))
		stuck := j.unread || late && j.doubt.empty.IsZero()
		return tried && stuck || l.mute(now) && l.brake.Until.After(now.Add(l.cfg.Grace))
	case j.action.verb == prove:
		return true
	}
	return tried || l.fresh(j, k, now) || l.mute(now)
}

// mute reports whether the queue's pause keeps chats from being read.
func (l *loop) mute(now time.Time) bool {
	return l.brake.Class != "" && stopsReading(l.brake.Class) && now.Before(l.brake.Until)
}

// fresh reports whether the chat was read so lately that a request needs no
// read of its own.
func (l *loop) fresh(j *job, k *ask, now time.Time) bool {
	return !j.triedAt.IsZero() && k.at.Sub(j.triedAt) < l.cfg.Poll*9/10
}

// limit is when a request has to be looked at without an event; zero: never.
func (l *loop) limit(k *ask) time.Time {
	if end := k.at.Add(l.cfg.Patience); time.Now().Before(end) {
		return end
	}
	return time.Time{}
}

func (l *loop) jobOf(k *ask) *job {
	if f := l.folders[k.dir]; f != nil && f.dir != nil {
		return f.jobs[k.name]
	}
	return nil
}
