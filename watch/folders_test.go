package watch_test

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"watcher/watch/watchtest"
)

func (r *rig) rename(from, to string) {
	r.t.Helper()
	if err := os.Rename(from, to); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) mkdir(path string) {
	r.t.Helper()
	if err := os.MkdirAll(path, 0o777); err != nil {
		r.t.Fatal(err)
	}
}

func TestMissingFolderIsWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Roots = []string{r.path("later"), r.path("now")}
		r.write("now/a.prompt", "at once")
		r.running()
		pass(time.Hour)
		r.answered("now/a", "at once")
		if n := r.logged("waiting for folder"); n < 1 || n > 121 {
			t.Errorf("%d lines in an hour", n)
		}
		r.write("later/b.prompt", "late")
		pass(3 * time.Minute)
		r.answered("later/b", "late")
		if r.logged("folder recovered") != 1 {
			t.Errorf("no line about its coming:\n%s", r.log)
		}
	})
}

func TestRootDeletedAndMadeAgain(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.running()
		pass(time.Minute)
		r.remove("")
		pass(10 * time.Minute)
		r.write("a.prompt", "hello")
		pass(3 * time.Minute)
		r.answered("a", "hello")
	})
}

// An answer is written to the folder whose marker asked for it, never to one
// that merely took its name.
func TestRootRenamedWhileCollecting(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Script(func(p string, _ int) watchtest.Plan {
			if p == "old" {
				return watchtest.Plan{Think: 5 * time.Minute}
			}
			return watchtest.Plan{}
		})
		r.write("old.prompt", "old")
		r.running()
		pass(10 * time.Second)
		moved := r.dir + ".moved"
		r.rename(r.dir, moved)
		r.mkdir(r.dir)
		r.write("new.prompt", "new")
		pass(10 * time.Minute)
		r.answered("new", "new")
		if r.has("old.md") {
			t.Error("an answer was written to a folder that took the name")
		}
		if r.logged("folder went away") != 1 {
			t.Errorf("log:\n%s", r.log)
		}
		// When it comes back, the answer is fetched.
		os.RemoveAll(r.dir)
		r.rename(moved, r.dir)
		pass(3 * time.Minute)
		r.answered("old", "old")
	})
}

// An unmounted disk uncovers a folder of the same name: nothing is sent from
// there and nothing written to it.
func TestUnmounted(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var mount atomic.Value
		mount.Store(r.dir)
		r.cfg.SetMountOf(func(string) string { return mount.Load().(string) })
		r.chat.Script(plan(watchtest.Plan{Think: 5 * time.Minute}))
		r.write("a.prompt", "hello")
		r.running()
		pass(10 * time.Second)
		disk := r.dir + ".disk"
		r.rename(r.dir, disk)
		mount.Store(filepath.Dir(r.dir))
		r.write("under.prompt", "not to be sent")
		pass(10 * time.Minute)
		if list, err := os.ReadDir(r.dir); err != nil || len(list) != 1 || r.chat.Count("not to be sent") != 0 {
			t.Errorf("the uncovered folder holds %v, %v", list, err)
		}
		if r.logged("waiting for folder", "not mounted") == 0 {
			t.Errorf("log:\n%s", r.log)
		}
		if err := os.RemoveAll(r.dir); err != nil {
			t.Fatal(err)
		}
		r.rename(disk, r.dir)
		mount.Store(r.dir)
		pass(3 * time.Minute)
		r.answered("a", "hello")
	})
}

// Between two rescans the answer comes to a folder that is not there any more.
func TestAnswerForAFolderThatIsGone(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = time.Hour
		r.write("a.prompt", "hello")
		r.running()
		pass(10 * time.Second)
		moved := r.dir + ".moved"
		r.rename(r.dir, moved)
		pass(5 * time.Minute)
		if _, err := os.Lstat(moved + "/a.md"); err == nil || r.chat.Calls("read") == 0 {
			t.Errorf("an answer was written to a folder that is not the configured one\n%s", r.log)
		}
		r.rename(moved, r.dir)
		pass(2 * time.Hour)
		r.answered("a", "hello")
	})
}

func TestSubfolders(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.write("one/a.prompt", "a")
		r.write(".hidden/b.prompt", "b")
		r.write("one/.rsync-partial/c.prompt", "c")
		a := r.running()
		pass(3 * time.Second)
		if r.chat.Count("a") != 1 {
			t.Error("the subfolder was not looked at")
		}
		// A filled folder that is moved in.
		other := folder(t)
		r.mkdir(other + "/deep/er")
		if err := os.WriteFile(other+"/deep/er/d.prompt", []byte("d"), 0o666); err != nil {
			t.Fatal(err)
		}
		r.rename(other+"/deep", r.path("moved"))
		a.Kick()
		pass(3 * time.Minute)
		r.answered("one/a", "a")
		r.answered("moved/er/d", "d")
		// One that goes.
		if err := os.RemoveAll(r.path("moved")); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Minute)
		r.write("moved/e.prompt", "e")
		pass(3 * time.Minute)
		r.answered("moved/e", "e")
		if n := len(r.chat.Accepted()); n != 3 {
			t.Errorf("%d prompts sent, want 3: %v", n, r.chat.Accepted())
		}
	})
}

func TestNotRecursive(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Recursive = false
		r.write("sub/a.prompt", "a")
		r.write("b.prompt", "b")
		r.running()
		pass(10 * time.Minute)
		r.answered("b", "b")
		r.unsentName("sub/a")
		if n := r.logged("subfolders are not watched", `"name":"sub"`); n != 1 {
			t.Errorf("%d warnings, want 1", n)
		}
	})
}

func (r *rig) unsentName(name string) {
	r.t.Helper()
	if r.has(name + ".md.url") {
		r.t.Errorf("%s was sent", name)
	}
}

// Two names for one folder, or a root within a root, make no second send.
func TestOneFolderByTwoNames(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.mkdir(r.path("real/sub"))
		if err := os.Symlink("real", r.path("alias")); err != nil {
			t.Fatal(err)
		}
		r.cfg.SendGap = 0
		r.cfg.Roots = []string{r.path("real"), r.path("alias"), r.path("real/sub")}
		r.write("real/a.prompt", "a")
		r.write("real/sub/b.prompt", "b")
		r.running()
		pass(5 * time.Minute)
		r.answered("real/a", "a")
		r.answered("real/sub/b", "b")
	})
}

// One bad entry stops nothing.
func TestBadEntries(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		if err := os.Symlink("/nope", r.path("broken.prompt")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("loop", r.path("loop")); err != nil {
			t.Fatal(err)
		}
		r.mkdir(r.path("folder.prompt"))
		r.mkdir(r.path("b.md.url"))
		r.write("b.prompt", "its marker is a folder")
		r.write("x.prompt", "x")
		r.write("N.PROMPT", "upper case is no prompt")
		r.running()
		pass(5 * time.Minute)
		r.answered("x", "x")
		if n := len(r.chat.Accepted()); n != 1 {
			t.Errorf("%d prompts sent: %v", n, r.chat.Accepted())
		}
	})
}

// Many files that wait cost one line about the pause.
func TestManyFiles(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.chat.Break("owner", fault("quota", false))
		for i := range 2000 {
			r.write(string(rune('a'+i%26))+time.Duration(i).String()+".prompt", "x")
		}
		r.running()
		pass(20 * time.Minute)
		if n := r.logged("paused"); n != 1 {
			t.Errorf("%d lines about the pause", n)
		}
	})
}
