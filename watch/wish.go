package watch

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"watcher/state"
)

// wish is what a new prompt that has settled asks for by its options, and what
// the loop knows about that. The terms are looked at anew when any job's files
// were, or their time has come.
type wish struct {
	of     state.Identity // the file that the options were read from
	read   bool
	plain  bool // it asks for nothing
	prompt Prompt
	terms  terms
	seen   int // the loop's looks when the terms were made
	since  time.Time

	enclosed   []state.Identity // what is attached, at its first look
	enclosedAt time.Time
	settling   bool // that is all it waits for
}

// awaits says what a prompt's options make it wait for, and until when if that
// is known; "" when nothing of the kind is in its way. One that can never be
// sent awaits nothing: the courier says so in its .md.err.
func (l *loop) awaits(j *job, now time.Time) (why string, until time.Time) {
	w := &j.wish
	if !w.read || w.of != j.glance.prompt {
		*w = l.readWish(j)
	}
	if w.plain {
		return "", time.Time{}
	}
	if w.seen != l.looks || !w.terms.until.IsZero() && !now.Before(w.terms.until) {
		if id, err := j.folder.dir.Identify(j.name); err == nil && id != j.glance.prompt {
			j.unsettle(now, reasonChanging) // nobody else looks while it waits
			return reasonChanging, time.Time{}
		}
		l.consider(j, now)
	}
	return w.terms.wait, w.terms.until
}

// readWish reads the options. What cannot be read now, or is bad, is the
// courier's to tell.
func (l *loop) readWish(j *job) wish {
	w := wish{of: j.glance.prompt, read: true, plain: true, since: time.Now()}
	if l.cfg.PlainText || !mayHaveOptions(j.folder.dir, j.name) {
		return w
	}
	p, err := ReadPrompt(j.folder.dir, j.name, false)
	if err != nil || p.ID != w.of {
		return wish{plain: true} // read again the next time
	}
	if p.Options.IsZero() {
		return w
	}
	p.Prompt = state.Prompt{ID: p.ID} // the text is read again when it is sent
	w.prompt, w.plain, w.seen = p, false, l.looks-1
	return w
}

// mayHaveOptions tells, by a few bytes, most prompts from those that must be
// read whole.
func mayHaveOptions(dir *state.Dir, name state.Name) bool {
	b, err := dir.Begin(name, 6)
	b = bytes.TrimPrefix(b, []byte("\uFEFF"))
	return err == nil && (bytes.HasPrefix(b, []byte("---")) || bytes.HasPrefix(b, []byte{0xff, 0xfe}) || bytes.HasPrefix(b, []byte{0xfe, 0xff}))
}

// consider makes the terms anew, as far as the files tell, and adds what only the
// loop knows: who is logged in, which chats are being answered, and whether
// what is attached has settled.
func (l *loop) consider(j *job, now time.Time) {
	w := &j.wish
	w.seen, w.settling = l.looks, false
	if l.lore.looks != l.looks {
		l.lore = lore{looks: l.looks, parents: parents{}, sent: map[string]map[string]state.Name{}}
	}
	w.terms = l.cfg.terms(j.folder.dir, j.name, w.prompt, now, l.lore.parents)
	t := &w.terms
	if t.soon {
		t.until = w.lookAgain(now) // no event tells of what is written into it
	}
	if t.bad != "" || t.wait != "" {
		return
	}
	if t.wait = t.theirs(l.owner); t.wait == "" && t.chat != "" {
		t.wait = l.answering(j, t.chat)
	}
	if t.wait == "" {
		l.settleEnclosed(j, now)
	}
}

// settleEnclosed waits for two equal looks at what is attached, as for the
// prompt itself.
func (l *loop) settleEnclosed(j *job, now time.Time) {
	w := &j.wish
	if len(w.terms.files) == 0 {
		return
	}
	if !slices.Equal(w.enclosed, w.terms.files) {
		w.enclosed, w.enclosedAt = w.terms.files, now
	}
	settle := l.cfg.Settle
	for _, path := range w.prompt.Options.Attach {
		open, known, err := j.folder.dir.WritersBeneath(path)
		switch {
		case err != nil:
			w.terms.wait = "waits for its attachment: " + err.Error()
		case open:
			w.terms.wait = "its attachment " + path + " is open for writing"
		case !known:
			settle = max(settle, l.cfg.LeaselessSettle)
		}
		if w.terms.wait != "" {
			w.terms.until = w.lookAgain(now)
			return
		}
	}
	if at := w.enclosedAt.Add(settle); now.Before(at) {
		w.terms.wait, w.terms.until, w.settling = "its attachments are still changing", at, true
	}
}

// lookAgain is when to look again at a file that is being written: often at
// first, then ever less.
func (w *wish) lookAgain(now time.Time) time.Time {
	return now.Add(min(max(now.Sub(w.since)/2, firstLook), lastLook))
}

// answering names the job that the chat is being answered for; "" for none. It
// may be one that a program before this left elsewhere.
func (l *loop) answering(j *job, address string) string {
	if other := l.jobIn(address, j); other != nil {
		return answeringFor(j.folder.path, other.label())
	}
	if file, open := l.chats[address]; open && l.fosterAt(file, address, time.Now()) {
		return answeringFor(j.folder.path, strings.TrimSuffix(file, ".prompt"))
	}
	if !j.folder.listed {
		sent, known := l.lore.sent[j.folder.path]
		if !known {
			sent = sentIn(j.folder.path)
			l.lore.sent[j.folder.path] = sent
		}
		if name := sent[address]; name != "" {
			return answeringFor("", string(name))
		}
	}
	return ""
}

// answeringFor names a job of the same folder without the folder.
func answeringFor(folder, other string) string {
	other = strings.TrimPrefix(other, folder+"/")
	return "waits for " + other + ", which is being answered in the same chat"
}

// jobIn is another job that waits for its answer in a chat.
func (l *loop) jobIn(address string, but *job) *job {
	for _, f := range l.folders {
		for _, other := range f.jobs {
			if other != but && other.phase() == state.Sent && other.marker.Address == address {
				return other
			}
		}
	}
	return nil
}

// lore is what was found for some prompts and holds for others, until the loop
// looks at any job's files again.
type lore struct {
	looks   int
	parents parents
	sent    map[string]map[string]state.Name // sentIn, by folder
}

// sentIn looks through the markers of a folder that the loop does not watch: the
// jobs that wait for an answer, by the address of their chat.
func sentIn(path string) map[string]state.Name {
	dir, err := state.OpenDir(path, "")
	if err != nil {
		return nil
	}
	defer dir.Close()
	list, err := dir.Scan()
	if err != nil {
		return nil
	}
	return Answering(dir, list)
}

// Answering lists the jobs of a folder that wait for an answer, by the address of
// their chat. Markers that cannot be read are left out.
func Answering(dir *state.Dir, list state.Listing) map[string]state.Name {
	sent := map[string]state.Name{}
	for name, files := range list.Jobs {
		if files.Phase() != state.Sent {
			continue
		}
		if m, err := dir.Believe(name); err == nil && m.Address != "" {
			sent[m.Address] = name
		}
	}
	return sent
}
