package state

import (
	"fmt"
	"hash/maphash"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Dir is an open folder of jobs, and the only writer of the files in it. It
// holds a descriptor of the folder and goes through it for every file, so that
// a folder that was unmounted, or replaced by another of the same name, is
// never written by mistake. Its methods may be called from several goroutines;
// after Close each gives an error.
type Dir struct {
	path  string
	owner string // 8 hex digits, or "" for a folder that is only looked at
	file  *os.File
	conn  syscall.RawConn
	hook  func(step string) error

	mu      sync.Mutex // of what is known from the last scan
	jobs    *table
	last    Listing
	unmoved stamp // last is still true of a folder that has this one
	times   int8  // whether a stamp's times are exact: 1 yes, -1 no, 0 not asked yet
}

// Option changes how a [Dir] works.
type Option func(*Dir)

// WithStep calls f before each named step (see [Steps]). When f returns an
// error the step is not taken and fails with that error. For tests.
func WithStep(f func(step string) error) Option {
	return func(d *Dir) { d.hook = f }
}

var ownerForm = regexp.MustCompile(`^[0-9a-f]{8,}$`)

// OpenDir opens a folder of jobs. The owner, 8 or more hex digits that no
// other profile has, goes into the names of temporary files, so that only this
// profile sweeps them; with "" the folder can be looked at but not written.
func OpenDir(path, owner string, opts ...Option) (*Dir, error) {
	if owner != "" && !ownerForm.MatchString(owner) {
		return nil, fmt.Errorf("open folder %q: owner %q is not 8 or more hex digits", path, owner)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open folder %q: %w", path, err)
	}
	d := &Dir{path: abs, owner: owner[:min(len(owner), 8)], jobs: newTable(maphash.MakeSeed())}
	for _, o := range opts {
		o(d)
	}
	// O_DIRECTORY: a file or a FIFO of that name is an error, not a wait.
	d.file, err = os.OpenFile(abs, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("open folder: %w", err)
	}
	if d.conn, err = d.file.SyscallConn(); err != nil {
		d.file.Close()
		return nil, fmt.Errorf("open folder %q: %w", path, err)
	}
	return d, nil
}

// Close lets the folder go.
func (d *Dir) Close() error { return d.file.Close() }

// looksOnly reports a Dir that may write nothing.
func (d *Dir) looksOnly() bool { return d.owner == "" }

// Path is the folder's absolute path as it was given; for messages.
func (d *Dir) Path() string { return d.path }

// Same reports whether the path still leads to this very folder. False after
// an unmount, a rename, or a removal, whatever has the path now.
func (d *Dir) Same() bool {
	mine, err := d.file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(d.path)
	return err == nil && os.SameFile(mine, named)
}
