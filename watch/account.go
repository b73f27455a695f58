package watch

import (
	"time"

	"github.com/rs/zerolog"

	"watcher/state"
)

// account lets a report begin, lengthen or end a pause.
func (l *loop) account(j *job, r report, now time.Time, known bool) {
	t, sending := r.trouble, r.order.verb == send
	switch {
	case t == nil || endsJob(t.class) || t.class == ClassBusy:
	case r.order.verb == route && !r.folder:
		l.pauseOther(j, t, now)
		return
	case r.folder:
		if known {
			l.pauseFolder(j, t, now)
		}
		return
	case sending || readPauses(t.class):
		// A send that reached the page can fail for what no read would show.
		l.needsSend = l.needsSend || sending && r.owner != ""
		l.pause(j, t, now)
	}
	if known && j.folder.brake.Class != "" && (r.wrote || sending && (r.owner != "" || t != nil)) {
		n := j.folder.brake.end()
		l.log.Info().Str("folder", j.folder.path).Int("count", n).Msg("folder can be written again")
	}
	if r.spoke == route && t == nil {
		l.releaseOther()
	}
	if t == nil && (r.spoke == send || r.spoke == collect && stopsReading(l.brake.Class) && !l.needsSend) {
		l.release("it works again")
	}
}

// pause begins or goes on with the queue's pause.
func (l *loop) pause(j *job, t *trouble, now time.Time) {
	news := l.brake.fail(t, now)
	if l.lines.fail(now) || news {
		l.brakeLine(l.line(zerolog.WarnLevel, j), &l.brake, t).Msg("paused")
	}
	if l.cfg.OnPause != nil {
		l.cfg.OnPause(l.brake.Pause)
	}
	if news {
		l.observePause(l.brake.Pause, "")
	}
}

// pauseFolder does the same for one folder, whose disk is at fault.
func (l *loop) pauseFolder(j *job, t *trouble, now time.Time) {
	b := &j.folder.brake
	if b.fail(t, now) {
		l.observePause(b.Pause, j.folder.path)
	}
	if j.folder.lines.fail(now) {
		l.brakeLine(l.line(zerolog.ErrorLevel, j), b, t).Msg("folder paused")
	}
}

func (l *loop) brakeLine(e *zerolog.Event, b *brake, t *trouble) *zerolog.Event {
	what(e, t).Time("until", b.Until)
	if b.Fails > 1 {
		e.Int("count", b.Fails)
	}
	return e
}

// what adds what went wrong to a line, and what can be done.
func what(e *zerolog.Event, t *trouble) *zerolog.Event {
	e.Str("class", t.class).Str("err", t.text)
	if t.hint != "" {
		e.Str("hint", t.hint)
	}
	return e
}

// release ends the queue's pause, and what waited for that is due.
func (l *loop) release(why string) {
	if l.brake.Class == "" {
		return
	}
	class := l.brake.Class
	n := l.brake.end()
	l.needsSend, l.lines = false, throttle{}
	l.log.Info().Str("class", class).Int("count", n).Str("reason", why).Msg("recovered")
	if l.cfg.OnPause != nil {
		l.cfg.OnPause(Pause{})
	}
	l.observe(Event{Kind: EventResumed, Class: class})
	now := time.Now()
	for _, f := range l.folders {
		for _, j := range f.jobs {
			if j.phase() == state.Sent && j.trouble != nil {
				j.due = now
			}
		}
	}
}

// told writes the lines about a report that are the job's own.
func (l *loop) told(j *job, r report) {
	switch {
	case r.order.verb == retry && r.trouble != nil:
		l.say(j, "its .prompt.retry waits: "+r.trouble.text)
	case r.order.verb == retry && r.wrote:
		l.line(zerolog.InfoLevel, j).Str("reason", r.note).Msg("retry")
	case r.note != "":
		l.say(j, r.note)
	}
	if r.order.verb == prove && r.marker != nil && r.marker.Stage == state.StageSent && j.phase() == state.Sent {
		l.address(l.line(zerolog.InfoLevel, j), j).Str("reason", "its message is in the chat").Msg("sent")
	}
	if r.changed && !r.order.changed {
		l.address(l.line(zerolog.WarnLevel, j), j).Str("reason", "it is not sent again for that").
			Msg("changed after it was sent")
	}
	if j.phase() == state.Sent {
		l.progress(j, "waiting")
	}
	t := r.trouble
	switch {
	case t == nil:
		if n := j.repeats.ok(); n > 0 {
			l.address(l.line(zerolog.InfoLevel, j), j).Int("count", n).Msg("recovered")
		}
	case j.phase() == state.Sent && !r.folder && r.order.verb != route:
		if j.repeats.fail(r.ended) {
			what(l.address(l.line(zerolog.WarnLevel, j), j), t).Int("count", j.repeats.count).Msg("cannot read the chat")
		}
	}
}
