package watch

import (
	"path/filepath"
	"time"

	"watcher/state"
)

// job is one unfinished prompt. Only the loop touches it.
type job struct {
	folder  *folder
	name    state.Name
	files   state.Files
	since   time.Time // this process first saw it
	entered time.Time // its phase
	dropped time.Time // it became New before it was sent; zero if another process saw that
	action  action    // the last decision
	unseen  error     // why its files could not be looked at after its last order

	// While New.
	glance    sight     // the first of two looks
	glancedAt time.Time // zero: none yet
	lookAt    time.Time // when to look again; zero: it has settled, or no look is needed
	lookedAt  time.Time // the last look
	unsettled string    // why it has not settled; "" when it has
	balk      string    // why the last attempt turned back at the file, ...
	balkAt    sight     // ... as it was then
	tries     int       // sends that the queue's trouble ended
	banned    bool      // never to be sent by this process
	wish      wish      // what its options ask for
	rest      string    // why its last try was for nothing, though nothing is wrong, ...
	restTill  time.Time // ... and when to try again

	// While Sent.
	marker   state.Marker
	believed bool // marker was read from the folder
	doubt    doubt
	patience patience
	seen     state.Identity // the prompt as compared with the marker
	due      time.Time      // of the next read
	triedAt  time.Time      // the last read, whether it worked or not
	sentAt   time.Time      // this process sent it; zero if it did not
	trouble  *trouble       // of the last order; nil if it went well
	unread   bool           // the last read failed
	repeats  throttle
	changed  bool          // the prompt was edited after it was sent
	expire   time.Duration // of its options; 0: the configured one
	length   int           // of the answer so far

	// Beside the chat.
	barred   bool   // no other engine is asked, as long as the files are as they were: ...
	barredAt sight  // ... so
	kept     string // another engine's answer that could not be written so far

	// While Failed.
	failure state.Failure  // what the .md.err says
	weighed bool           // it was read
	checked state.Identity // the prompt as compared with the .md.err

	// While a .cancel or .retry is there.
	askedAt time.Time // this process first saw it
	askAt   time.Time // not to be taken up before; zero: now

	said map[string]bool // reasons that were logged in this phase, once each
}

// label names the job in the log: its prompt's path without the suffix.
func (j *job) label() string { return filepath.Join(j.folder.path, string(j.name)) }

func (j *job) phase() state.Phase { return j.files.Phase() }

// asks reports whether a control file waits to be acknowledged.
func (j *job) asks() bool { return j.files.Has(state.KindCancel) || j.files.Has(state.KindRetry) }

// needsMarker reports whether a decision about the job depends on what its
// marker says.
func (j *job) needsMarker() bool {
	return j.phase() == state.Sent || j.files.Has(state.KindMarker) && j.files.Has(state.KindRetry)
}

// wantsEngine reports whether the prompt itself asks for another engine.
func (j *job) wantsEngine() bool {
	return !j.wish.plain && j.wish.prompt.Options.Engine == EngineRouter
}

// sight is what a look at a new job sees: the prompt, and its .ready where one
// is needed.
type sight struct {
	prompt, ready state.Identity
}

// sight looks at the files that have to settle.
func (j *job) sight(ready bool) (s sight, err error) {
	if s.prompt, err = j.folder.dir.Identify(j.name); err == nil && ready && j.files.Has(state.KindReady) {
		s.ready, err = j.folder.dir.IdentifyReady(j.name)
	}
	return s, err
}

// writers tells whether one of them is open for writing.
func (j *job) writers(ready bool) (open, known bool, err error) {
	open, known, err = j.folder.dir.Writers(j.name)
	if err != nil || open || !ready || !j.files.Has(state.KindReady) {
		return open, known, err
	}
	open, too, err := j.folder.dir.ReadyWriters(j.name)
	return open, known && too, err
}

