package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"watcher/state"
)

// folder is one folder of jobs. Only the loop touches it.
type folder struct {
	path    string
	root    bool       // from the configuration
	listed  bool       // all its jobs count; else only those that were asked for
	dir     *state.Dir // nil while the folder is not there
	noticed bool       // events come for it
	mount   string     // where the file system it was first seen on is mounted
	jobs    map[state.Name]*job
	subs    map[string]bool // names of the subfolders that are watched
	warned  map[string]bool // names that were warned about, once each

	done      int  // answers in it, at the last look
	hold      bool // watcher.hold is there
	leaseless bool // nothing tells whether a file is open for writing
	saidLease bool
	brake     brake // its disk
	sentAt    time.Time
	scanAt    time.Time // the next rescan
	scanned   time.Time // the last one ended
	cost      time.Duration
	dirty     bool
	trouble   throttle
	lines     throttle // of brake
	notice    notice
	gone      Pause                    // its markers vanished: class keys-gone, else zero
	lost      map[state.Name]time.Time // when a job's marker was seen to be gone
}

func newFolder(path string, root, listed bool, now time.Time) *folder {
	return &folder{path: path, root: root, listed: listed, scanAt: now,
		lost: map[state.Name]time.Time{},
		jobs: map[state.Name]*job{}, subs: map[string]bool{}, warned: map[string]bool{}}
}

// due is when the folder wants to be looked at. A stream of events makes that
// no more often than a tenth of the time can pay.
func (f *folder) due() time.Time {
	if !f.dirty {
		return f.scanAt
	}
	return f.scanned.Add(max(10*f.cost, 5*time.Millisecond))
}

// scanDue looks at every folder that is due, in a fixed order.
func (l *loop) scanDue(now time.Time) {
	for _, path := range l.dueFolders(now) {
		// A scan may have dropped subfolders that are still in the list.
		if f := l.folders[path]; f != nil {
			l.scan(f)
		}
	}
}

// dueFolders lists the folders that are due. When one's rescan is, the others
// whose rescan comes soon go with it: a thousand folders wake the program as
// often as one does.
func (l *loop) dueFolders(now time.Time) (list []string) {
	round := false
	for path, f := range l.folders {
		if !f.due().After(now) {
			list = append(list, path)
			round = round || !f.scanAt.After(now)
		}
	}
	if round {
		soon := now.Add(l.cfg.Rescan / 4) // what jitter puts between them
		for path, f := range l.folders {
			if !f.dirty && f.due().After(now) && !f.scanAt.After(soon) {
				list = append(list, path)
			}
		}
	}
	slices.Sort(list)
	return list
}

// scan compares what is remembered with what the folder holds now.
func (l *loop) scan(f *folder) {
	began := time.Now()
	f.dirty = false
	f.scanAt = began.Add(jitter(l.cfg.Rescan))
	defer func() { f.scanned = time.Now(); f.cost = f.scanned.Sub(began) }()
	if f.dir != nil && !f.dir.Same() {
		l.log.Warn().Str("folder", f.path).Str("reason", "it was replaced, renamed, removed or unmounted").
			Msg("folder went away")
		l.shut(f)
	}
	if f.dir == nil && !l.open(f) {
		return
	}
	l.listen(f)
	var err error
	if f.listed {
		err = l.list(f, began)
	} else {
		err = l.recall(f, began)
	}
	if err != nil {
		if f.trouble.fail(began) {
			l.log.Error().Str("folder", f.path).AnErr("err", err).Int("count", f.trouble.count).Msg("cannot look at folder")
		}
		return
	}
	if n := f.trouble.ok(); n > 0 {
		l.log.Info().Str("folder", f.path).Int("count", n).Msg("folder recovered")
	}
}

// open opens a folder, and watches it before anybody looks at its files.
func (l *loop) open(f *folder) bool {
	dir, err := state.OpenDir(f.path, l.cfg.ID, l.cfg.DirOptions...)
	if err != nil {
		if f.trouble.fail(time.Now()) {
			e := l.log.Warn()
			if !errors.Is(err, fs.ErrNotExist) {
				e = l.log.Error()
			}
			e.Str("folder", f.path).AnErr("err", err).Int("count", f.trouble.count).Msg("waiting for folder")
		}
		return false
	}
	now := l.cfg.mountOf(f.path)
	if uncovered(f.mount, now) {
		_ = dir.Close()
		if f.trouble.fail(time.Now()) {
			l.log.Warn().Str("folder", f.path).Int("count", f.trouble.count).
				Str("reason", "its file system is not mounted at "+f.mount+" any more").Msg("waiting for folder")
		}
		return false
	}
	f.dir, f.noticed, f.mount = dir, false, now
	if !l.working { // an order in hand may be writing through another path
		if n, err := dir.Sweep(); err != nil || n > 0 {
			l.log.Info().Str("folder", f.path).Int("count", n).AnErr("err", err).Msg("swept temporary files")
		}
	}
	return true
}

// shut forgets a folder's jobs and lets it go. They are all in its files.
func (l *loop) shut(f *folder) {
	if f.dir == nil {
		return
	}
	if l.source != nil {
		l.source.Remove(f.path)
	}
	if l.working && l.current.dir == f.dir {
		l.closing = append(l.closing, f.dir) // after the order in hand
	} else if err := f.dir.Close(); err != nil {
		l.log.Warn().Str("folder", f.path).AnErr("err", err).Msg("cannot close folder")
	}
	for name := range f.subs {
		l.drop(filepath.Join(f.path, name))
	}
	fresh := newFolder(f.path, f.root, f.listed, f.scanAt)
	fresh.trouble, fresh.mount = f.trouble, f.mount
	*f = *fresh
}

// drop forgets a subfolder, unless it is a root in its own right.
func (l *loop) drop(path string) {
	f := l.folders[path]
	if f == nil || f.root {
		return
	}
	l.shut(f)
	delete(l.folders, path)
}

// listen makes sure that events come for the folder. Without them the rescan
// does all the work, so one line is enough.
func (l *loop) listen(f *folder) {
	if f.noticed || !f.listed {
		return
	}
	err := l.openSource()
	if err == nil {
		err = l.source.Add(f.path)
	}
	if err == nil {
		f.noticed = true
		return
	}
	if !l.deaf {
		l.deaf = true
		l.log.Warn().Str("folder", f.path).AnErr("err", err).
			Str("reason", fmt.Sprintf("looking every %v instead", l.cfg.Rescan)).Msg("no file events")
	}
}
