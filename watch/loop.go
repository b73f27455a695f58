package watch

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"watcher/state"
)

// loop is one run of the agent. One goroutine owns all of it; the courier's
// gets copies and answers with reports.
type loop struct {
	*Agent
	log       zerolog.Logger
	folders   map[string]*folder // by path
	asks      []*ask             // open requests
	waiting   map[subject]int    // how many of them are about a job
	brake     brake              // the queue's pause
	needsSend bool               // only a send that works can end it
	lines     throttle

	other      brake // another engine's own pause
	otherLines throttle

	source Source
	deaf   bool // no file events for some folder: said once

	orders   chan order
	reports  chan report
	working  bool // an order is in hand: current, for job
	current  order
	job      *job
	handed   time.Time         // when the courier got the order in hand
	closing  []*state.Dir      // to be closed when it is not
	owner    string            // the chat's, once asked
	sendAt   time.Time         // the next send, by the gap
	chats    map[string]string // by address: the prompts of our unanswered chats, as Config.Pace knows them
	sought   map[string]bool   // of those: looked for already
	row      int               // altered sends in a row
	lastRead bool              // the last order was a read
	lore     lore
	looks    int  // at jobs' files, so far: what was thought of them before is old
	ready    bool // EventScanned was told
}

func newLoop(a *Agent, roots []string) *loop {
	l := &loop{Agent: a, log: a.cfg.Log, folders: map[string]*folder{}, waiting: map[subject]int{},
		orders: make(chan order), reports: make(chan report, 1)}
	l.brake.Pause = a.cfg.Pause
	l.other.Pause = a.cfg.Fallback.Pause
	now := time.Now()
	l.resumePace(now)
	for _, path := range roots {
		l.folders[path] = newFolder(path, true, true, now)
	}
	return l
}

// run is the event loop. It waits for nothing but its channels.
func (l *loop) run(ctx context.Context) {
	var courierDone sync.WaitGroup
	c := &courier{cfg: &l.cfg}
	courierDone.Go(func() { c.run(ctx, l.orders, l.reports) })
	defer l.stop(&courierDone)

	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-l.kick:
			l.kicked()
		case k := <-l.Agent.asks:
			l.acceptAll(k)
		case r := <-l.reports:
			l.finish(r)
		case answer := <-l.surveys:
			answer <- l.survey()
			continue // nothing changed
		}
		timer.Reset(time.Until(l.turn()))
		l.scannedOnce()
	}
}

// turn does all that is due and returns when something will be next.
func (l *loop) turn() (next time.Time) {
	now := time.Now()
	l.scanDue(now)
	l.lookDue(now)
	l.tidy()
	l.adopt(now)
	next = l.dispatch(now)
	l.postAll()
	l.answerAll(now)
	for _, f := range l.folders {
		next = sooner(next, f.due())
		for _, j := range f.jobs {
			next = sooner(next, j.lookAt)
		}
	}
	for _, k := range l.asks {
		next = sooner(next, l.limit(k))
	}
	if next.IsZero() {
		return now.Add(time.Hour) // no folder and no request: only a kick can help
	}
	// Never a busy loop, whatever is wrong with a due time.
	return later(next, now.Add(time.Millisecond))
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// sooner is the earlier of two times; zero means never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// stop lets the order in hand end, answers every request and closes all.
func (l *loop) stop(courierDone *sync.WaitGroup) {
	close(l.orders)
	courierDone.Wait()
	select {
	case r := <-l.reports:
		l.finish(r)
	default:
	}
	for _, k := range l.asks {
		r := l.result(k)
		k.reply <- reply{r, context.Canceled}
	}
	if l.source != nil {
		l.source.Close()
	}
	for _, f := range l.folders {
		if f.dir != nil {
			_ = f.dir.Close() // it was only read through
		}
	}
	for _, d := range l.closing {
		_ = d.Close()
	}
}

// kicked takes in what Kick, Poke, Resume and the source left.
func (l *loop) kicked() {
	dirty, poked, retry := l.take()
	if _, all := dirty[""]; all {
		for _, f := range l.folders {
			f.dirty = true
		}
	}
	now := time.Now()
	for dir, files := range dirty {
		if f := l.folders[dir]; f != nil {
			l.stirred(f, files, now)
		}
	}
	for _, f := range l.folders {
		if retry {
			f.brake.end()
		}
		for _, j := range f.jobs {
			if _, hit := poked[j.marker.Address]; hit && j.phase() == state.Sent {
				j.due = now
			}
		}
	}
	if retry {
		l.release("asked to try now")
		l.releaseOther()
	}
}

// openSource opens the source of events, if that has not worked so far.
func (l *loop) openSource() (err error) {
	if l.source == nil {
		l.source, err = l.cfg.Events(l.look)
	}
	return err
}

// lookDue looks at every new prompt that is due.
func (l *loop) lookDue(now time.Time) {
	for _, f := range l.folders {
		for _, j := range f.jobs {
			if f.dir != nil && !j.lookAt.IsZero() && !j.lookAt.After(now) {
				j.glimpse(now, &l.cfg)
			}
		}
		if f.leaseless && !f.saidLease {
			f.saidLease = true
			l.log.Warn().Str("folder", f.path).Dur("settle", max(l.cfg.Settle, l.cfg.LeaselessSettle)).
				Msg("cannot tell whether files are still open for writing; waiting longer")
		}
	}
}
