package watch

import (
	"context"
	"path/filepath"
	"time"

	"watcher/state"
)

// The kinds of an [Event].
const (
	EventScanned = "scanned" // every folder of the configuration was looked at once
	EventSent    = "sent"    // the site has a prompt: it said so, or the chat shows it
	EventRefused = "refused" // a prompt was turned back before the site had it; Class says why
	EventRead    = "read"    // a chat was looked at; Class is set when that failed
	EventDone    = "done"    // an answer of ours is in the folder, durable
	EventFailed  = "failed"  // a .md.err of ours is in the folder
	EventPaused  = "paused"  // sending pauses, or pauses for another reason than before
	EventResumed = "resumed" // it goes on
)

// Event is one thing that the agent did or met, for counters and hooks. It
// holds no text of a prompt or an answer.
type Event struct {
	Kind   string
	Job    string // path of the prompt without its suffix; "" where none is meant
	Folder string // of a pause that is one folder's own; else ""
	Class  string // failure class; "" where nothing went wrong
	Reason string // for a person, of a pause
	Hint   string // what a person can do about it; may be empty

	// Age is the time since this process saw the prompt come; 0 when another
	// one did.
	Age time.Duration
	// Took is how long the order took, starting the browser included.
	Took time.Duration
}

// Survey is what the table of a running agent holds at one moment.
type Survey struct {
	New, Sent, Failed int           // jobs
	Done              int           // answers, as of the last look at each watched folder
	Oldest            time.Duration // how long the oldest New or Sent job waits, as far as this process knows
	Working           time.Duration // how long the order in hand takes so far; 0: none is
	Pause             Pause         // the queue's
	FoldersPaused     int           // folders that pause on their own
}

// Survey asks the loop for what its table holds. That it answers is proof that
// the loop goes round. ErrNotRunning when there is none, ctx's error when it
// gives none in time.
func (a *Agent) Survey(ctx context.Context) (Survey, error) {
	a.mu.Lock()
	live, running := a.live, a.running()
	a.mu.Unlock()
	if !running {
		return Survey{}, ErrNotRunning
	}
	answer := make(chan Survey, 1)
	select {
	case a.surveys <- answer:
		return <-answer, nil // the loop has it in hand, and waits for nothing
	case <-live:
		return Survey{}, ErrNotRunning
	case <-ctx.Done():
		return Survey{}, ctx.Err()
	}
}

// survey counts the table.
func (l *loop) survey() Survey {
	now := time.Now()
	s := Survey{Pause: l.brake.Pause}
	if l.working {
		s.Working = max(now.Sub(l.handed), 1)
	}
	for _, f := range l.folders {
		s.Done += f.done
		if f.brake.Class != "" || f.gone.Class != "" {
			s.FoldersPaused++
		}
		for _, j := range f.jobs {
			s.count(j, now)
		}
	}
	return s
}

func (s *Survey) count(j *job, now time.Time) {
	switch j.phase() {
	case state.New:
		s.New++
	case state.Sent:
		s.Sent++
	case state.Failed:
		s.Failed++
		return
	default:
		return
	}
	s.Oldest = max(s.Oldest, now.Sub(j.since))
}

func (l *loop) observe(e Event) {
	if l.cfg.Observe != nil {
		l.cfg.Observe(e)
	}
}

// scannedOnce tells, once, that every root was looked at. A root that is
// missing was looked at, too: it is waited for.
func (l *loop) scannedOnce() {
	if l.ready {
		return
	}
	for _, f := range l.folders {
		if f.root && f.scanned.IsZero() {
			return
		}
	}
	l.ready = true
	l.observe(Event{Kind: EventScanned})
}

// observeReport tells what came of an order. The job is as it was before.
func (l *loop) observeReport(j *job, r report, now time.Time) {
	e := Event{Job: j.label(), Took: now.Sub(l.handed)}
	tell := func(kind, class string, age time.Duration) {
		e := e
		e.Kind, e.Class, e.Age = kind, class, age
		l.observe(e)
	}
	verb, class := r.order.verb, ""
	switch {
	case r.failed != nil:
		class = r.failed.class
	case r.trouble != nil:
		class = r.trouble.class
	}
	switch {
	case verb == send && r.spoke == send:
		tell(EventSent, "", now.Sub(j.entered))
	case verb == send && class != "":
		tell(EventRefused, class, now.Sub(j.entered))
	case verb == prove && r.marker != nil && r.marker.Stage == state.StageSent:
		tell(EventSent, "", j.age(now))
	}
	if verb == prove || verb == collect || verb == find {
		readClass := ""
		if r.trouble != nil && !r.folder {
			readClass = r.trouble.class
		}
		tell(EventRead, readClass, 0)
	}
	switch {
	case r.answered:
		tell(EventDone, "", j.age(now))
	case r.failed != nil:
		tell(EventFailed, r.failed.class, 0)
	}
}

// age is the time since this process saw the prompt of a sent job come; 0 when
// it did not.
func (j *job) age(now time.Time) time.Duration {
	if j.dropped.IsZero() {
		return 0
	}
	return now.Sub(j.dropped)
}

// observePause tells of a pause that began, or has another reason now.
func (l *loop) observePause(p Pause, folder string) {
	l.observe(Event{Kind: EventPaused, Folder: folder, Class: p.Class, Reason: p.Reason, Hint: p.Hint})
}

// ending has it noted that a job is about to end by a file of this kind.
func (c *courier) ending(o *order, kind, class string) {
	if c.cfg.Ending != nil {
		c.cfg.Ending(filepath.Join(o.dir.Path(), string(o.name)), kind, class)
	}
}
