package state

import (
	"bytes"
	"errors"
	"maps"
	"sync"

	"golang.org/x/sys/unix"
)

// Listing is what one pass over a folder found. Its maps and lists may be those
// of an earlier one: nobody may change them.
type Listing struct {
	// Jobs are those that ask for something: every phase but Absent and
	// Done, and a Done job with a .retry or a .cancel.
	Jobs map[Name]Files
	// Lost are jobs that had a marker when this Dir was looked at before, and
	// of which now the prompt alone is left: nothing says any more that they
	// were sent. Each is told once. One whose marker was retired is not among
	// them.
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
// regular file and keeps eight bytes for a finished job. Names that come or go
// meanwhile may be missed: before a send, [Dir.Lookup] has to be asked.
//
// A folder that provably did not change since the last pass is not read again.
func (d *Dir) Scan() (Listing, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.stamp()
	if d.unmoved.proves(now) {
		return d.last, nil
	}
	s := scan{Dir: d, scratch: scratches.Get().(*scratch)}
	defer scratches.Put(s.scratch)
	l, err := s.run()
	if err != nil {
		d.unmoved = stamp{}
		return Listing{}, d.fail("list", ".", err)
	}
	d.last, d.unmoved = l, now
	d.last.Lost = nil // told
	if s.unsure {     // a link's target comes and goes without a word
		d.unmoved = stamp{}
	}
	return l, nil
}

// scan is one pass under way.
type scan struct {
	*Dir
	*scratch
	list   Listing
	unsure bool // some prompt may be no file
}

// scratch is memory that scans use one after the other.
type scratch struct {
	notes notes
	buf   []byte // for list
}

var scratches = sync.Pool{New: func() any { return &scratch{buf: make([]byte, 64<<10)} }}

func (s *scan) run() (Listing, error) {
	s.notes.b, s.notes.full = s.notes.b[:0], false
	s.jobs.begin()
	if err := s.Dir.list(s.buf, s.see); err != nil {
		return Listing{}, err
	}
	names, err := s.names()
	if err != nil {
		return Listing{}, err
	}
	if s.list.Lost, err = s.lost(names); err != nil {
		return Listing{}, err
	}
	s.sort(names)
	s.jobs.end()
	return s.list, nil
}

// see takes in one name.
func (s *scan) see(base []byte, typ uint8) error {
	stem, k, ok := split(base)
	if ok && !conflicted(stem) {
		s.join(stem, bit(k, typ))
	} else {
		s.other(base, ok)
	}
	if typ == unix.DT_REG {
		return nil
	}
	return s.subfolder(&s.list, base, typ, ok)
}

// join adds files to a job, and notes its name while it asks for something.
func (s *scan) join(stem []byte, files Files) {
	if files == 0 {
		return
	}
	hash := s.jobs.hash(stem)
	slot := s.jobs.add(hash, files)
	if slot.pending() && !slot.has(kept) && s.notes.keep(hash, stem) {
		slot.set(kept)
	}
}

// other takes in a name that belongs to no job.
func (s *scan) other(base []byte, copied bool) {
	l := &s.list
	switch {
	case (copied || bytes.HasSuffix(base, []byte(".url"))) && Conflict(string(base)):
		l.Conflicts = append(l.Conflicts, string(base))
	case string(base) == HoldFile:
		l.Hold = true
	case string(base) == PausedFile:
		l.Paused = true
	}
}

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

// names gives the names of the jobs that ask for something. Those that were
// not noted are known from before, or else the folder is read once more.
func (s *scan) names() (map[uint64]Name, error) {
	found := map[uint64]Name{}
	unnamed := 0
	for _, slot := range s.jobs.slots {
		if !slot.pending() {
			continue
		}
		s.unsure = s.unsure || slot.has(unsure)
		if !slot.has(kept) {
			found[slot.hash()] = ""
			unnamed++
		}
	}
	s.notes.each(func(hash uint64, stem []byte) {
		if s.jobs.find(hash).pending() {
			found[hash] = Name(stem)
		}
	})
	if unnamed == 0 {
		return found, nil
	}
	give := func(stem []byte) {
		if hash := s.jobs.hash(stem); found[hash] == "" {
			if _, asked := found[hash]; asked {
				found[hash] = Name(stem)
				unnamed--
			}
		}
	}
	for n := range s.last.Jobs {
		give([]byte(n))
	}
	if unnamed == 0 {
		return found, nil
	}
	err := s.Dir.list(s.buf, func(base []byte, _ uint8) error {
		if stem, _, ok := split(base); ok && !conflicted(stem) {
			give(stem)
		}
		return nil
	})
	maps.DeleteFunc(found, func(hash uint64, n Name) bool {
		if n == "" { // it went meanwhile
			s.jobs.find(hash).forget()
		}
		return n == ""
	})
	return found, err
}

// sort picks out what the caller has to look at.
func (s *scan) sort(names map[uint64]Name) {
	for _, slot := range s.jobs.slots {
		if files := slot.files(); files.Phase() == Done && (files.Has(KindPrompt) || files.Has(KindMarker)) {
			s.list.Done++
		}
	}
	s.list.Jobs = make(map[Name]Files, len(names))
	for hash, n := range names {
		slot := *s.jobs.find(hash)
		files := slot.files()
		if slot.has(unsure) {
			// An error is this entry's alone, such as a link's into a folder
			// that is closed to us. Who reads the prompt is told.
			if is, err := s.isPrompt(n.File(KindPrompt)); err == nil && !is {
				files = files.Without(KindPrompt)
			}
		}
		if wanted(files) {
			s.list.Jobs[n] = files
		}
	}
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
