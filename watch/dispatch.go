package watch

import (
	"time"

	"watcher/state"
)

// dispatch decides about every job and hands the courier the best order, if it
// has none. It returns when a decision will be different without an event.
func (l *loop) dispatch(now time.Time) (next time.Time) {
	here, elsewhere := l.unanswered()
	var sendNext, readNext *job
	for _, f := range l.folders {
		if f.dir == nil {
			continue
		}
		for _, j := range f.jobs {
			if l.busy(j) || (j.needsMarker() || l.mayRoute(j)) && !j.believed {
				continue
			}
			j.action = decide(l.view(j, now, here+elsewhere))
			a := j.action
			if a.note != "" {
				l.say(j, a.note)
			}
			switch {
			case a.verb == wait && !a.queue:
				// That a new file has to settle goes without saying.
				if a.reason != reasonChanging || now.Sub(j.since) > 2*l.settle(j) {
					l.say(j, a.reason)
				}
			case (a.verb == send || a.verb == route) && !a.at.After(now):
				sendNext = firstToSend(sendNext, j)
			case a.verb.acts() && !a.at.After(now):
				readNext = firstToRead(readNext, j)
			}
			if a.at.After(now) {
				next = sooner(next, a.at)
			}
		}
	}
	if l.working {
		return time.Time{} // its report decides anew
	}
	j := sendNext
	if j == nil || readNext != nil && !l.lastRead {
		j = readNext // they take turns, so that neither starves
	}
	if j != nil {
		l.hand(j)
		return time.Time{}
	}
	return next
}

// view gathers what a decision depends on.
func (l *loop) view(j *job, now time.Time, unanswered int) view {
	v := view{
		now: now, files: j.files,
		unsettled: j.unsettled, wantsReady: l.cfg.RequireReady, folderHold: j.folder.hold, banned: j.banned,
		sendAt: l.sendAt, unanswered: unanswered, inFlight: l.cfg.InFlight,
		brake:  l.brake.Pause,
		marker: j.marker, owner: l.owner, confirmed: j.doubt.confirmed,
		exempt: j.doubt.refusal != nil && !j.doubt.empty.IsZero(), due: j.due,
		tooOld:  j.marker.At != 0 && now.Sub(time.Unix(j.marker.At, 0)) >= l.cfg.Expire,
		askedAt: j.askedAt, askAt: later(j.askAt, j.folder.brake.Until), grace: l.cfg.Grace,
	}
	if j.phase() != state.New {
		v.other = l.otherView(j)
		return v
	}
	if j.unsettled == "" {
		v.awaits, v.awaitsTill = l.awaits(j, now)
		v.unsettled = j.unsettled
	}
	v.other = l.otherView(j) // the options are known now
	if v.awaits == "" && now.Before(j.restTill) {
		v.awaits, v.awaitsTill = j.rest, j.restTill
	}
	if v.brake.Class == "" {
		v.brake = j.folder.brake.Pause
	}
	if gone := j.folder.gone; gone.Class != "" {
		v.brake, v.brake.Until = gone, now.Add(24*time.Hour)
	}
	if at, lost := j.folder.lost[j.name]; lost {
		v.lostUntil = at.Add(l.mourning())
	}
	return v
}

// firstToSend is the job whose turn it is: the folder that waited longest,
// there the first by name. One whose last try brought the queue's trouble goes
// behind the others, so that it cannot hold them up for ever.
func firstToSend(a, b *job) *job {
	switch {
	case a == nil:
		return b
	case a.tries != b.tries:
		if a.tries < b.tries {
			return a
		}
		return b
	case a.folder != b.folder:
		if fa, fb := a.folder, b.folder; fa.sentAt.Before(fb.sentAt) || fa.sentAt.Equal(fb.sentAt) && fa.path < fb.path {
			return a
		}
		return b
	case a.name < b.name:
		return a
	}
	return b
}

// firstToRead is the job that waited longest for its read. What a person asked
// for comes before all.
func firstToRead(a, b *job) *job {
	if a != nil && (a.action.verb >= cancel) != (b.action.verb >= cancel) {
		if a.action.verb >= cancel {
			return a
		}
		return b
	}
	if a == nil || b.due.Before(a.due) || b.due.Equal(a.due) && b.label() < a.label() {
		return b
	}
	return a
}

// hand gives the courier an order. It is idle, so this does not wait.
func (l *loop) hand(j *job) {
	v := j.action.verb
	o := order{verb: v, dir: j.folder.dir, name: j.name, settled: j.glance, seen: j.seen, changed: j.changed, row: l.row,
		marker: j.marker, doubt: j.doubt, patience: j.patience, owner: l.owner, mute: l.mute(time.Now()),
		enclosed: j.wish.terms.files, expire: j.expire, wanted: j.wantsEngine(), kept: j.kept}
	o.shared = v == cancel && j.marker.Address != "" && l.jobIn(j.marker.Address, j) != nil
	l.working, l.current, l.job = true, o, j
	l.lastRead, l.handed = v != send && v != route, time.Now()
	if !l.lastRead {
		j.folder.sentAt = time.Now()
		l.progress(j, "sending")
	}
	l.orders <- o
}
