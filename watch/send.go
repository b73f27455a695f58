package watch

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"watcher/state"
)

// errStopping refuses a commit after the program was told to stop.
var errStopping = errors.New("the program is stopping; nothing was sent")

// alteredRow is how many texts in a row the page may change before the page is
// at fault, not the texts.
const alteredRow = 3

// send brings one settled prompt into a new chat, or into the one it continues.
// Nothing leaves before the marker is durable.
func (c *courier) send(ctx context.Context, r *report) {
	o := &r.order
	p, t, ready := c.ready(r)
	if !ready {
		return
	}
	if p.Options.Engine == EngineRouter { // it is another's, and was not read so before
		r.wait = reasonChanging
		return
	}
	// The marker's place on the disk is taken now: a full or read-only folder
	// shows before the site is touched.
	pending, err := o.dir.Prepare(o.name, markerSize)
	if errors.Is(err, state.ErrExists) {
		return // somebody else was first; the folder is looked at after each order
	}
	if err != nil {
		r.trouble, r.folder = diskTrouble(err), true
		return
	}
	defer pending.Discard()
	if r.owner, err = c.cfg.Chat.Owner(ctx); err != nil {
		r.trouble = ownerTrouble(err)
		return
	}
	if r.wait = t.theirs(r.owner); r.wait != "" {
		return
	}
	files, clean, err := c.pack(o, p)
	defer clean()
	if err != nil {
		if r.wait = reasonChanging; !errors.Is(err, state.ErrChanged) {
			r.wait, r.trouble = "", diskTrouble(err)
		}
		return
	}
	e := &envelope{courier: c, order: o, prompt: p, terms: t, pending: pending, owner: r.owner}
	sctx, done := e.context(ctx, c.cfg.StopGrace)
	message, err := c.cfg.Chat.Send(sctx, Outgoing{Prompt: p.Text, Chat: t.chat, Model: p.Options.Model,
		Thinking: p.Options.Thinking, Search: p.Options.Search, Files: files}, e.commit)
	done()
	c.sent(ctx, r, e, message, err)
}

// ready reads the prompt and all that its options speak of. One that cannot be
// sent now, or never, it reports.
func (c *courier) ready(r *report) (p Prompt, t terms, ok bool) {
	o := &r.order
	if err := o.name.Check(); err != nil {
		c.fail(r, jobTrouble(ClassInvalid, err.Error()), "", nil, "")
		return p, t, false
	}
	p, err := ReadPrompt(o.dir, o.name, c.cfg.PlainText)
	if err != nil {
		t, why := readTrouble(err)
		if r.wait = why; t != nil {
			c.fail(r, t, "", nil, "")
		}
		return p, terms{}, false
	}
	if p.ID != o.settled.prompt {
		r.wait = reasonChanging
		return p, t, false
	}
	if r.wait = c.uploaded(o, p); r.wait != "" {
		return p, t, false
	}
	switch before, err := o.dir.SentBefore(o.name, p.Sum); {
	case err != nil:
		r.trouble, r.folder = diskTrouble(err), true
		return p, t, false
	case before:
		r.wait = reasonSentBefore
		return p, t, false
	}
	if t := c.overlong(p.Text); t != nil {
		c.fail(r, t, p.Whole, nil, "")
		return p, terms{}, false
	}
	t = c.cfg.terms(o.dir, o.name, p, time.Now(), nil)
	switch {
	case t.bad != "":
		c.fail(r, jobTrouble(ClassInvalid, t.bad+"; nothing was sent"), p.Whole, nil, "")
	case t.wait != "":
		r.wait = t.wait
	case !slices.Equal(t.files, o.enclosed):
		r.wait = reasonChanging
	default:
		return p, t, true
	}
	return p, t, false
}

// reasonSentBefore is why a prompt waits that was answered, moved away by clean,
// and then delivered again.
const reasonSentBefore = "it was sent before, and its answer is in " + state.ShelfFolder + "; to send it again give it another name, or take the old files away"

// overlong is the failure of a prompt that is longer than may be sent. It is
// found before the chat is bothered: sites refuse long texts in ways that look
// like something else, and their pages in silence.
func (c *courier) overlong(text string) *trouble {
	n := utf8.RuneCountInString(text)
	if c.cfg.MaxChars == 0 || n <= c.cfg.MaxChars {
		return nil
	}
	return &trouble{class: ClassInvalid, hint: "shorten it, split it, or raise --max-chars",
		text: fmt.Sprintf("the prompt has %d characters and at most %d are allowed; nothing was sent", n, c.cfg.MaxChars)}
}

