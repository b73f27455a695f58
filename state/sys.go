package state

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Every call that touches a file is one of these named steps. A test can fail
// each of them, or kill the process at it.
const (
	StepLook    = "look"    // fstatat: is the name there, and what is it
	StepOpen    = "open"    // openat: for reading
	StepRead    = "read"    // read a file whole
	StepBelieve = "believe" // fsync of a file that was found
	StepTemp    = "temp"    // openat: make a temporary file
	StepReserve = "reserve" // fill it to its full length and fsync
	StepWrite   = "write"   // write its content
	StepSync    = "sync"    // fsync it
	StepClose   = "close"   // close it
	StepLink    = "link"    // linkat: give it its name, if nobody has that
	StepLinked  = "linked"  // (after it took: an error here is a lost reply)
	StepMove    = "move"    // renameat2 that never replaces
	StepMoved   = "moved"   // (after it took)
	StepCreate  = "create"  // O_EXCL, where neither of these works
	StepRename  = "rename"  // renameat
	StepRenamed = "renamed" // (after it took)
	StepFolder  = "folder"  // fsync of the folder
	StepUnlink  = "unlink"  // unlinkat: a temporary or a control file
	StepList    = "list"    // getdents
	StepStamp   = "stamp"   // fstat, fstatfs: did the folder change
)

// Steps lists all of them.
var Steps = []string{
	StepLook, StepOpen, StepRead, StepBelieve, StepTemp, StepReserve, StepWrite, StepSync, StepClose,
	StepLink, StepLinked, StepMove, StepMoved, StepCreate, StepRename, StepRenamed, StepFolder,
	StepUnlink, StepList, StepStamp,
}

// do takes a named step.
func (d *Dir) do(step string, call func() error) error {
	if d.hook != nil {
		if err := d.hook(step); err != nil {
			return err
		}
	}
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// at takes a named step relative to the folder. After Close the descriptor's
// number may belong to another folder; Control makes that an error.
func (d *Dir) at(step string, call func(dir int) error) error {
	return d.do(step, func() (err error) {
		if d.conn.Control(func(fd uintptr) { err = call(int(fd)) }) != nil {
			return os.ErrClosed
		}
		return err
	})
}

// did is the step after a call that took, where a test can lose its reply.
func (d *Dir) did(step string, err error) error {
	if err != nil {
		return err
	}
	return d.do(step, func() error { return nil })
}

// look stats a name itself, not what a symbolic link points to.
func (d *Dir) look(file string) (st unix.Stat_t, err error) {
	err = d.at(StepLook, func(dir int) error {
		return unix.Fstatat(dir, file, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	return st, err
}

// follow stats what a name leads to.
func (d *Dir) follow(file string) (st unix.Stat_t, err error) {
	err = d.at(StepLook, func(dir int) error { return unix.Fstatat(dir, file, &st, 0) })
	return st, err
}

// there reports whether a name exists, whatever it is.
func (d *Dir) there(file string) (bool, error) {
	_, err := d.look(file)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	return err == nil, err
}

func (d *Dir) openat(step, file string, flags int) (*os.File, error) {
	fd := -1
	err := d.at(step, func(dir int) (err error) {
		fd, err = unix.Openat(dir, file, flags|unix.O_CLOEXEC|unix.O_NOCTTY, 0o666)
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), file), nil
}

// open opens a file for reading. The stat keeps a device from being opened,
// O_NONBLOCK a FIFO that takes its place from blocking for ever.
func (d *Dir) open(file string) (*os.File, error) {
	st, err := d.follow(file)
	if err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, ErrNotRegular
	}
	f, err := d.openat(StepOpen, file, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readAll reads up to limit bytes; one more says that there are more.
func (d *Dir) readAll(f *os.File, limit int64) (b []byte, err error) {
	err = d.do(StepRead, func() error {
		b, err = io.ReadAll(io.LimitReader(f, limit+1))
		return err
	})
	return b, err
}

// temp makes a new temporary file. Its name is short and of fixed length, so
// that it fits where the longest job name does.
func (d *Dir) temp() (name string, f *os.File, err error) {
	if d.owner == "" {
		return "", nil, fmt.Errorf("write in %s: the folder was opened to look only", d.path)
	}
	var random [4]byte
	rand.Read(random[:]) // never fails
	name = ".watcher-" + d.owner + "-" + hex.EncodeToString(random[:]) + ".tmp"
	f, err = d.openat(StepTemp, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	return name, f, err
}

// believe makes a file that was found durable, before anything is built on it.
func (d *Dir) believe(f *os.File) error {
	if d.looksOnly() {
		return nil
	}
	return d.do(StepBelieve, f.Sync)
}

func (d *Dir) link(old, new string) error {
	err := d.at(StepLink, func(dir int) error { return unix.Linkat(dir, old, dir, new, 0) })
	return d.did(StepLinked, err)
}

// move renames, unless the new name is there.
func (d *Dir) move(old, new string) error {
	err := d.at(StepMove, func(dir int) error {
		return unix.Renameat2(dir, old, dir, new, unix.RENAME_NOREPLACE)
	})
	return d.did(StepMoved, err)
}

func (d *Dir) rename(old, new string) error {
	err := d.at(StepRename, func(dir int) error { return unix.Renameat(dir, old, dir, new) })
	return d.did(StepRenamed, err)
}

func (d *Dir) unlink(file string) error {
	return d.at(StepUnlink, func(dir int) error { return unix.Unlinkat(dir, file, 0) })
}

// syncFolder makes the names in the folder durable.
func (d *Dir) syncFolder() error {
	err := d.at(StepFolder, unix.Fsync)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return nil // this file system has no such call; its own order must do
	}
	return err
}
