//go:build crash

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"watcher/cmd/watcher/lab"
)

// These need root: to mount, to be two users, to lower the kernel's limits.

// nobody is another user's id; that it has a name does not matter.
const nobody = 65534

// open lets every user into the test's folders.
func (in *intake) open() {
	in.t.Helper()
	self, err := os.ReadFile(in.bin) // where the test's binary lies may be closed
	in.must(err)
	in.must(os.Remove(in.bin))
	in.must(os.WriteFile(in.bin, self, 0o755))
	for path, mode := range map[string]os.FileMode{
		in.home: 0o755, in.dir: 0o777, filepath.Dir(in.site.socket): 0o755, in.site.socket: 0o777,
	} {
		in.must(os.Chmod(path, mode))
	}
	for _, path := range []string{"profile", "profile/id"} {
		in.must(os.Chown(filepath.Join(in.home, path), nobody, nobody))
	}
}

// slowly writes a prompt with a pause in the middle that is longer than the
// settle time, and shorter than the one where nobody can tell who writes.
func (in *intake) slowly(path, text string) {
	in.t.Helper()
	script := `{ head -c 1000 "$SRC"; ` + pause + `; tail -c +1001 "$SRC"; } > "$TO"`
	cmd := exec.Command("sh", "-ec", script)
	src := filepath.Join(in.home, "slow.txt")
	in.must(os.WriteFile(src, []byte(text), 0o644))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "SRC=" + src, "TO=" + path}
	if out, err := cmd.CombinedOutput(); err != nil {
		in.t.Fatalf("%v\n%s", err, out)
	}
}

