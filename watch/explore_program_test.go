package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"watcher/state"
)

// A program of the model is the real agent: its table of jobs, decide, the
// courier and package state, on a scratch folder that holds what the model's
// folder holds. It runs one turn (look, decide, carry out, take in the report)
// and is stopped wherever something outside could happen between: before each
// call that changes the folder or makes it durable, and at each question to the
// chat. To go on from there it is run again from the start of the turn with the
// answers so far: the same code, given the same answers, does the same.

// The model's unit of time is half the grace time, and longer than the gap
// between two reads. It is so short that the marker's time, in whole seconds,
// is always the same.
const (
	tick       = 2 * time.Nanosecond
	graceTicks = 2
)

// memory is what one program knows between two turns.
type memory struct {
	files    state.Files
	marker   state.Marker
	believed bool
	owner    string // whom it saw logged in
	banned   bool

	// Its doubt; the times are ages in ticks, -1 for none.
	since, empty int8
	refusal      string // a class
	confirmed    bool

	expired bool // the time for an answer is over
}

var newborn = memory{since: -1, empty: -1}

// aged is the memory some ticks later. Older than what is asked for is as good
// as that old.
func (m memory) aged(ticks int8) memory {
	if m.since >= 0 {
		m.since = min(m.since+ticks, graceTicks)
	}
	if m.empty >= 0 {
		m.empty = min(m.empty+ticks, 1)
	}
	return m
}

// question is where a turn stands: what comes next is up to the world.
type question struct {
	what    string // a step of package state, or one of those below
	address string // of the chat that is meant
}

const (
	askOver    = "over"    // the turn has ended
	askChat    = "chat"    // a new chat, for a prompt whose request is held
	askRelease = "release" // the commit went well: the request goes
	askOutcome = "outcome" // of the request
	askRead    = "read"
	askFind    = "find"
)

// answer is what the world says to a question.
type answer int8

const (
	ansGo     answer = iota // do it; nobody is to be told anything
	ansFail                 // it fails, and nothing happened
	ansTaken                // the site has it: a message, no answer so far
	ansDone                 // a message and its whole answer
	ansEmpty                // positively no message
	ansBroken               // the connection broke before the site's first word
	ansRefuse               // the site refused it, in words that are known
	ansUnsent               // it is proved that not a byte left
	ansSlow                 // more time passed since the commit than is allowed
	ansFound                // one chat has the prompt: event.chat
)

func (a answer) String() string {
	return [...]string{"well", "fails", "is there", "is answered", "is empty", "breaks", "is refused", "never left", "came too late", "found"}[a]
}

// event is one answer of the world, and what the folder holds then.
type event struct {
	ticks  int8 // since the question
	answer answer
	chat   int8
	names  names
}

// point is a turn that was brought so far by these events.
type point struct {
	before *point
	by     event
	owner  int8
	start  memory // of the turn

	question question
	after    names  // what the folder holds when the question comes up
	written  bool   // the temporary file at hand is synced
	inPlace  bool   // the marker is being written under its own name
	believed bool   // the marker was synced on the way here
	end      memory // when the turn is over

	next map[event]*point
}

// stage runs the programs' turns. It keeps each point that was reached.
type stage struct {
	scene
	folder string
	cfg    Config
	dirs   [2]*state.Dir
	roots  map[root]*point
	texts  *texts

	held names // what the scratch folder holds

	// Of the replay under way.
	at      *point
	path    []*point
	taken   int
	stopped bool
}

type root struct {
	owner int8
	mem   memory
}

// step is the hook into package state.
func (s *stage) step(step string) error {
	if s.stopped {
		if step == state.StepUnlink {
			return nil // it tidies up
		}
		return errStopped
	}
	if step == state.StepLink && s.fs != "" {
		return unix.EPERM
	}
	if step == state.StepMove && s.fs == norExclusive {
		return unix.EINVAL
	}
	if s.at.inPlace && (step == state.StepWrite || step == state.StepSync) {
		if s.ask(question{what: step}).answer == ansFail {
			return unix.EIO
		}
		return nil
	}
	switch step {
	case state.StepTemp, state.StepWrite:
		s.at.written = false
	case state.StepSync:
		s.at.written = true
	case state.StepClose:
		s.at.inPlace = false
	case state.StepBelieve:
		s.at.believed = true
	case state.StepLink, state.StepMove, state.StepRename, state.StepCreate, state.StepFolder:
		if s.ask(question{what: step}).answer == ansFail {
			return unix.EIO
		}
		if s.at.written = s.at.written && step != state.StepCreate; step == state.StepCreate {
			s.at.inPlace = true
		}
		if s.missing == "link" && step == state.StepLink { // as a rename would
			os.Remove(filepath.Join(s.folder, fileNames[nameMarker]))
		}
	}
	return nil
}

