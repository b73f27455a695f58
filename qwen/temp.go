package qwen

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

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
	left, err := os.ReadDir(p.tempDir())
	if err != nil {
		return err
	}
	for _, entry := range left {
		if err := os.RemoveAll(filepath.Join(p.tempDir(), entry.Name())); err != nil {
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
