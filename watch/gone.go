package watch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"watcher/state"
)

// A tool that mirrors or cleans a folder (rsync --delete, git clean) can take
// all markers and leave the prompts: each would be sent a second time. A marker
// or two that vanish are a person's wish; three within one rescan stop the
// folder until a person deletes its watcher.paused. That file is what keeps the
// pause over a restart, and binds every program that looks at the folder.

const (
	goneLeast = 3
	goneSure  = 2 * time.Second // after the last one: the prompts did not follow
	goneHint  = "put the .md.url files back and then delete watcher.paused; or only delete it, to send these prompts again"
)

// mourn takes in the jobs whose markers a scan found to be gone.
func (l *loop) mourn(f *folder, lost []state.Name, now time.Time) {
	for _, name := range lost {
		f.lost[name] = now
	}
	var last time.Time
	for name, at := range f.lost {
		j := f.jobs[name]
		if f.gone.Class == "" && (j == nil || j.phase() != state.New || now.Sub(at) >= l.mourning()) {
			delete(f.lost, name)
			continue
		}
		last = later(last, at)
	}
	if len(f.lost) < goneLeast || f.gone.Class != "" {
		return
	}
	if sure := last.Add(goneSure); now.Before(sure) {
		f.scanAt = sooner(f.scanAt, sure) // the prompts may be going, too
		return
	}
	var names []string
	for name := range f.lost {
		names = append(names, Quote(string(name)))
	}
	slices.Sort(names)
	most := names[:min(len(names), 10)]
	if len(most) < len(names) {
		most = append(slices.Clip(most), "...")
	}
	f.gone = Pause{Class: ClassKeysGone, Person: true, Since: now, Hint: goneHint,
		Reason: fmt.Sprintf("the markers (.md.url) of %d prompts vanished while the prompts stayed: %s", len(names), strings.Join(most, ", "))}
	l.log.Error().Str("folder", f.path).Str("class", ClassKeysGone).Int("count", len(names)).
		Str("reason", f.gone.Reason).Str("hint", goneHint).Msg("folder paused")
	l.observePause(f.gone, f.path)
}

// mourning is how long a job whose marker vanished is not sent: in that time it
// shows whether it was the only one, and a tool that replaces files has put the
// marker back.
func (l *loop) mourning() time.Duration { return max(l.cfg.Rescan, 2*goneSure) }

// keysGone takes over the pause that a folder's notice tells of.
func (l *loop) keysGone(f *folder, text string, now time.Time) {
	f.gone = Pause{Class: ClassKeysGone, Person: true, Since: now, Hint: goneHint, Reason: goneReason(text)}
	if since, err := time.Parse(time.RFC3339, field(text, "since")); err == nil {
		f.gone.Since = since
	}
	l.log.Warn().Str("folder", f.path).Str("class", ClassKeysGone).Str("reason", f.gone.Reason).Str("hint", goneHint).Msg("folder paused")
}

const goneBegin = "Nothing is sent from this folder: "

func goneNotice(p Pause, by string) string {
	return fmt.Sprintf("%s%s\nclass: %s\nsince: %s\nby: %s\n\nThese prompts were sent before; sent again, each would be asked twice.\nWhat to do: %s.\n",
		goneBegin, p.Reason, p.Class, stamp(p.Since), by, p.Hint)
}

func goneReason(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimPrefix(line, goneBegin)
}

// barred says why the files of a folder let nothing be sent from it now, as the
// last look before a send sees it. What cannot be seen counts as a no.
func barred(dir *state.Dir) (why string) {
	if held(dir) {
		return reasonFolderHold
	}
	text, err := dir.ReadPaused()
	switch {
	case isAbsent(err) || errors.Is(err, state.ErrNotRegular):
		return ""
	case err != nil:
		return err.Error()
	case field(text, "class") == ClassKeysGone:
		return goneReason(text)
	}
	return ""
}
