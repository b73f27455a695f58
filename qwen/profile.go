package qwen

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Profile is the folder that holds a login and everything else that belongs
// to one person's use of the site on one machine:
//
//	lock      held by the one program that may use the profile now
//	alive     held by its browser as well, so an orphan shows
//	id        names the profile; accounts.json names each account in it
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

// orphanPatience is how long a browser of a dead holder gets to end by itself
// (its pipe is broken and its parent dead, so milliseconds are usual).
const orphanPatience = 10 * time.Second

// endOrphan waits until no browser of an earlier holder is alive: it would
// still be able to send. The browser inherits the descriptor of the file
// alive, so the kernel's lock on it tells, whatever became of its parent.
func (p *Profile) endOrphan() error {
	path := filepath.Join(p.dir, "alive")
	deadline := time.Now().Add(orphanPatience)
	for {
		alive, err := tryLock(path)
		if err == nil {
			p.alive = alive
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return fail(KindDisk, "lock the profile "+p.dir, "%w", err)
		}
		if time.Now().After(deadline) {
			return fail(KindBrowser, "use the profile "+p.dir,
				"a browser of an earlier run is still alive and does not end (see %s)", path)
		}
		p.killRecorded(path)
		time.Sleep(20 * time.Millisecond)
	}
}

// killRecorded ends the browser whose pid the file alive names, if that
// process is still a browser of this very profile.
func (p *Profile) killRecorded(path string) {
	b, err := os.ReadFile(path)
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid < 2 || !p.isOurs(pid) {
		return
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// isOurs reports whether the process is a browser on this profile's folder.
func (p *Profile) isOurs(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.Contains(string(b), "\x00--user-data-dir="+p.browserDir()+"\x00")
}

// recordBrowser notes the browser's pid for a later holder.
func (p *Profile) recordBrowser(pid int) {
	_ = p.alive.Truncate(0)
	_, _ = p.alive.WriteAt([]byte(strconv.Itoa(pid)+"\n"), 0)
}

// Close gives the profile up. The browser must have ended before.
func (p *Profile) Close() error {
	p.alive.Close()
	return p.lock.Close()
}

// Dir is the profile's folder.
func (p *Profile) Dir() string { return p.dir }

func (p *Profile) browserDir() string { return filepath.Join(p.dir, "chromium") }

// longestTemp is the longest folder in which Chromium can still make its
// socket: the kernel allows 107 bytes, and it adds a folder and a name.
const longestTemp = 107 - len("/org.chromium.Chromium.XXXXXX/SingletonSocket")

// tempDir is the browser's folder for temporary files: in the profile, or,
// when that path is too long for a socket, one fixed folder in /tmp.
func (p *Profile) tempDir() string {
	dir := filepath.Join(p.dir, "tmp")
	if len(dir) <= longestTemp {
		return dir
	}
	sum := sha256.Sum256([]byte(dir))
	return "/tmp/watcher-" + hex.EncodeToString(sum[:6])
}

// prepare removes what a dead browser left: temporary files, and Chromium's
// own lock, which may name a dead process or a host that was renamed. Only the
// holder of our lock may do that.
func (p *Profile) prepare() error {
	if err := makeTemp(p.tempDir()); err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(p.tempDir(), "*"))
	if err != nil {
		return err
	}
	hidden, _ := filepath.Glob(filepath.Join(p.tempDir(), ".*"))
	for _, path := range append(left, hidden...) {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	for _, name := range []string{"SingletonLock", "SingletonSocket", "SingletonCookie"} {
		if err := os.Remove(filepath.Join(p.browserDir(), name)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// makeTemp makes the folder and refuses one that another user has prepared.
func makeTemp(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is not a folder of this user", dir)
	}
	return nil
}

// tidy removes the temporary folder when it lies outside the profile.
func (p *Profile) tidy() {
	if dir := p.tempDir(); !strings.HasPrefix(dir, p.dir) {
		_ = os.RemoveAll(dir)
	}
}

// ID names the profile: 16 hex digits, made once.
func (p *Profile) ID() (string, error) {
	path := filepath.Join(p.dir, "id")
	if b, err := os.ReadFile(path); err == nil {
		if id := strings.TrimSpace(string(b)); len(id) == 16 {
			return id, nil
		}
	} else if !os.IsNotExist(err) {
		return "", fail(KindDisk, "read the profile's id", "%w", err)
	}
	id := randomID()
	if err := writeDurably(path, []byte(id+"\n")); err != nil {
		return "", fail(KindDisk, "write the profile's id", "%w", err)
	}
	return id, nil
}

// Owner returns the id under which this profile and account sign markers. It
// is random, not derived, so that a marker tells nobody whose account it is.
func (p *Profile) Owner(account string) (string, error) {
	path := filepath.Join(p.dir, "accounts.json")
	owners := map[string]string{}
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &owners)
	}
	if err != nil && !os.IsNotExist(err) {
		return "", fail(KindDisk, "read the profile's accounts", "%s: %w", path, err)
	}
	if id := owners[account]; id != "" {
		return id, nil
	}
	owners[account] = randomID()
	b, err = json.MarshalIndent(owners, "", "  ")
	if err == nil {
		err = writeDurably(path, append(b, '\n'))
	}
	if err != nil {
		return "", fail(KindDisk, "write the profile's accounts", "%w", err)
	}
	return owners[account], nil
}

func randomID() string {
	b := make([]byte, 8)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// writeDurably replaces a small file of the profile so that it is whole and
// stays. A lost owner id would orphan markers.
func writeDurably(path string, content []byte) error {
	temp := path + ".new"
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// LastRead is when this profile last read the chat; zero if never. It decides
// only whether to look again, never whether to send.
func LastRead(profileDir, address string) time.Time {
	info, err := os.Stat(readPath(profileDir, address))
	if err != nil || info.ModTime().After(time.Now()) {
		return time.Time{}
	}
	return info.ModTime()
}

// noteRead remembers that the chat was read now; forgetting that is harmless.
func (p *Profile) noteRead(address string) {
	path := readPath(p.dir, address)
	now := time.Now()
	if os.Chtimes(path, now, now) != nil {
		_ = os.WriteFile(path, nil, 0o600)
	}
}

// forgetRead drops what noteRead remembered.
func (p *Profile) forgetRead(address string) { _ = os.Remove(readPath(p.dir, address)) }

func readPath(profileDir, address string) string {
	return filepath.Join(profileDir, "reads", filepath.Base(strings.TrimRight(address, "/")))
}