var errStopped = errors.New("the replay has ended")

// ask answers from the past or ends the replay.
func (s *stage) ask(q question) event {
	if s.stopped {
		panic(errStopped)
	}
	if s.taken == len(s.path) {
		s.stopped = true
		s.at.question = q
		panic(errStopped)
	}
	was, next := s.at, s.path[s.taken]
	s.taken++
	s.at, next.written, next.inPlace, next.believed = next, was.written, was.inPlace, false
	if next.by.ticks > 0 {
		time.Sleep(time.Duration(next.by.ticks) * tick)
	}
	s.put(was.after, next.by.names)
	return next.by
}

// advance is the point that an event leads to.
func (s *stage) advance(p *point, e event) *point {
	if next := p.next[e]; next != nil {
		return next
	}
	next := &point{before: p, by: e, owner: p.owner, start: p.start, next: map[event]*point{}}
	p.next[e] = next
	s.replay(next)
	return next
}

// turn is the point at which a turn begins.
func (s *stage) turn(owner int8, m memory, folder names) *point {
	p := s.roots[root{owner, m}]
	if p == nil {
		p = &point{owner: owner, start: m, next: map[event]*point{}}
		s.roots[root{owner, m}] = p
	}
	return s.advance(p, event{names: folder})
}

// replay runs a turn up to the given point.
func (s *stage) replay(to *point) {
	s.path = s.path[:0]
	for p := to; p.before != nil; p = p.before {
		s.path = append(s.path, p)
	}
	for i, j := 0, len(s.path)-1; i < j; i, j = i+1, j-1 {
		s.path[i], s.path[j] = s.path[j], s.path[i]
	}
	s.taken, s.stopped, s.at = 1, false, s.path[0]
	s.put(s.held, s.path[0].by.names)
	func() {
		defer func() {
			if r := recover(); r != nil && r != errStopped {
				panic(r)
			}
		}()
		s.at.end = s.run(to.owner, to.start)
		s.at.question = question{what: askOver}
		s.stopped = true
	}()
	if s.at != to {
		panic("the program does not do the same again")
	}
	to.after = s.snapshot()
	s.held = to.after
}

// run is one turn of the agent's loop, for one job.
func (s *stage) run(owner int8, m memory) memory {
	agent := &Agent{cfg: s.cfg}
	agent.cfg.Chat = puppet{s, owner}
	l := newLoop(agent, nil)
	l.orders = make(chan order, 1)
	l.owner = m.owner
	now := time.Now()
	f := newFolder(s.folder, true, true, now)
	f.dir = s.dirs[owner]
	l.folders[f.path] = f
	j := l.add(f, job1, now)
	m.restore(j, now)
	if err := l.refresh(j, now); err != nil {
		return m
	}
	if id, err := f.dir.Identify(job1); err == nil {
		j.glance.prompt, j.unsettled, j.lookAt = id, "", time.Time{} // it settled
	}
	j.due = now
	if j.believed && m.expired {
		j.patience = patience{deadline: now, basis: j.marker.At}
	}
	s.neglect(j, now)
	l.dispatch(now)
	select {
	case o := <-l.orders:
		c := courier{cfg: &agent.cfg}
		l.finish(c.do(context.Background(), o))
	default:
	}
	return remembered(l, j, m.expired)
}

// neglect leaves out what makes an empty chat a proof.
func (s *stage) neglect(j *job, now time.Time) {
	if s.missing == "grace" {
		j.doubt.since = now.Add(-graceTicks * tick)
	}
	if s.missing == "second read" {
		j.doubt.empty = now.Add(-tick)
	}
}

const job1 = state.Name("a")

func (m memory) restore(j *job, now time.Time) {
	at := func(age int8) time.Time {
		if age < 0 {
			return time.Time{}
		}
		return now.Add(-time.Duration(age) * tick)
	}
	j.files, j.marker, j.believed, j.banned = m.files, m.marker, m.believed, m.banned
	j.doubt = doubt{since: at(m.since), empty: at(m.empty), confirmed: m.confirmed}
	if m.refusal != "" {
		j.doubt.refusal = &trouble{class: m.refusal, text: m.refusal}
	}
}

func remembered(l *loop, j *job, expired bool) memory {
	now := time.Now()
	age := func(at time.Time) int8 {
		if at.IsZero() {
			return -1
		}
		return int8(min(now.Sub(at)/tick, graceTicks))
	}
	m := memory{files: j.files, believed: j.believed, owner: l.owner, banned: j.banned, expired: expired,
		since: age(j.doubt.since), empty: age(j.doubt.empty), confirmed: j.doubt.confirmed}
	if j.believed {
		m.marker = j.marker
	}
	if j.doubt.refusal != nil {
		m.refusal = j.doubt.refusal.class
	}
	return m.aged(0)
}
