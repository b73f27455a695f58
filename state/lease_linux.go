package state

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Writers reports whether any process of this host has the prompt open for
// writing. A read lease is refused with EAGAIN while one has, and given back
// at once otherwise. known is false where leases cannot tell: another user's
// file, and a file that may be written behind this kernel's back.
func (d *Dir) Writers(n Name) (open, known bool, err error) { return d.writers(n, KindPrompt) }

// ReadyWriters does so with its .prompt.ready.
func (d *Dir) ReadyWriters(n Name) (open, known bool, err error) { return d.writers(n, KindReady) }

func (d *Dir) writers(n Name, k Kind) (open, known bool, err error) {
	if err := n.Check(); err != nil {
		return false, false, err
	}
	f, err := d.open(n.File(k))
	if err != nil {
		return false, false, d.fail("look at", n.File(k), err)
	}
	defer f.Close()
	return d.lease(f, n.File(k))
}

// lease asks the kernel about a file that is open for reading only.
func (d *Dir) lease(f *os.File, name string) (open, known bool, err error) {
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	switch {
	case err == nil:
		// Closing gives the lease back as well, should this fail.
		unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		if known, err = private(f); err != nil {
			return false, false, d.fail("look at", name, err)
		}
		return false, known, nil
	case errors.Is(err, unix.EAGAIN):
		return true, true, nil
	}
	return false, false, nil
}

// private reports whether a file lies where this kernel sees every writer. FUSE
// (sshfs, bindfs, the folders that Docker Desktop and virtual machines share)
// and some network file systems grant a lease while somebody writes to the same
// file by another way. So those that are known to be private are listed, and
// any other is not.
func private(f *os.File) (bool, error) {
	var fs unix.Statfs_t
	for {
		err := unix.Fstatfs(int(f.Fd()), &fs)
		if err == nil {
			return privateTypes[uint32(fs.Type)], nil
		}
		if !errors.Is(err, unix.EINTR) {
			return false, os.NewSyscallError("fstatfs", err)
		}
	}
}

var privateTypes = map[uint32]bool{
	unix.EXT4_SUPER_MAGIC:      true, // ext2 and ext3, too
	unix.XFS_SUPER_MAGIC:       true,
	unix.BTRFS_SUPER_MAGIC:     true,
	unix.BCACHEFS_SUPER_MAGIC:  true,
	unix.F2FS_SUPER_MAGIC:      true,
	unix.NILFS_SUPER_MAGIC:     true,
	unix.REISERFS_SUPER_MAGIC:  true,
	unix.TMPFS_MAGIC:           true,
	unix.RAMFS_MAGIC:           true,
	unix.OVERLAYFS_SUPER_MAGIC: true, // its layers must not be written directly
	unix.MSDOS_SUPER_MAGIC:     true, // vfat
	unix.EXFAT_SUPER_MAGIC:     true,
	0x2fc12fc1:                 true, // zfs
	0x3153464a:                 true, // jfs
	0x7366746e:                 true, // ntfs3
}
