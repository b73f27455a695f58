package watch

import (
	"path/filepath"
	"time"

	"watcher/state"
)

// Pace is what the programs of one profile tell each other about their sends,
// one program after the other. With it Config.SendGap and Config.InFlight hold
// over restarts and one-shot calls. It is a matter of manners, not of safety:
// what it loses costs patience. Its methods are called by one goroutine at a
// time and must not block.
type Pace interface {
	// LastSend is when a program of the profile last sent; zero if unknown.
	LastSend() time.Time
	// Sent says that a send has come as far as the site.
	Sent(at time.Time)
	// Open says that a chat waits for its answer, and for which prompt.
	Open(address, prompt string)
	// Close says that it does not any more.
	Close(address string)
	// Unanswered lists the chats that were opened and not closed: their
	// prompts' paths by address.
	Unanswered() map[string]string
}

// resumePace takes over where the last program of this profile stopped.
func (l *loop) resumePace(now time.Time) {
	l.chats, l.sought = map[string]string{}, map[string]bool{}
	if l.cfg.Pace == nil {
		return
	}
	for address, file := range l.cfg.Pace.Unanswered() {
		l.chats[address] = file
	}
	if last := l.cfg.Pace.LastSend(); !last.IsZero() {
		// By the wall clock: a time that is yet to come counts as now.
		since := max(0, now.Round(0).Sub(last.Round(0)))
		l.sendAt = now.Add(jitter(l.cfg.SendGap) - since)
	}
}

// keepPace notes that a job's chat began or ceased to wait for its answer.
// before is the address that its marker held so far.
func (l *loop) keepPace(j *job, before string) {
	p, m := l.cfg.Pace, j.marker
	if p == nil || m.Engine != "" && before == m.Address {
		return
	}
	waits := j.phase() == state.Sent && j.believed
	mine := filepath.Join(j.folder.path, j.name.File(state.KindPrompt))
	if file, open := l.chats[before]; open && (file == mine || l.jobIn(before, j) == nil) && (j.phase() != state.Sent || waits && m.Address != before) {
		delete(l.chats, before)
		p.Close(before)
	}
	if _, open := l.chats[m.Address]; waits && !open && m.Address != "" && m.Engine == "" && l.owner != "" && m.By == l.owner {
		l.chats[m.Address] = mine
		p.Open(m.Address, mine)
	}
}

// unanswered counts our chats that have no answer: sends in doubt included, and
// those that a program before this one left elsewhere.
func (l *loop) unanswered() (here, elsewhere int) {
	seen := map[string]bool{}
	for _, f := range l.folders {
		for _, j := range f.jobs {
			if j.phase() == state.Sent && ours(j.marker, l.owner) {
				here++
				seen[j.marker.Address] = true
			}
		}
	}
	for address := range l.chats {
		if !seen[address] && !l.sought[address] {
			elsewhere++
		}
	}
	return here, elsewhere
}

// adopt looks after the chats elsewhere once they are in the way of a send:
// nobody else may be there to fetch their answers.
func (l *loop) adopt(now time.Time) {
	if len(l.chats) == 0 || !l.anyNew() {
		return
	}
	here, elsewhere := l.unanswered()
	if elsewhere == 0 || here >= l.cfg.InFlight || here+elsewhere < l.cfg.InFlight {
		return
	}
	for address, file := range l.chats {
		if l.sought[address] {
			continue
		}
		l.sought[address] = true // once: a folder that is not there holds up nobody
		l.fosterAt(file, address, now)
	}
}

// fosterAt is foster for a chat elsewhere. One that waits no more is forgotten.
func (l *loop) fosterAt(file, address string, now time.Time) bool {
	name, kind, ok := state.Parse(filepath.Base(file))
	if ok && kind == state.KindPrompt && l.foster(filepath.Dir(file), name, address, now) {
		return true
	}
	delete(l.chats, address)
	l.cfg.Pace.Close(address)
	return false
}

// anyNew reports whether any prompt waits to be sent.
func (l *loop) anyNew() bool {
	for _, f := range l.folders {
		for _, j := range f.jobs {
			if j.phase() == state.New {
				return true
			}
		}
	}
	return false
}

// foster takes a sent job into the table. It reports whether the chat still
// waits for its answer, as far as can be seen.
func (l *loop) foster(dir string, name state.Name, address string, now time.Time) bool {
	f := l.folders[dir]
	if f == nil {
		f = newFolder(dir, false, false, now)
		l.folders[dir] = f
	}
	if f.dir == nil {
		l.scan(f)
	}
	if f.dir == nil {
		return true
	}
	files, err := f.dir.Lookup(name)
	if err != nil {
		return true
	}
	// Nothing but a sent job: a new one that nobody asked about is not ours to send.
	if j := f.jobs[name]; j == nil && files.Phase() == state.Sent {
		l.update(l.add(f, name, now), files, now, nil)
	}
	j := f.jobs[name]
	return j != nil && j.phase() == state.Sent && (!j.believed || j.marker.Address == address)
}
