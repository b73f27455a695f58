package state

import (
	"bytes"
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// list calls each with every name in the folder and its type (unix.DT_...).
// The bytes are good only during the call; buf is where they are. It reads the
// kernel's records as they are: os.ReadDir would make two objects for each of a
// million names.
func (d *Dir) list(buf []byte, each func(base []byte, typ uint8) error) error {
	// A descriptor of its own, because the position belongs to it.
	f, err := d.openat(StepOpen, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		n := 0
		err := d.do(StepList, func() (err error) {
			n, err = unix.ReadDirent(int(f.Fd()), buf)
			return err
		})
		if err != nil {
			return os.NewSyscallError("getdents64", err)
		}
		if n <= 0 {
			return nil
		}
		if err := records(buf[:n], each); err != nil {
			return err
		}
	}
}

// records walks over linux_dirent64 records: inode 8 bytes, offset 8, length
// of the record 2, type 1, name, NUL.
func records(b []byte, each func(base []byte, typ uint8) error) error {
	const length, kind, name = 16, 18, 19
	for len(b) > name {
		size := int(binary.NativeEndian.Uint16(b[length:]))
		if size <= name || size > len(b) {
			return unix.EIO // the kernel does not do that
		}
		base := b[name:size]
		if end := bytes.IndexByte(base, 0); end >= 0 {
			base = base[:end]
		}
		inode := binary.NativeEndian.Uint64(b)
		if inode != 0 && len(base) > 0 && string(base) != "." && string(base) != ".." {
			if err := each(base, b[kind]); err != nil {
				return err
			}
		}
		b = b[size:]
	}
	return nil
}
