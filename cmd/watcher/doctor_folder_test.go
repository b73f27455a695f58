package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"watcher/qwen"
	"watcher/state"
)

// TestMountOf finds the file system in the kernel's words.
func TestMountOf(t *testing.T) {
	t.Parallel()
	const mounts = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:26 / /tmp rw - tmpfs tmpfs rw
31 22 0:50 / /home/me/with\040space rw - nfs4 server:/export rw
32 22 0:51 / /home/me/ssh rw - fuse.sshfs me@host: rw
33 30 0:52 / /tmp rw - ext4 /dev/sdb1 rw
not a line of it
`
	for path, want := range map[string]string{
		"/": "ext4 /", "/home/me": "ext4 /", "/tmp/x": "ext4 /tmp", "/tmpfile": "ext4 /",
		"/home/me/with space/in": "nfs4 /home/me/with space", "/home/me/ssh": "fuse.sshfs /home/me/ssh",
	} {
		kind, at := mountOf(mounts, path)
		if got := kind + " " + at; got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for kind, want := range map[string]bool{"ext4": false, "nfs4": true, "cifs": true, "fuse.sshfs": true, "fuse.rclone": true, "fuse.bindfs": false, "9p": true, "tmpfs": false} {
		if isNetwork(kind) != want {
			t.Errorf("%s is a network's: %v", kind, !want)
		}
	}
}

// TestCheckFolder: what is in the way of sending from a folder is named, and
// the folder stays as it was.
func TestCheckFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const mine, theirs = "0123456789abcdef", "fedcba9876543210"
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	marker := func(by string) string {
		return state.Marker{Address: "https://chat.qwen.ai/c/01234567-89ab-cdef-0123-456789abcdef", Prompt: strings.Repeat("a", 16), By: by, Stage: state.StageSent}.String()
	}
	write("a.md.url", marker(mine))
	write("b.md.url", marker(theirs))
	write("c.md.url", marker(theirs))
	write("c.md", "done")
	write("watcher.hold", "")
	before, _ := os.ReadDir(dir)
	all := ""
	for _, f := range checkFolder(dir, mine, []string{mine}) {
		all += string(f.Level) + " " + f.Name + ": " + f.Detail + "; " + f.Hint + "\n"
	}
	t.Log(all)
	for _, want := range []string{"ok markers can be made: hard links are exclusive, durable in ", "warning folder: held by its watcher.hold; watcher release '",
		"warning markers: 1 unfinished prompts were sent by 1 other"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q", want)
		}
	}
	if after, _ := os.ReadDir(dir); len(after) != len(before) {
		t.Errorf("the folder had %d files and has %v", len(before), after)
	}
	if found := checkFolder(filepath.Join(dir, "none"), mine, nil); len(found) != 1 || found[0].Level != qwen.LevelFault {
		t.Errorf("no folder: %+v", found)
	}
}

// TestCheckProfile: who may read it, who holds it, what the note says.
func TestCheckProfile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "profile")
	a := &app{set: settings{profile: dir}}
	says := func(level qwen.Level, text string) {
		t.Helper()
		for _, f := range append(a.checkProfile(t.Context()), a.checkPause(t.Context())...) {
			if f.Level == level && strings.Contains(f.Name+": "+f.Detail+"; "+f.Hint, text) {
				return
			}
		}
		t.Errorf("nothing says %s %q: %+v", level, text, a.checkProfile(t.Context()))
	}
	says(qwen.LevelFault, "not there yet; run 'watcher login'")
	p, err := qwen.OpenProfile(dir)
	if err != nil {
		t.Fatal(err)
	}
	says(qwen.LevelOK, "which does not answer")
	if err := a.logout(t.Context()); err == nil || !strings.Contains(err.Error(), "uses the profile") || hintOf(err) != "" {
		t.Errorf("a logout from a profile in use: %v", err)
	}
	h, err := listen(dir, holderInfo{PID: os.Getpid(), Command: "run", Folders: []string{"outbox"}})
	if err != nil {
		t.Fatal(err)
	}
	says(qwen.LevelOK, "profile's holder: watcher run, process ")
	h.close()
	p.Close()
	says(qwen.LevelOK, "no program is at work on it")
	says(qwen.LevelOK, "pause: none")
	if err := os.WriteFile(filepath.Join(dir, "accounts.json"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	says(qwen.LevelWarning, "others may read accounts.json (0644); run: chmod -R go= '")
	if err := os.WriteFile(filepath.Join(dir, "pause"), []byte(`{"class":"quota","reason":"no more today"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	says(qwen.LevelWarning, "pause: quota since ")
	now := time.Now()
	for _, c := range []struct {
		note qwen.LoginNote
		want qwen.Level
	}{
		{qwen.LoginNote{}, qwen.LevelWarning}, {qwen.LoginNote{Seen: now}, qwen.LevelOK},
		{qwen.LoginNote{Seen: now, Expires: now.Add(20 * 24 * time.Hour)}, qwen.LevelOK},
		{qwen.LoginNote{Seen: now, Expires: now.Add(24 * time.Hour)}, qwen.LevelWarning},
		{qwen.LoginNote{Seen: now, Expires: now.Add(-time.Hour)}, qwen.LevelFault},
	} {
		if f := noteFinding(c.note, now); f.Level != c.want {
			t.Errorf("%+v: %+v", c.note, f)
		}
	}
}
