package state

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// ShelfFolder is the subfolder that finished jobs are moved to. Its name begins
// with a dot, so no program looks for jobs in it.
const ShelfFolder = ".archive"

// ErrAtWork: the job isn't finished, or somebody is at it.
var ErrAtWork = errors.New("somebody is at work on it")

// Settled is what a finished job needs to be told from one that somebody is at.
type Settled struct {
	Phase Phase
	Files Files
	Last  time.Time // when the last of its files came or changed, by the kernel's clock
	Asks  bool      // a .cancel or a .retry waits to be obeyed
	Odd   string    // why it can't be moved: one of its names is no regular file; "" for any other
}

// Finished lists the jobs that have an answer or a .md.err, in no order. A .md
// that has neither prompt nor marker beside it is no job's.
func (d *Dir) Finished() ([]Name, error) {
	found := map[Name]bool{}
	err := d.list(make([]byte, 64<<10), func(base []byte, _ uint8) error {
		if n, k, ok := Parse(string(base)); ok && (k == KindAnswer || k == KindError) {
			found[n] = true
		}
		return nil
	})
	if err != nil {
		return nil, d.fail("list", ".", err)
	}
	names := make([]Name, 0, len(found))
	for n := range found {
		names = append(names, n)
	}
	return names, nil
}

// LookSettled looks afresh at a job's files.
func (d *Dir) LookSettled(n Name) (Settled, error) {
	files, err := d.Lookup(n)
	if err != nil {
		return Settled{}, err
	}
	s := Settled{Phase: files.Phase(), Files: files, Asks: files.Has(KindCancel) || files.Has(KindRetry)}
	for k := range kinds {
		if !files.Has(k) {
			continue
		}
		st, err := d.look(n.File(k))
		if errors.Is(err, unix.ENOENT) {
			s.Phase = Absent // somebody is at it
			return s, nil
		}
		if err != nil {
			return Settled{}, d.fail("look at", n.File(k), err)
		}
		if at := time.Unix(st.Ctim.Unix()); at.After(s.Last) {
			s.Last = at
		}
		if st.Mode&unix.S_IFMT != unix.S_IFREG {
			s.Odd = fmt.Sprintf("%q is no regular file", n.File(k))
		}
	}
	return s, nil
}

// Shelve moves the files of one finished job to another folder of the same file
// system, its put-aside ones included. It never replaces a file. At every moment,
// whatever dies, each folder either has no prompt of the job or has the answer or
// the .md.err beside it, so nowhere does the job look as if it was to be sent:
// all files get their new names first, the prompt last, and lose their old ones
// after that, the prompt first. What was begun is finished by another call.
//
// Errors: ErrExists when the other folder has another file of one of the names;
// ErrAtWork when the job is not finished any more, and stays.
func (d *Dir) Shelve(n Name, to *Dir) error {
	s, err := d.LookSettled(n)
	if err == nil && (s.Phase != Done && s.Phase != Failed || s.Asks || s.Odd != "") {
		err = ErrAtWork
	}
	if err == nil {
		err = d.shelve(n, s, to)
	}
	if err != nil {
		return d.fail("move", n.File(KindPrompt), err)
	}
	return nil
}

func (d *Dir) shelve(n Name, was Settled, to *Dir) error {
	files, err := d.shelved(n, was.Files)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := d.linkTo(to, file); err != nil {
			return err
		}
	}
	if err := to.syncFolder(); err != nil {
		return err
	}
	now, err := d.LookSettled(n)
	if err == nil && (now.Phase != was.Phase || now.Files != was.Files || now.Asks) {
		err = ErrAtWork
	}
	for i := 0; err == nil && i < len(files); i++ {
		err = d.sameIn(to, files[i])
	}
	if err != nil {
		return err
	}
	slices.Reverse(files)
	for i, file := range files {
		if err := d.leave(to, file); err != nil {
			return err
		}
		if i == 0 { // a power cut must not bring the prompt back alone
			if err := d.syncFolder(); err != nil {
				return err
			}
		}
	}
	return d.syncFolder()
}

