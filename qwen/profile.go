package qwen

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Profile is the folder that holds a login and everything else that belongs
// to one person's use of the site on one machine:
//
//	lock      held by the one program that may use the profile now
//	alive     held by its browser as well, so an orphan shows
//	id        names the profile; accounts.json names each account in it
//	login     until when somebody is logged in, as last seen
//	reads/    when each open chat was last read
//	chromium/ the browser's own folder
//	tmp/      its temporary files, emptied at each start
type Profile struct {
	dir   string
	lock  *os.File
	alive *os.File
}

// ErrHeld is the cause of the error when another program holds the profile.
var ErrHeld = errors.New("another program holds it")

// OpenProfile makes the folder if need be (0700) and takes its lock without
// waiting. The error's kind is busy when another program holds it.
func OpenProfile(dir string) (*Profile, error) {
	dir, err := filepath.Abs(dir) // the browser is told, and recognised by, the whole path
	if err != nil {
		return nil, fail(KindDisk, "open the profile", "%w", err)
	}
	if err := makePrivate(dir, "chromium", "tmp", "reads"); err != nil {
		return nil, fail(KindDisk, "open the profile "+dir, "%w", err)
	}
	lock, err := tryLock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, lockError(dir, err)
	}
	p := &Profile{dir: dir, lock: lock}
	if err := p.endOrphan(); err != nil {
		lock.Close()
		return nil, err
	}
	sweepReads(dir)
	return p, nil
}

// makePrivate makes dir and its subfolders readable by their owner only. A
// failing chmod is tolerated: some file systems know no modes.
func makePrivate(dir string, subs ...string) error {
	for _, d := range append([]string{""}, subs...) {
		path := filepath.Join(dir, d)
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
		_ = os.Chmod(path, 0o700)
	}
	return nil
}

// tryLock opens the file and takes its kernel lock, or fails with EWOULDBLOCK.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func lockError(dir string, err error) error {
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fail(KindBusy, "use the profile "+dir, "%w", ErrHeld)
	}
	return fail(KindDisk, "lock the profile "+dir, "%w", err)
}

// Close gives the profile up. The browser must have ended before.
func (p *Profile) Close() error {
	p.alive.Close()
	return p.lock.Close()
}

// Dir is the profile's folder.
func (p *Profile) Dir() string { return p.dir }

func (p *Profile) browserDir() string { return filepath.Join(p.dir, "chromium") }
