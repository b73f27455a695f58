package state

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A file that goes with a prompt is named by whoever can write the prompt, so
// it is opened only beneath the folder, and through no symbolic link: no name
// leads to a file of the machine's.

// ErrOutside says that a path leads out of the folder, or through a symbolic
// link.
var ErrOutside = errors.New("it leads out of the folder or through a symbolic link")

// IdentifyBeneath looks at the regular file that a relative path leads to.
//
// Errors: ErrOutside, ErrNotRegular; fs.ErrNotExist while it, or a folder on
// the way to it, is not there.
func (d *Dir) IdentifyBeneath(path string) (Identity, error) {
	f, err := d.openBeneath(path)
	if err != nil {
		return Identity{}, d.fail("look at", path, err)
	}
	defer f.Close()
	id, err := fstat(f)
	if err != nil {
		return Identity{}, d.fail("look at", path, err)
	}
	return id, nil
}

// WritersBeneath is [Dir.Writers] for such a file.
func (d *Dir) WritersBeneath(path string) (open, known bool, err error) {
	f, err := d.openBeneath(path)
	if err != nil {
		return false, false, d.fail("look at", path, err)
	}
	defer f.Close()
	return d.lease(f, path)
}

// CopyBeneath copies such a file, if it still is the one that was seen:
// ErrChanged when it is not, or was written meanwhile.
func (d *Dir) CopyBeneath(path string, seen Identity, to io.Writer) error {
	f, err := d.openBeneath(path)
	if err != nil {
		return d.fail("copy", path, err)
	}
	defer f.Close()
	id, err := fstat(f)
	if err == nil && id == seen {
		err = d.do(StepRead, func() error {
			n, err := io.Copy(to, io.LimitReader(f, seen.Size+1))
			if err == nil && n != seen.Size {
				err = ErrChanged
			}
			return err
		})
		if err == nil {
			id, err = fstat(f)
		}
	}
	if err == nil && id != seen {
		err = ErrChanged
	}
	if err != nil {
		return d.fail("copy", path, err)
	}
	return nil
}

// openBeneath opens a regular file. The first open is of the path alone, so
// that a device or a FIFO is never opened.
func (d *Dir) openBeneath(path string) (*os.File, error) {
	at, err := d.beneath(path, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	var seen, opened unix.Stat_t
	if err := unix.Fstat(int(at.Fd()), &seen); err != nil {
		return nil, err
	}
	if seen.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, ErrNotRegular
	}
	f, err := d.beneath(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, err
	}
	if err = unix.Fstat(int(f.Fd()), &opened); err == nil && opened.Mode&unix.S_IFMT != unix.S_IFREG {
		err = ErrNotRegular
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// beneath opens a path below the folder. Kernels before 5.6, and some sandboxes,
// have no openat2; there nothing is opened.
func (d *Dir) beneath(path string, flags uint64) (*os.File, error) {
	how := unix.OpenHow{
		Flags:   flags | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd := -1
	err := d.at(StepOpen, func(dir int) (err error) {
		fd, err = unix.Openat2(dir, path, &how)
		if errors.Is(err, unix.EAGAIN) { // something was renamed meanwhile
			fd, err = unix.Openat2(dir, path, &how)
		}
		return err
	})
	switch {
	case errors.Is(err, unix.EXDEV) || errors.Is(err, unix.ELOOP):
		return nil, ErrOutside
	case errors.Is(err, unix.ENOTDIR):
		return nil, fmt.Errorf("%w: a part of its path is no folder", os.ErrNotExist)
	case errors.Is(err, unix.ENOSYS):
		return nil, fmt.Errorf("this kernel has no openat2 (Linux 5.6 has): %w", err)
	case err != nil:
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}
