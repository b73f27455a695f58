package state

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// What a caller asks of an error, with errors.Is.
var (
	// ErrExists: another program, or a person, already made this file.
	ErrExists = errors.New("it is already there")
	// ErrInDoubt: the write failed, and the file may be there all the same.
	// Nothing may be sent. For a marker: refuse the held request, then
	// [Dir.Retire] it; left alone it is found later as "may have left".
	ErrInDoubt = errors.New("it may or may not have been written")
	// ErrNotExpected: the marker is not the one that it was taken for.
	ErrNotExpected = errors.New("it is not the marker expected")
	// ErrEmpty: the prompt holds nothing but white space so far.
	ErrEmpty = errors.New("the prompt is empty")
	// ErrChanged: the prompt changed while it was being read.
	ErrChanged = errors.New("the prompt is being changed")
	// ErrNotRegular: not a file, and no symbolic link to one.
	ErrNotRegular = errors.New("it is not a regular file")
)

// InvalidError says that a prompt can never be sent as it is.
type InvalidError struct {
	Name   Name
	Reason string // what is wrong and what to do, for a person
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("read prompt %s: %s", strconv.Quote(e.Name.File(KindPrompt)), e.Reason)
}

// hints tell a person what can be done about an error of the file system.
var hints = []struct {
	errno unix.Errno
	hint  string
}{
	{unix.ENOSPC, "free some space"},
	{unix.EDQUOT, "free some space or raise the quota"},
	{unix.EFBIG, "raise the limit of a file's size (ulimit -f)"},
	{unix.EROFS, "mount it writable"},
	{unix.EACCES, "check the owner and mode of the folder and file"},
	{unix.EPERM, "check the owner and mode of the folder and file"},
	{unix.ENAMETOOLONG, "shorten the prompt's name"},
	{unix.EIO, "check the disk"},
	{unix.ESTALE, "the share went away; mount it again"},
	{unix.EMFILE, "raise the limit of open files (ulimit -n)"},
}

// fail says what was tried on which file of the folder, and what to do.
func (d *Dir) fail(verb, file string, err error) error {
	for _, h := range hints {
		if errors.Is(err, h.errno) {
			return fmt.Errorf("%s %q in %s: %w; %s", verb, file, d.path, err, h.hint)
		}
	}
	return fmt.Errorf("%s %q in %s: %w", verb, file, d.path, err)
}
