package qwen

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func openTestProfile(t *testing.T, dir string) *Profile {
	t.Helper()
	p, err := OpenProfile(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestProfileIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "profile")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p := openTestProfile(t, dir)
	if _, err := p.Owner("account"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.ID(); err != nil {
		t.Fatal(err)
	}
	p.noteRead("https://chat.qwen.ai/c/" + chatA)
	if err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", path, info.Mode())
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

func TestProfileIsExclusive(t *testing.T) {
	dir := t.TempDir()
	first := openTestProfile(t, dir)
	if _, err := OpenProfile(dir); kindOf(err) != KindBusy || !errors.Is(err, ErrHeld) {
		t.Errorf("a second holder: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	openTestProfile(t, dir)
}

func TestProfileFolderTrouble(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		if _, err := OpenProfile(dir); kindOf(err) != KindDisk || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	blocked := t.TempDir()
	if err := os.Mkdir(filepath.Join(blocked, "lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenProfile(blocked); kindOf(err) != KindDisk {
		t.Errorf("a lock that is a folder: %v", err)
	}
}

func TestProfileRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	p := openTestProfile(t, "here")
	if !filepath.IsAbs(p.Dir()) || !filepath.IsAbs(p.browserDir()) {
		t.Errorf("%s is relative", p.Dir())
	}
}

// orphan starts a process that inherits the descriptor of the file alive, as a
// browser does. args become its command line.
func orphan(t *testing.T, p *Profile, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", append([]string{"-c", "exec sleep 60", "browser"}, args...)...)
	cmd.ExtraFiles = []*os.File{p.alive}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

// TestOrphanIsAwaited: a browser of a dead holder keeps the profile from being
// used until it has ended, whatever wrote down its pid.
func TestOrphanIsAwaited(t *testing.T) {
	dir := t.TempDir()
	p := openTestProfile(t, dir)
	cmd := orphan(t, p)
	p.recordBrowser(os.Getpid()) // not a browser of this profile: must not be killed
	p.Close()
	time.AfterFunc(200*time.Millisecond, func() { cmd.Process.Kill() })
	begin := time.Now()
	openTestProfile(t, dir)
	if waited := time.Since(begin); waited < 100*time.Millisecond {
		t.Errorf("the profile was given after %v, with a browser alive", waited)
	}
}

// TestOrphanIsKilled when its command line names this very profile.
func TestOrphanIsKilled(t *testing.T) {
	dir := t.TempDir()
	p := openTestProfile(t, dir)
	// sleep takes no such flag, so the shell stays and waits for it.
	cmd := exec.Command("/bin/sh", "-c", "sleep 60 & wait", "browser", "--user-data-dir="+p.browserDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{p.alive}
	cmd.SysProcAttr = processAttributes()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { killGroup(cmd.Process) })
	p.recordBrowser(cmd.Process.Pid)
	p.Close()
	// Its child holds the descriptor too, as a browser's would for a moment.
	go func() {
		<-ended
		unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	}()
	next := openTestProfile(t, dir)
	if next.isOurs(cmd.Process.Pid) {
		t.Error("the orphan is still there")
	}
}

func TestIsOurs(t *testing.T) {
	p := openTestProfile(t, t.TempDir())
	if p.isOurs(os.Getpid()) || p.isOurs(0) || p.isOurs(1<<22+1) {
		t.Error("a process that is no browser of this profile is taken for one")
	}
	longer := orphan(t, p, "--user-data-dir="+p.browserDir()+"2")
	if p.isOurs(longer.Process.Pid) {
		t.Error("a browser of another profile is taken for ours")
	}
	for _, recorded := range []string{"", "x", "1", "-1", "0", fmt.Sprint(os.Getpid())} {
		path := filepath.Join(t.TempDir(), "alive")
		if err := os.WriteFile(path, []byte(recorded), 0o600); err != nil {
			t.Fatal(err)
		}
		p.killRecorded(path) // must end nobody
	}
}

// TestOwnerIsStable: one id for each account, kept, and random.
func TestOwnerIsStable(t *testing.T) {
	dir := t.TempDir()
	owner := func(account string) string {
		p, err := OpenProfile(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		id, err := p.Owner(account)
		if err != nil || len(id) != 16 {
			t.Fatalf("%q, %v", id, err)
		}
		return id
	}
	first, second := owner("one"), owner("two")
	if first == second || owner("one") != first || owner("two") != second {
		t.Errorf("owners %s and %s are not stable", first, second)
	}
	if other, err := openTestProfile(t, t.TempDir()).Owner("one"); err != nil || other == first {
		t.Errorf("another profile gives the same owner: %v", err)
	}
}

// TestOwnerIsNeverReplaced: a broken file is an error, not a new id, for
// markers would be orphaned.
func TestOwnerIsNeverReplaced(t *testing.T) {
	p := openTestProfile(t, t.TempDir())
	path := filepath.Join(p.Dir(), "accounts.json")
	for _, content := range []string{"", "{", "[]"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if id, err := p.Owner("one"); kindOf(err) != KindDisk || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %q, %v", content, id, err)
		}
	}
}

func TestProfileID(t *testing.T) {
	p := openTestProfile(t, t.TempDir())
	id, err := p.ID()
	if err != nil || len(id) != 16 {
		t.Fatalf("%q, %v", id, err)
	}
	if again, err := p.ID(); err != nil || again != id {
		t.Errorf("%q, then %q: %v", id, again, err)
	}
	if err := os.WriteFile(filepath.Join(p.Dir(), "id"), []byte("cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := p.ID(); err != nil || len(again) != 16 {
		t.Errorf("after a cut file: %q, %v", again, err)
	}
}

// TestPrepareCleans what a dead browser left, also in a folder whose name is a
// pattern.
func TestPrepareCleans(t *testing.T) {
	for _, name := range []string{"plain", "odd [x]*?{a,b} \\ name", "ünï"} {
		p := openTestProfile(t, filepath.Join(t.TempDir(), name))
		for _, path := range []string{"tmp/.org.chromium.Chromium.x/SingletonSocket", "tmp/org.chromium/y", "chromium/Default/Cookies"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(p.Dir(), path)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(p.Dir(), path), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"SingletonLock", "SingletonSocket", "SingletonCookie"} {
			if err := os.Symlink("oldhost-12345", filepath.Join(p.browserDir(), name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.prepare(); err != nil {
			t.Fatal(err)
		}
		left, err := os.ReadDir(filepath.Join(p.Dir(), "tmp"))
		if err != nil || len(left) != 0 {
			t.Errorf("%s: tmp has %v, %v", name, left, err)
		}
		left, err = os.ReadDir(p.browserDir())
		if err != nil || len(left) != 1 {
			t.Errorf("%s: chromium has %v, %v", name, left, err)
		}
	}
}

// TestLongPath: Chromium's socket needs a short path; a long profile gets a
// folder in /tmp that only its user can have made.
func TestLongPath(t *testing.T) {
	p := openTestProfile(t, filepath.Join(t.TempDir(), strings.Repeat("long", 25)))
	dir := p.tempDir()
	if !strings.HasPrefix(dir, "/tmp/watcher-") || len(dir) > longestTemp {
		t.Fatalf("the folder is %s", dir)
	}
	if err := p.prepare(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	p.tidy()
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder stays: %v", err)
	}
	if err := os.Symlink(t.TempDir(), dir); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(dir)
	if err := p.prepare(); err == nil {
		t.Error("a link that somebody prepared is used")
	}
}

func TestLastRead(t *testing.T) {
	p := openTestProfile(t, t.TempDir())
	address := "https://chat.qwen.ai/c/" + chatA
	if !LastRead(p.Dir(), address).IsZero() {
		t.Error("a chat that was never read has a time")
	}
	p.noteRead(address)
	for _, same := range []string{address, address + "#prompt=1&by=x/../..", strings.ToUpper(address[len(address)-39:]), "http://other/c/" + chatA} {
		if strings.Contains(same, "/C/") {
			continue // an address's path is not folded
		}
		if at := LastRead(p.Dir(), same); time.Since(at) > time.Minute {
			t.Errorf("%s was read at %v", same, at)
		}
	}
	p.noteRead(address)
	if !LastRead(p.Dir(), "https://chat.qwen.ai/c/"+chatB).IsZero() {
		t.Error("another chat has a time")
	}
	future := time.Now().Add(time.Hour)
	path, _ := readPath(p.Dir(), address)
	if err := os.Chtimes(path, future, future); err != nil {
		t.Fatal(err)
	}
	if !LastRead(p.Dir(), address).IsZero() {
		t.Error("a time in the future counts")
	}
	p.forgetRead(address)
	if !LastRead(p.Dir(), address).IsZero() {
		t.Error("a forgotten chat has a time")
	}
}

// TestReadsStayInTheirFolder, whatever an address says.
func TestReadsStayInTheirFolder(t *testing.T) {
	p := openTestProfile(t, t.TempDir())
	for _, address := range []string{"", "/", "..", "https://x/c/..", "https://x/c/../../lock", "https://x/c/" + chatA[:35] + "/", "a\x00b", "https://x/c/lock#/c/" + chatA} {
		p.noteRead(address)
		p.forgetRead(address)
		if path, ok := readPath(p.Dir(), address); ok && filepath.Dir(path) != filepath.Join(p.Dir(), "reads") {
			t.Errorf("%q leads to %s", address, path)
		}
	}
	old := filepath.Join(p.Dir(), "reads", chatB)
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.noteRead("https://x/c/" + chatA)
	past := time.Now().Add(-readsKept - time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	p.Close()
	openTestProfile(t, p.Dir())
	if left, _ := os.ReadDir(filepath.Join(p.Dir(), "reads")); len(left) != 1 || left[0].Name() != chatA {
		t.Errorf("reads has %v", left)
	}
}
