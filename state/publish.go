package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// write makes a temporary file with this content, durable but nameless as far
// as anybody else is concerned. On an error nothing is left.
func (d *Dir) write(content []byte) (temp string, err error) {
	temp, f, err := d.temp()
	if err != nil {
		return "", err
	}
	if err = d.finish(f, content); err != nil {
		d.unlink(temp)
		return "", err
	}
	return temp, nil
}

// finish writes, syncs and closes a temporary file. A failed fsync is never
// tried again: the second would report success over data that is lost. The
// file is thrown away instead.
func (d *Dir) finish(f *os.File, content []byte) error {
	err := d.do(StepWrite, func() error {
		if _, err := f.WriteAt(content, 0); err != nil {
			return err
		}
		return f.Truncate(int64(len(content)))
	})
	if err == nil {
		err = d.do(StepSync, f.Sync)
	}
	if closed := d.do(StepClose, f.Close); closed != nil {
		f.Close() // a test failed the step
		if err == nil {
			err = closed
		}
	}
	return err
}

// publish gives a temporary file its name, never in the place of a file that
// is there, and makes that durable. It is the one place where a marker or an
// answer comes into being. last is what to do where the file system can
// neither link nor rename exclusively.
//
// The error of link(2) proves nothing: its reply can be lost (NFS), and sshfs
// says EPERM to a loser. So the folder is looked at before it is believed.
func (d *Dir) publish(temp, target string, content []byte, last func() error) error {
	err := d.link(temp, target)
	if err != nil {
		err = d.despite(err, temp, target, content)
	}
	if noLinks(err) {
		if err = d.move(temp, target); err != nil {
			err = d.despite(err, temp, target, content)
		}
		if noMove(err) {
			err = last()
		}
	}
	if err != nil {
		return err
	}
	if err := d.syncFolder(); err != nil {
		return doubt(err)
	}
	return nil
}

// doubt says that nobody can tell whether what failed took all the same.
func doubt(err error) error { return fmt.Errorf("%w: %w", ErrInDoubt, err) }

// noLinks reports the errors of a file system without hard links, noMove those
// of one that cannot rename exclusively.
func noLinks(err error) bool { return isAny(err, unix.EPERM, unix.ENOTSUP, unix.ENOSYS, unix.EMLINK) }
func noMove(err error) bool  { return isAny(err, unix.EINVAL, unix.ENOTSUP, unix.ENOSYS, unix.EPERM) }

func isAny(err error, list ...unix.Errno) bool {
	if errors.Is(err, ErrInDoubt) {
		return false
	}
	for _, e := range list {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// despite finds out what is true after a call that should have given temp the
// name target failed with err: nil if it took all the same, ErrExists if
// somebody else's file is there, ErrInDoubt if that cannot be seen, else err.
func (d *Dir) despite(err error, temp, target string, content []byte) error {
	st, lookErr := d.look(target)
	if errors.Is(lookErr, unix.ENOENT) {
		if errors.Is(err, unix.EEXIST) {
			return ErrExists // it was there, and went
		}
		return err
	}
	if lookErr != nil {
		return doubt(lookErr)
	}
	if mine, e := d.look(temp); e == nil && mine.Ino == st.Ino && mine.Dev == st.Dev {
		return nil
	}
	// sshfs numbers the same file differently under each name; the content
	// tells, for the chat's address in it is nobody else's.
	b, readErr := d.readNamed(target, int64(len(content)), false)
	switch {
	case readErr == nil && bytes.Equal(b, content):
		return nil
	case readErr == nil || errors.Is(readErr, ErrNotRegular) || errors.Is(readErr, unix.EACCES):
		return ErrExists
	}
	return doubt(readErr)
}

// create is the last resort for a marker: still exclusive, but a crash between
// its steps leaves a file that is empty or cut. That reads as "sent, address
// unknown", which is safe and needs a person.
func (d *Dir) create(target string, content []byte) error {
	f, err := d.openat(StepCreate, target, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if errors.Is(err, unix.EEXIST) {
		return ErrExists
	}
	if err != nil {
		if there, lookErr := d.there(target); there || lookErr != nil {
			return doubt(err)
		}
		return err
	}
	if err := d.finish(f, content); err != nil {
		return doubt(err)
	}
	return nil
}

// replaceNothing is the last resort for an answer: whole at every moment, but
// a file that a person makes between the look and the rename would be lost.
func (d *Dir) replaceNothing(temp, target string, content []byte) error {
	there, err := d.there(target)
	switch {
	case err != nil:
		return err
	case there:
		return ErrExists
	}
	if err = d.rename(temp, target); err != nil {
		return d.despite(err, temp, target, content)
	}
	return nil
}
