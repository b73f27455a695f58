package watch

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"watcher/state"
)

// A folder's watcher.paused tells people why nothing is sent from it. It is
// written and removed here alone, by the loop. That a person deleted it is
// seen by two signs: this program had put it up, and its witness is still
// there, which a tool that clears the folder would have taken, too.

// notice is what is known of a folder's watcher.paused.
type notice struct {
	seen    bool   // the folder was looked at since it was opened
	posted  string // our text, as it stands in the folder; "" for none
	foreign bool   // another program's stands there, or a person's file
	stuck   bool   // it could not be written; tried again at the next look
	lifted  time.Time
}

// seeNotice looks at the folder's notice. may says that there may be one.
func (l *loop) seeNotice(f *folder, may bool, now time.Time) {
	n := &f.notice
	first := !n.seen
	n.stuck = false
	text, err := "", error(nil)
	if may {
		text, err = f.dir.ReadPaused()
	}
	switch {
	case !may || isAbsent(err):
		l.missNotice(f, first, now)
	case errors.Is(err, state.ErrNotRegular):
		n.foreign = true
	case err != nil:
		return // nothing is known; the next look tells
	default:
		by := field(text, "by")
		if n.foreign = by != l.cfg.ID; !n.foreign {
			n.posted = text
		}
		if field(text, "class") == ClassKeysGone && f.gone.Class == "" {
			l.keysGone(f, text, now)
		}
	}
	n.seen = true
}

// missNotice is a look that found no notice.
func (l *loop) missNotice(f *folder, first bool, now time.Time) {
	n := &f.notice
	mine := n.posted != ""
	n.posted, n.foreign = "", false
	settled := !n.lifted.IsZero() && now.Sub(n.lifted) > 3*l.cfg.Rescan
	if !mine && f.gone.Class == "" && !first && !settled {
		return
	}
	person, err := f.dir.Witnessed()
	switch {
	case err != nil:
		return
	case f.gone.Class != "" && !person:
		l.log.Warn().Str("folder", f.path).Msg("watcher.paused was taken away with all else; putting it back")
	case f.gone.Class != "":
		l.log.Info().Str("folder", f.path).Str("class", f.gone.Class).Str("reason", "its watcher.paused was deleted").Msg("recovered")
		f.gone, n.lifted = Pause{}, now // the witness stays for other programs to see
		clear(f.lost)
	case mine && person:
		_ = f.dir.ClearWitness() // should it stay, the next notice needs it anyway
		l.release("the watcher.paused in " + f.path + " was deleted")
	case !mine && person:
		n.lifted = time.Time{}
		_ = f.dir.ClearWitness()
		if first { // the notice of an earlier run
			l.release("the watcher.paused in " + f.path + " was deleted")
		}
	}
}

// postAll brings the notices in line with the pauses.
func (l *loop) postAll() {
	queue := ""
	if l.brake.Class != "" {
		queue = queueNotice(l.brake.Pause, l.cfg.ID)
	}
	for _, f := range l.folders {
		if f.dir != nil && f.notice.seen && !f.notice.foreign {
			l.post(f, queue)
		}
	}
}

func (l *loop) post(f *folder, queue string) {
	n, want := &f.notice, ""
	switch {
	case f.gone.Class != "":
		want = goneNotice(f.gone, l.cfg.ID)
	case f.unfinished() || n.posted != "" && !f.listed:
		want = queue // who asks about a folder may come back
	}
	if want == n.posted || n.stuck {
		return
	}
	var err error
	if want == "" {
		err = errors.Join(f.dir.ClearPaused(), f.dir.ClearWitness())
	} else if err = f.dir.WriteWitness(); err == nil {
		err = f.dir.WritePaused(want)
	}
	if err != nil {
		n.stuck = true // it is a courtesy: no noise about it
		return
	}
	n.posted = want
}

// unfinished reports whether anybody waits for something in the folder.
func (f *folder) unfinished() bool {
	for _, j := range f.jobs {
		if p := j.phase(); p == state.New || p == state.Sent {
			return true
		}
	}
	return false
}

// minds reports whether a folder that nobody asks about any more is kept for
// its notice.
func (f *folder) minds() bool {
	return f.dir != nil && f.gone.Class == "" && f.notice.posted != ""
}

// queueNotice is the text about the queue's pause. Its lines up to the first
// empty one are the program's, too.
func queueNotice(p Pause, by string) string {
	hint := p.Hint
	if hint != "" {
		hint += "; or "
	}
	return fmt.Sprintf("Nothing is sent now: %s\nclass: %s\nsince: %s\nnext try: %s\nby: %s\n\nWhat to do: %sdelete this file to try now.\n",
		oneLine(p.Reason), p.Class, stamp(p.Since), stamp(p.Until), by, oneLine(hint))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// field is a value of a notice's head.
func field(text, key string) string {
	head, _, _ := strings.Cut(text, "\n\n")
	for line := range strings.Lines(head) {
		if value, ok := strings.CutPrefix(line, key+": "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