// uploaded says why a .ready file, where one is needed, does not let the prompt
// go: one that holds a sha256 speaks of that very file only.
func (c *courier) uploaded(o *order, p Prompt) (wait string) {
	if !c.cfg.RequireReady {
		return ""
	}
	sum, err := o.dir.Ready(o.name)
	if err != nil {
		return reasonNotReady
	}
	id, err := o.dir.IdentifyReady(o.name) // after the read: it was of this file
	switch {
	case err != nil:
		return reasonNotReady
	case id != o.settled.ready:
		return reasonChanging
	case sum == "" || sum == p.FileSum:
		return ""
	case !sha256Form.MatchString(sum):
		return "its .prompt.ready is neither empty nor a sha256"
	}
	return "its .prompt.ready holds the sha256 of another text"
}

var sha256Form = regexp.MustCompile(`^[0-9a-f]{64}$`)

// markerSize is room for the longest marker: an address with a uuid, and every
// key.
var markerSize = len(state.Marker{
	Address: strings.Repeat("a", 200), Prompt: strings.Repeat("p", 16), By: strings.Repeat("b", 64),
	Stage: state.StageReleased, At: 1 << 40, Engine: EngineRouter, Instead: strings.Repeat("i", 200), After: strings.Repeat("f", 64), Message: strings.Repeat("m", 64),
}.String())

// envelope is one send on its way: whether it was committed, refused or
// called off is decided under its lock, once.
type envelope struct {
	*courier
	order   *order
	prompt  Prompt
	terms   terms
	pending *state.Pending
	owner   string
	engine  string // another engine than the chat; "" for the chat

	mu        sync.Mutex
	calledOff bool          // the program stops: too late to commit
	committed *state.Marker // what stands in the folder, also after a failed commit in doubt
	refused   error         // why a commit was refused
	calls     int
}

// context is the one that Send gets. When the program stops, a send that is
// not committed ends at once; one that is has some time to end cleanly.
func (e *envelope) context(ctx context.Context, grace time.Duration) (context.Context, func()) {
	sctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		e.mu.Lock()
		e.calledOff = true
		committed := e.committed != nil
		e.mu.Unlock()
		if committed {
			select {
			case <-time.After(grace):
			case <-sctx.Done():
			}
		}
		cancel()
	})
	return sctx, func() { stop(); cancel() }
}

// commit is what the driver calls while the send is held.
func (e *envelope) commit(address, after string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls++
	switch {
	case e.calls > 1:
		return errors.New("commit the send: it was asked for twice")
	case e.calledOff:
		e.refused = errStopping
		return e.refused
	}
	if e.refused = e.place(address, after); e.refused == nil {
		e.refused = e.look()
	}
	if e.refused != nil {
		return e.refused
	}
	m := state.Marker{Address: address, Prompt: e.prompt.Sum, By: e.owner,
		Stage: state.StageReleased, At: time.Now().Unix(), After: after, Engine: e.engine}
	err := e.pending.Commit(m)
	if err == nil || errors.Is(err, state.ErrInDoubt) {
		e.committed = &m
	}
	e.refused = err
	return err
}

// errPlace says that the driver is about to send to another place than it was
// asked to.
var errPlace = errors.New("the page is about to send to another chat, or another place in it, than it was asked to")

// place is a last look at where the prompt goes.
func (e *envelope) place(address, after string) error {
	follows := e.terms.chat != ""
	if follows != (after != "") || follows && e.terms.by != "" && address != e.terms.chat {
		return errPlace
	}
	return nil
}

// errRecall says that the prompt is not the one that settled any more.
var errRecall = errors.New("the prompt was changed, held or removed at the last moment")

// look is the last look at the folder: still the same one, still New, still
// this text.
func (e *envelope) look() error {
	dir, name := e.order.dir, e.order.name
	if !dir.Same() {
		return fmt.Errorf("commit the send: %s is not the folder it was", dir.Path())
	}
	files, err := dir.Lookup(name)
	if err != nil {
		return err
	}
	hold := barred(dir)
	if why := state.May(files, hold, true); why != "" {
		return fmt.Errorf("%w: %s", errRecall, why)
	}
	p, err := ReadPrompt(dir, name, e.cfg.PlainText)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errRecall, err)
	case p.Whole != e.prompt.Whole:
		return errRecall
	}
	if why := e.uploaded(e.order, p); why != "" {
		return fmt.Errorf("%w: %s", errRecall, why)
	}
	if t := e.cfg.terms(dir, name, p, time.Now(), nil); t.bad+t.wait != "" || t.chat != e.terms.chat || !slices.Equal(t.files, e.terms.files) {
		return fmt.Errorf("%w: what its options speak of is not as it was; %s", errRecall, t.bad+t.wait)
	}
	// A file's time can stand still for two seconds (vfat). So this comes after
	// the read: what nobody was writing then is no mix.
	switch open, _, err := dir.Writers(name); {
	case err != nil:
		return fmt.Errorf("%w: %w", errRecall, err)
	case open:
		return fmt.Errorf("%w: %s", errRecall, reasonOpen)
	}
	return nil
}
