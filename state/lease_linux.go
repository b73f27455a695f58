package state

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Writers reports whether any process of this host has the prompt open for
// writing. A read lease is refused with EAGAIN while one has, and given back
// at once otherwise. known is false where leases cannot tell: another user's
// file, and file systems that do not have them.
func (d *Dir) Writers(n Name) (open, known bool, err error) {
	if err := n.Check(); err != nil {
		return false, false, err
	}
	f, err := d.open(n.File(KindPrompt))
	if err != nil {
		return false, false, d.fail("look at prompt", n.File(KindPrompt), err)
	}
	defer f.Close()
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	switch {
	case err == nil:
		// Closing gives the lease back as well, should this fail.
		unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		return false, true, nil
	case errors.Is(err, unix.EAGAIN):
		return true, true, nil
	}
	return false, false, nil
}