// TestAnotherUser has prompts that another user writes: whether they are open
// cannot be told, and some cannot be read before their owner allows it.
func TestAnotherUser(t *testing.T) {
	t.Parallel()
	in := newIntake(t, fastDir(t))
	in.open()
	in.user = nobody
	closed := filepath.Join(in.home, "closed")
	in.must(os.Mkdir(closed, 0o700))
	in.must(os.WriteFile(filepath.Join(closed, "link"), []byte(in.expect("link", "a link into a closed folder")), 0o644))
	in.must(os.Symlink(filepath.Join(closed, "link"), in.path("link.prompt")))
	in.must(unix.Mknod(in.path("device.prompt"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	secret := in.drop("secret")
	in.must(os.Chmod(in.path("secret.prompt"), 0o600))
	inner := in.drop("sub/inner")
	in.must(os.Chmod(in.path("sub"), 0o700))
	listed := in.drop("listed/only") // its names can be read, its files cannot
	in.must(os.Chmod(in.path("listed"), 0o744))
	in.start("WATCHER_RESCAN=500ms")
	slow := in.text("slow", 1, 100)
	in.slowly(in.path("slow.prompt"), slow)
	in.answered("slow", slow)
	for _, job := range []string{"secret", "link"} {
		in.until("a line about "+job, func() bool { return in.waits(job, "permission denied") })
	}
	in.until("a line about the folder", func() bool {
		return strings.Contains(in.out.String(), in.path("listed")+": permission denied")
	})
	in.unsent("secret", "link", "device", "sub/inner", "listed/only")
	in.must(os.Chmod(in.path("secret.prompt"), 0o644))
	in.must(os.Chmod(closed, 0o755))
	in.must(os.Chmod(in.path("sub"), 0o777))
	in.answered("secret", secret)
	in.answered("link", "a link into a closed folder")
	in.answered("sub/inner", inner)
	in.must(os.Chmod(in.path("listed"), 0o777))
	in.answered("listed/only", listed)
	in.unsent("device")
	in.stop()
	if n := strings.Count(in.out.String(), "cannot tell whether files are still open"); n < 1 {
		t.Errorf("%d lines about leases\n%s", n, in.out)
	}
}

// TestNoEvents watches a folder that others reach by a way of their own: no
// event comes, and the kernel does not know who writes.
func TestNoEvents(t *testing.T) {
	t.Parallel()
	in := newIntake(t, fastDir(t))
	source := filepath.Join(in.home, "source")
	in.must(os.Mkdir(source, 0o755))
	in.must(lab.BindFS(source, in.dir))
	t.Cleanup(func() { in.kill(); in.must(lab.Unmount(in.dir)) })
	in.start("WATCHER_RESCAN=500ms")
	slow := in.text("slow", 1, 100)
	in.slowly(filepath.Join(source, "slow.prompt"), slow)
	in.must(os.Mkdir(filepath.Join(source, "sub"), 0o755))
	in.must(os.WriteFile(filepath.Join(source, "sub/a.prompt"), []byte(in.expect("sub/a", "below")), 0o644))
	in.answered("slow", slow)
	in.answered("sub/a", "below")
	in.stop()
}

// TestMounts mounts over the watched folder and takes the mount away. What the
// mount had covered is not what is watched.
func TestMounts(t *testing.T) {
	t.Parallel()
	in := newIntake(t, fastDir(t))
	mount := func(kind, source string) {
		t.Helper()
		in.must(unix.Mount(source, in.dir, kind, 0, ""))
		t.Cleanup(func() { _ = unix.Unmount(in.dir, unix.MNT_DETACH) }) // it may be gone
	}
	in.start("WATCHER_RESCAN=200ms")
	in.answered("before", in.drop("before"))
	mount("tmpfs", "tmpfs")
	in.answered("over", in.drop("over"))
	in.must(unix.Unmount(in.dir, unix.MNT_DETACH))
	in.write("under.prompt", "not to be sent")
	in.until("a line about the mount", func() bool { return strings.Contains(in.out.String(), "is not mounted at") })
	in.unsent("under")
	mount("tmpfs", "tmpfs")
	in.answered("again", in.drop("again"))
	in.stop()
}

// TestBoundMount has a folder that shows at a second place of the same file
// system: what is written there comes with events.
func TestBoundMount(t *testing.T) {
	t.Parallel()
	in := newIntake(t, fastDir(t))
	other := filepath.Join(in.home, "other")
	in.must(os.Mkdir(other, 0o755))
	in.must(unix.Mount(in.dir, other, "", unix.MS_BIND, ""))
	t.Cleanup(func() { in.must(unix.Unmount(other, unix.MNT_DETACH)) })
	in.start("WATCHER_RESCAN=1h")
	slow := in.text("slow", 1, 100)
	in.slowly(filepath.Join(other, "slow.prompt"), slow)
	in.answered("slow", slow)
	in.stop()
}

// TestKernelLimits lets the kernel give no watcher, no watch, or two: rescans
// do the rest, and one line names the setting.
func TestKernelLimits(t *testing.T) {
	for limit, want := range map[string]string{
		"max_inotify_watches 0": "fs.inotify.max_user_watches", "max_inotify_watches 2": "fs.inotify.max_user_watches",
		"max_inotify_instances 0": "fs.inotify.max_user_instances",
	} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			in := newIntake(t, fastDir(t))
			name, n, _ := strings.Cut(limit, " ")
			in.wrap = []string{"unshare", "-Ur", "sh", "-ec", fmt.Sprintf(`echo %s > /proc/sys/user/%s; exec "$@"`, n, name), "sh"}
			texts := map[string]string{}
			for _, job := range []string{"a", "one/b", "one/two/c", "three/d"} {
				texts[job] = in.drop(job)
			}
			in.start("WATCHER_RESCAN=300ms")
			for _, job := range []string{"new", "one/new", "one/two/new", "three/new", "four/new"} {
				texts[job] = in.drop(job)
			}
			for job, text := range texts {
				in.answered(job, text)
			}
			in.stop()
			if n := strings.Count(in.out.String(), want); n != 1 {
				t.Errorf("%d lines about %s\n%s", n, want, in.out)
			}
		})
	}
}
