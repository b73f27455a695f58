package state

import (
	"bytes"
	"errors"

	"golang.org/x/sys/unix"
)

// Listing is what one pass over a folder found.
type Listing struct {
	// Jobs are those that ask for something: every phase but Absent and
	// Done, and a Done job with a .retry or a .cancel.
	Jobs map[Name]Files
	// Lost are jobs that had a marker when this Dir was scanned before, and of
	// which now the prompt alone is left: nothing says any more that they were
	// sent. Each is told once. One whose marker was retired is not among them.
	Lost []Name
	// Done counts the answers whose prompt or marker is still there.
	Done int
	// Dirs are the real subfolders, without dot names and symbolic links.
	Dirs []string
	// Conflicts are sync tools' second copies, see [Conflict].
	Conflicts []string
	// Hold and Paused say that watcher.hold and watcher.paused are there.
	Hold, Paused bool
}

// Scan lists the folder in one pass over its names. It makes no stat for a
// regular file and keeps a few bytes for a finished job. Names that come or go
// meanwhile may be missed: before a send, [Dir.Lookup] has to be asked.
func (d *Dir) Scan() (Listing, error) {
	var l Listing
	jobs := newTable(d.seed)
	err := d.list(func(base []byte, typ uint8) error {
		stem, k, ok := split(base)
		switch {
		case ok && !conflicted(stem):
			jobs.add(stem, bit(k, typ))
		case (ok || bytes.HasSuffix(base, []byte(".url"))) && Conflict(string(base)):
			l.Conflicts = append(l.Conflicts, string(base))
		case string(base) == HoldFile:
			l.Hold = true
		case string(base) == PausedFile:
			l.Paused = true
		}
		return d.subfolder(&l, base, typ, ok)
	})
	if err == nil {
		l.Jobs, l.Done = d.jobs(jobs)
		l.Lost, err = d.compare(jobs)
	}
	if err != nil {
		return Listing{}, d.fail("list", ".", err)
	}
	return l, nil
}

// unsure marks a prompt that may be no regular file; it needs a stat.
const unsure Files = 1 << 15

// bit is what one name adds to its job. Only a prompt has to be a file.
func bit(k Kind, typ uint8) Files {
	switch {
	case k != KindPrompt || typ == unix.DT_REG:
		return Files(0).With(k)
	case typ == unix.DT_LNK || typ == unix.DT_UNKNOWN:
		return Files(0).With(k) | unsure
	}
	return 0
}

// subfolder adds a name to the listing's folders if it is one. On the rare
// file system that gives no types, files that look like a job's are not asked.
func (d *Dir) subfolder(l *Listing, base []byte, typ uint8, ours bool) error {
	if base[0] == '.' || typ != unix.DT_DIR && (typ != unix.DT_UNKNOWN || ours) {
		return nil
	}
	if typ == unix.DT_UNKNOWN {
		st, err := d.look(string(base))
		if errors.Is(err, unix.ENOENT) || err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return nil
		}
		if err != nil {
			return err
		}
	}
	l.Dirs = append(l.Dirs, string(base))
	return nil
}

// jobs picks out of the table what the caller has to look at.
func (d *Dir) jobs(t *table) (map[Name]Files, int) {
	found, done := map[Name]Files{}, 0
	for _, s := range t.slots {
		files := s.files &^ unsure
		if files.Phase() == Done && (files.Has(KindPrompt) || files.Has(KindMarker)) {
			done++
		}
		if !wanted(files) {
			continue
		}
		n := Name(t.name(s))
		if s.files&unsure != 0 {
			// An error is this entry's alone, such as a link's into a folder
			// that is closed to us. Who reads the prompt is told.
			if is, err := d.isPrompt(n.File(KindPrompt)); err == nil && !is {
				files = files.Without(KindPrompt)
			}
		}
		if wanted(files) {
			found[n] = files
		}
	}
	return found, done
}

// wanted reports whether a job asks for something.
func wanted(f Files) bool {
	switch f.Phase() {
	case Absent:
		return false
	case Done:
		return f.Has(KindRetry) || f.Has(KindCancel)
	}
	return true
}
