package watch

import (
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"watcher/state"
)

// finish takes in a report.
func (l *loop) finish(r report) {
	now := time.Now()
	j := l.job
	l.working, l.job = false, nil
	for _, d := range l.closing {
		_ = d.Close() // it was only read through since
	}
	l.closing = nil
	if r.owner != "" {
		l.owner = r.owner
	}
	l.pace(r, now)
	l.observeReport(j, r, now)
	known := j.folder.dir == r.order.dir && j.folder.jobs[j.name] == j
	l.account(j, r, now, known)
	if !known {
		return // its folder went away, or the job did
	}
	files, lost, err := j.folder.dir.Look(j.name) // which remembers its marker
	if err != nil {
		l.line(zerolog.WarnLevel, j).AnErr("err", err).Msg("cannot look at the job")
		files, j.folder.dirty = j.files, true
		if r.marker != nil {
			files = files.With(state.KindMarker) // it was made, whatever can be seen now
		}
	}
	if lost {
		j.folder.lost[j.name], j.folder.dirty = now, true
	}
	l.update(j, files, now, &r)
	j.unseen = err
	l.told(j, r)
}

// pace keeps the time between two sends. It counts from the end of one that
// came as far as the site, whatever became of it there.
func (l *loop) pace(r report, now time.Time) {
	if r.order.verb != send {
		return
	}
	if r.owner != "" {
		l.sendAt = now.Add(jitter(l.cfg.SendGap))
		if l.cfg.Pace != nil {
			l.cfg.Pace.Sent(now)
		}
	}
	switch {
	case r.altered:
		l.row++
	case r.spoke == send:
		l.row = 0
	}
}

// remember takes over what the courier learned, as far as it speaks of the
// phase that the job is in now.
func (j *job) remember(r *report, poll time.Duration, now time.Time) {
	j.triedAt, j.trouble, j.banned = now, r.trouble, j.banned || r.banned
	j.unread = r.trouble != nil && r.spoke == rest && (r.order.verb != send || r.doubt.refusal != nil)
	if r.spoke == send {
		j.sentAt = now
	}
	if r.order.verb == route { // all that it went by may be another by now
		j.weighed, j.believed, j.failure = false, false, state.Failure{}
		j.barred, j.barredAt = r.barred, j.glance
	}
	if r.turn != nil {
		j.length = utf8.RuneCountInString(r.turn.Text)
	}
	if r.order.verb >= cancel && j.asks() {
		if j.askAt = r.next; r.trouble != nil {
			j.askAt = now.Add(jitter(poll))
		}
	}
	switch j.phase() {
	case state.New:
		switch {
		case r.wait != "" && !r.next.IsZero():
			j.rest, j.restTill = r.wait, r.next
		case r.wait != "":
			j.unsettle(now, r.wait)
		}
		if t := r.trouble; t != nil && r.owner != "" && (t.class == ClassBrowser || t.class == ClassSiteChanged) {
			j.tries++ // the prompt itself may be what the page cannot bear
		}
	case state.Sent:
		j.rememberSent(r, poll, now)
	}
}

func (j *job) rememberSent(r *report, poll time.Duration, now time.Time) {
	j.kept = r.kept
	j.doubt, j.patience, j.seen, j.changed, j.expire = r.doubt, r.patience, r.seen, r.changed, r.expire
	if r.marker != nil {
		j.marker, j.believed = *r.marker, true
	}
	switch {
	case r.stale: // the marker that counts is not the one all this is about
		j.believed, j.doubt, j.patience, j.due = false, doubt{}, patience{}, now
	case !r.next.IsZero():
		j.due = r.next
	case r.trouble != nil:
		j.due = now.Add(jitter(min(poll<<min(j.repeats.count, 4), max(poll, longestPoll))))
	default:
		j.due = now.Add(jitter(poll))
	}
}

// longestPoll bounds how far apart the reads of a chat get that cannot be read.
const longestPoll = 15 * time.Minute
