package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Sizes are the smallest images that each file system accepts, in bytes.
var Sizes = map[string]int64{"ext4": 16 << 20, "xfs": 300 << 20, "btrfs": 114 << 20}

// Disk is a file system of its own, in an image file. It needs root and a loop
// device.
type Disk struct {
	Image string
	Mount string // where it is mounted
	kind  string
}

// NewDisk makes and mounts a file system of a kind that Sizes knows; both the
// image and the mount point lie in dir.
func NewDisk(dir, kind string) (*Disk, error) {
	d := &Disk{Image: filepath.Join(dir, "image"), Mount: filepath.Join(dir, "mount"), kind: kind}
	if err := Format(d.Image, kind); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(d.Mount, 0o755); err != nil {
		return nil, err
	}
	return d, d.Up()
}

// Format makes an empty file system in a file or on a device.
func Format(image, kind string) error {
	if info, err := os.Stat(image); err != nil || info.Mode().IsRegular() {
		f, err := os.Create(image)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Truncate(Sizes[kind]); err != nil {
			return err
		}
	}
	return command("mkfs."+kind, map[string]string{"ext4": "-qF", "xfs": "-qf", "btrfs": "-qf"}[kind], image)
}

// Up mounts the file system, which repairs itself as after a power cut.
func (d *Disk) Up() error { return command("mount", "-t", d.kind, "-o", "loop", d.Image, d.Mount) }

// Down unmounts it. No program may be at work in it.
func (d *Disk) Down() error { return command("umount", d.Mount) }

// Cut takes the power away: what was not synced is lost, and every call fails
// until the file system is down and up again. ext4 and xfs can do that.
func (d *Disk) Cut() error {
	const (
		goingDown  = 0x8004587d // XFS_IOC_GOINGDOWN, which ext4 knows by its own name
		noLogFlush = 2
	)
	f, err := os.Open(d.Mount)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.IoctlSetPointerInt(int(f.Fd()), goingDown, noLogFlush)
}

// Sync makes everything in the file system durable.
func (d *Disk) Sync() error {
	f, err := os.Open(d.Mount)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}

// command runs one of the system's tools.
func command(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%s is not installed: %w", name, err)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