// leave takes a file's old name away, if what has that name is what was kept.
func (d *Dir) leave(to *Dir, file string) error {
	err := d.sameIn(to, file)
	if err == nil {
		err = d.unlink(file)
	}
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// shelved lists what belongs to a job, in the order in which it gets its new
// names: what says that it is finished first, the prompt last.
func (d *Dir) shelved(n Name, files Files) (list []string, err error) {
	for _, k := range []Kind{KindAnswer, KindError, KindMarker, KindHold, KindReady} {
		if files.Has(k) {
			list = append(list, n.File(k))
		}
	}
	for _, k := range []Kind{KindAnswer, KindError, KindMarker} {
		for i := 1; ; i++ {
			aside := n.Archive(k, i)
			there, err := d.there(aside)
			if err != nil {
				return nil, err
			}
			if !there || slices.Contains(list, aside) {
				break
			}
			list = append(list, aside)
		}
	}
	if files.Has(KindPrompt) {
		list = append(list, n.File(KindPrompt))
	}
	return list, nil
}

// linkTo gives a file its name in the other folder, too. An earlier call may
// have done that.
func (d *Dir) linkTo(to *Dir, file string) error {
	err := d.at(StepLink, func(from int) (err error) {
		if to.conn.Control(func(fd uintptr) { err = unix.Linkat(from, file, int(fd), file, 0) }) != nil {
			return errors.New("the shelf was closed")
		}
		return err
	})
	err = d.did(StepLinked, err)
	switch {
	case err == nil:
		return nil
	case noLinks(err):
		return fmt.Errorf("this file system has no hard links; move the job by hand, its .md* files first: %w", err)
	case errors.Is(err, unix.EXDEV):
		return fmt.Errorf("the shelf is on another file system: %w", err)
	}
	if same := d.sameIn(to, file); same == nil {
		return nil
	} else if errors.Is(err, unix.EEXIST) {
		return ErrExists
	}
	return err
}

// sameIn is nil when both folders have the very same file under the name.
func (d *Dir) sameIn(to *Dir, file string) error {
	mine, err := d.look(file)
	if err != nil {
		return err
	}
	theirs, err := to.look(file)
	if err == nil && (mine.Ino != theirs.Ino || mine.Dev != theirs.Dev) {
		err = ErrAtWork
	}
	return err
}

// Begun reports whether an earlier call of Shelve, which was cut off, has moved
// the job's prompt already: its answer is in both folders.
func (d *Dir) Begun(n Name, to *Dir) bool {
	return d.sameIn(to, n.File(KindAnswer)) == nil || d.sameIn(to, n.File(KindError)) == nil
}

// shelfPath is the i-th shelf's, relative to the folder: .archive, then .archive/2
// and so on.
func shelfPath(i int) string {
	if i > 1 {
		return fmt.Sprintf("%s/%d", ShelfFolder, i)
	}
	return ShelfFolder
}

// HasShelf reports whether the i-th shelf, from 1, is there.
func (d *Dir) HasShelf(i int) bool {
	there, err := d.there(shelfPath(i))
	return err == nil && there
}

// SentBefore reports whether a job of this name whose files were moved to a shelf
// was sent with the text of this fingerprint: then a tool has delivered the
// prompt once more, and its marker is not beside it any more.
func (d *Dir) SentBefore(n Name, sum string) (bool, error) {
	for i := 1; ; i++ {
		shelf, err := OpenDir(filepath.Join(d.path, shelfPath(i)), "")
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		m, err := shelf.Believe(n)
		_ = shelf.Close() // it was only read through
		if err == nil && m.Prompt == sum {
			return true, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
}

// Shelf opens the i-th shelf of the folder, which is made if need be. The later
// ones are for jobs whose names are taken.
func (d *Dir) Shelf(i int) (*Dir, error) {
	for _, path := range slices.Compact([]string{ShelfFolder, shelfPath(i)}) {
		err := d.at(StepCreate, func(dir int) error { return unix.Mkdirat(dir, path, 0o777) })
		if err == nil {
			err = d.syncFolder()
		}
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return nil, d.fail("make", path, err)
		}
	}
	shelf, err := OpenDir(filepath.Join(d.path, shelfPath(i)), d.owner)
	if err == nil {
		shelf.hook = d.hook
	}
	return shelf, err
}
