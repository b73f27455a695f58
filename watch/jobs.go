package watch

import (
	"errors"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"watcher/state"
)

func (l *loop) busy(j *job) bool { return l.working && l.job == j }

func (l *loop) add(f *folder, name state.Name, now time.Time) *job {
	j := &job{folder: f, name: name, since: now}
	f.jobs[name] = j
	return j
}

// refresh looks afresh at the files of one job.
func (l *loop) refresh(j *job, now time.Time) error {
	files, err := j.folder.dir.Lookup(j.name)
	if err != nil {
		return err
	}
	l.update(j, files, now, nil)
	return nil
}

// update takes in the files that a job has now, and what a report taught about
// it in that phase.
func (l *loop) update(j *job, files state.Files, now time.Time, r *report) {
	was, address := j.phase(), j.marker.Address
	l.looks++
	j.unseen = nil
	j.enter(files, now)
	if r != nil {
		j.remember(r, l.cfg.Poll, now)
	}
	switch {
	case was != j.phase():
		l.entered(j, was, now)
	case r == nil && j.phase() == state.New && j.unsettled != "" && j.unsettled != reasonChanging && now.Before(j.lookAt):
		j.lookAt = now // something may have changed: no need to be patient
	}
	if j.phase() == state.Failed {
		l.weigh(j)
	}
	if j.needsMarker() || l.mayRoute(j) {
		l.believe(j)
	}
	l.keepPace(j, address)
	switch j.phase() {
	case state.Failed:
		if !j.asks() {
			l.void(j, now)
		}
	case state.Absent, state.Done:
		if !l.asked(j) && (j.phase() == state.Absent || !j.asks()) {
			delete(j.folder.jobs, j.name)
		}
	}
}

// entered writes the one line about a change of phase.
func (l *loop) entered(j *job, was state.Phase, now time.Time) {
	e := l.line(zerolog.InfoLevel, j)
	switch j.phase() {
	case state.Sent:
		l.believe(j)
		l.address(e, j).Msg("sent")
	case state.Failed:
		f, err := j.folder.dir.ReadError(j.name)
		e.AnErr("err", err).Str("class", f.Class).Str("address", f.Address).Str("reason", f.Sentence).Msg("failed")
		l.progress(j, "failed")
	case state.Done:
		if was == state.Absent && j.asks() {
			return // answered long ago
		}
		l.address(e, j).Msg("answered")
		l.progress(j, "done")
	case state.Absent:
		e.Msg("removed")
	case state.New:
		if was != state.Absent {
			e.Str("reason", "its marker is gone: it may be sent again").Msg("new again")
			return
		}
		e.Msg("new prompt")
	}
}

// believe reads a marker once; the courier reads it again before it acts.
func (l *loop) believe(j *job) {
	if j.believed {
		return
	}
	m, err := j.folder.dir.Believe(j.name)
	if err != nil {
		// Not to be read now: what it says is unknown, so nothing is done
		// until it can be. The next rescan tries again.
		if j.repeats.fail(time.Now()) {
			l.line(zerolog.ErrorLevel, j).AnErr("err", err).Msg("cannot read the marker")
		}
		return
	}
	j.marker, j.believed = m, true
}

// void sets aside a .md.err that speaks of another text: the prompt was edited
// after it failed. Where a marker stands, only a person can say so.
func (l *loop) void(j *job, now time.Time) {
	if j.files.Has(state.KindMarker) || !j.files.Has(state.KindPrompt) {
		return
	}
	id, err := j.folder.dir.Identify(j.name)
	if err != nil || id == j.checked {
		return
	}
	f, err := j.folder.dir.ReadError(j.name)
	if err != nil {
		return
	}
	p, err := ReadPrompt(j.folder.dir, j.name, l.cfg.PlainText)
	if err != nil && !isInvalid(err) {
		return // looked at again at the next rescan
	}
	j.checked = id
	// What could not be read has no fingerprint: if it can be now, it changed.
	known := f.Prompt != "" || f.Class == ClassInvalid
	if err != nil || !known || p.Speaks(f) {
		return
	}
	archive, err := j.folder.dir.ArchiveError(j.name)
	e := l.line(zerolog.InfoLevel, j)
	if err != nil {
		e.AnErr("err", err).Msg("cannot set the .md.err aside")
		return
	}
	e.Str("reason", "the prompt was changed after it failed; the .md.err is kept as "+archive).Msg("void failure")
	if err := l.refresh(j, now); err != nil {
		l.line(zerolog.WarnLevel, j).AnErr("err", err).Msg("cannot look at the job")
	}
}

func isInvalid(err error) bool {
	var bad *state.InvalidError
	return errors.As(err, &bad)
}

// line begins a log line about a job. The keys are the same everywhere.
func (l *loop) line(level zerolog.Level, j *job) *zerolog.Event {
	label := j.label()
	e := l.log.WithLevel(level).Str("job", label)
	if !utf8.ValidString(label) {
		e.Str("job_quoted", Quote(label))
	}
	return e.Stringer("phase", j.phase())
}

func (l *loop) address(e *zerolog.Event, j *job) *zerolog.Event {
	if j.marker.Address != "" {
		e.Str("address", j.marker.Address)
	}
	if j.phase() == state.Sent {
		e.Str("stage", string(j.marker.Stage))
	}
	return e
}

// say logs why a job waits, each reason once: a file that is written for an
// hour goes to and fro between two.
func (l *loop) say(j *job, reason string) {
	if j.said[reason] {
		return
	}
	if j.said == nil {
		j.said = map[string]bool{}
	}
	j.said[reason] = true
	l.address(l.line(zerolog.InfoLevel, j), j).Str("reason", reason).Msg("waiting")
}

func (l *loop) progress(j *job, phase string) {
	if l.cfg.Progress == nil {
		return
	}
	l.cfg.Progress(Progress{Job: j.label(), Phase: phase, Elapsed: time.Since(j.since), Characters: j.length})
}
