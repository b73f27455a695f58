package watch

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"watcher/state"
)

// list takes in one pass over the folder.
func (l *loop) list(f *folder, now time.Time) error {
	found, err := f.dir.Scan()
	if err != nil {
		return err
	}
	f.done = found.Done
	if f.hold != found.Hold {
		f.hold = found.Hold
		l.log.Info().Str("folder", f.path).Bool("hold", f.hold).Msg("folder's watcher.hold changed")
	}
	for _, base := range found.Conflicts {
		l.warnOnce(f, base, "a sync tool's second copy is not sent; delete or rename it")
	}
	for name, j := range f.jobs {
		if _, still := found.Jobs[name]; !still && !l.busy(j) {
			l.refresh(j, now) // it is done, or gone
		}
	}
	for name, files := range found.Jobs {
		l.see(f, name, files, now)
	}
	l.mourn(f, found.Lost, now)
	l.seeNotice(f, found.Paused, now)
	l.descend(f, found.Dirs, now)
	return nil
}

// see takes in one job of a listing.
func (l *loop) see(f *folder, name state.Name, files state.Files, now time.Time) {
	j := f.jobs[name]
	if j == nil {
		j = l.add(f, name, now)
	}
	if l.busy(j) {
		return // looked at when its order is done
	}
	l.update(j, files, now, nil)
}

// stirred takes in the events of a folder: the files that something happened
// to, or nil when nobody knows to which.
func (l *loop) stirred(f *folder, list stir, now time.Time) {
	if list == nil || !f.listed || f.dir == nil || f.scanned.IsZero() || !f.dir.Same() {
		f.dirty = true
		return
	}
	for file := range list {
		l.glance(f, file, now)
	}
}

// glance takes in one file's job, without a look at the whole folder: that may
// hold a million.
func (l *loop) glance(f *folder, file string, now time.Time) {
	name, _, ok := state.Parse(file)
	j := f.jobs[name]
	if !ok || j != nil && l.busy(j) {
		return // looked at when its order is done
	}
	files, lost, err := f.dir.Look(name)
	l.looks++ // others may wait for this one
	switch {
	case err != nil:
		f.dirty = true // the scan says what is wrong
		return
	case lost:
		f.lost[name] = now
		f.dirty = true // others may be lost, too
	case j == nil && !concern(files):
		return
	}
	if j == nil {
		j = l.add(f, name, now)
	}
	l.update(j, files, now, nil)
	if j.phase() == state.New && !j.glancedAt.IsZero() && j.unsettled != "" {
		j.lookAt = now // a change counts from now, not from the next look
	}
}

// concern reports whether files that nobody knew of are a job to look after.
func concern(f state.Files) bool {
	switch f.Phase() {
	case state.Absent:
		return false
	case state.Done:
		return f.Has(state.KindRetry) || f.Has(state.KindCancel)
	}
	return true
}

// held reports whether the folder's watcher.hold is there. Where that cannot
// be seen, nothing is sent either.
func held(dir *state.Dir) bool {
	_, err := os.Lstat(filepath.Join(dir.Path(), state.HoldFile))
	return !isAbsent(err)
}

// recall looks at the jobs of a folder that is not watched.
func (l *loop) recall(f *folder, now time.Time) error {
	f.hold = held(f.dir)
	l.seeNotice(f, true, now)
	var errs []error
	for _, j := range f.jobs {
		if !l.busy(j) {
			errs = append(errs, l.refresh(j, now))
		}
	}
	return errors.Join(errs...)
}

// descend follows the subfolders that came, and forgets those that went.
func (l *loop) descend(f *folder, dirs []string, now time.Time) {
	there := make(map[string]bool, len(dirs))
	for _, name := range dirs {
		there[name] = true
	}
	for name := range f.subs {
		if !there[name] {
			delete(f.subs, name)
			l.drop(filepath.Join(f.path, name))
		}
	}
	for _, name := range dirs {
		if !l.cfg.Recursive {
			l.warnOnce(f, name, "subfolders are not watched")
			continue
		}
		path := filepath.Join(f.path, name)
		f.subs[name] = true
		sub := l.folders[path]
		if sub == nil {
			sub = newFolder(path, false, true, now)
			l.folders[path] = sub
			l.scan(sub)
		}
		if !sub.listed { // known from a request so far
			sub.listed, sub.dirty = true, true
		}
	}
}

func (l *loop) warnOnce(f *folder, base, why string) {
	if f.warned[base] {
		return
	}
	f.warned[base] = true
	l.log.Warn().Str("folder", f.path).Str("name", base).Str("reason", why).Msg("not considered")
}