// glimpse takes one look at a new prompt that has not settled. Two looks that
// are a settle time apart must see the same files, and nobody may have one open
// for writing: a .ready is empty before its sum is in it.
func (j *job) glimpse(now time.Time, c *Config) {
	settle := c.Settle
	j.lookedAt = now
	id, err := j.sight(c.RequireReady)
	if err != nil {
		j.glancedAt = time.Time{}
		_, why := readTrouble(err)
		j.later(now, why)
		return
	}
	if j.glancedAt.IsZero() || id != j.glance {
		j.glance, j.glancedAt = id, now
		if settle > 0 {
			j.unsettled, j.lookAt = j.reason(id), now.Add(settle)
			return
		}
	}
	open, known, err := j.writers(c.RequireReady)
	if err != nil {
		_, why := readTrouble(err)
		j.later(now, why)
		return
	}
	j.weigh(now, settle, c.LeaselessSettle, id, open, known)
}

// weigh decides about a look at the same file as before. Where nobody can tell
// whether it is open for writing, only time can.
func (j *job) weigh(now time.Time, settle, leaseless time.Duration, id sight, open, known bool) {
	if !known {
		j.folder.leaseless = true
		settle = max(settle, leaseless)
	}
	switch {
	case open:
		j.later(now, reasonOpen)
	case id.prompt.Size == 0:
		j.later(now, reasonEmpty)
	case now.Sub(j.glancedAt) < settle:
		j.unsettled, j.lookAt = j.reason(id), j.glancedAt.Add(settle)
	default:
		j.unsettled, j.lookAt = "", time.Time{}
	}
}

// later waits for a file that cannot be taken as it is: often at first, then
// ever less. An event or a rescan makes the next look come sooner.
func (j *job) later(now time.Time, why string) {
	age := now.Sub(j.since)
	if !j.glancedAt.IsZero() {
		age = now.Sub(j.glancedAt)
	}
	j.unsettled = why
	j.lookAt = now.Add(min(max(age/2, firstLook), lastLook))
}

const (
	firstLook = time.Millisecond
	lastLook  = 30 * time.Second
)

// reason is why a file that is between its two looks waits: it is the reason
// of the last attempt as long as the file did not change since.
func (j *job) reason(id sight) string {
	if j.balk != "" && id == j.balkAt {
		return j.balk
	}
	return reasonChanging
}

// unsettle starts the two looks anew after an attempt that turned back.
func (j *job) unsettle(now time.Time, why string) {
	j.balk, j.balkAt = why, j.glance
	j.glancedAt = time.Time{}
	if why == reasonChanging {
		j.unsettled, j.lookAt = why, now
		return
	}
	j.later(now, why)
}

// enter resets what belongs to the phases that the job is not in any more.
func (j *job) enter(files state.Files, now time.Time) {
	was := j.phase()
	before := j.files
	changed := files != before
	j.files = files
	switch {
	case !j.asks():
		j.askedAt, j.askAt = time.Time{}, time.Time{}
	case j.askedAt.IsZero():
		j.askedAt = now
	}
	if changed && j.phase() == state.New {
		j.said = nil // a hold that comes back is news again
	}
	if was == j.phase() {
		if j.phase() == state.New && before.Has(state.KindReady) != files.Has(state.KindReady) {
			j.glancedAt, j.unsettled, j.lookAt = time.Time{}, reasonChanging, now
		}
		return
	}
	fresh := job{folder: j.folder, name: j.name, files: files, since: j.since, entered: now, said: j.said, repeats: j.repeats,
		banned: j.banned, tries: j.tries, sentAt: j.sentAt, length: j.length, askedAt: j.askedAt, askAt: j.askAt}
	if files.Has(state.KindMarker) {
		fresh.marker = j.marker // for the log; it is read again if it is needed
	}
	if fresh.dropped = j.dropped; was == state.New {
		fresh.dropped = j.entered
	}
	if was == state.Failed {
		fresh.banned = false // a person took the .md.err away, which says why it was not to be sent
	}
	*j = fresh
	switch j.phase() {
	case state.New:
		j.unsettled, j.lookAt = reasonChanging, now
		j.sentAt = time.Time{}
	case state.Sent:
		j.due = now
	}
}
