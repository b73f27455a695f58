package watch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// kicks collects what a source says.
type kicks chan kicked

type kicked struct{ dir, file string }

func (k kicks) kick(dir, file string) { k <- kicked{dir, file} }

// wait returns when the folder was named, with or without a file.
func (k kicks) wait(t *testing.T, dir string) (file string) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case got := <-k:
			if got.dir == dir {
				return got.file
			}
		case <-deadline:
			t.Fatalf("no event for %s", dir)
		}
	}
}

func openSource(t *testing.T) (Source, kicks) {
	t.Helper()
	k := make(kicks, 10000)
	s, err := openNotify(k.kick)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, k
}

func TestNotifySeesEachWayIn(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	s, k := openSource(t)
	if err := s.Add(dir); err != nil {
		t.Fatal(err)
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		name string
		file string // that is named; "" for a look at the whole folder
		do   func() error
	}{
		{"write", "a.prompt", func() error { return os.WriteFile(path("a.prompt"), []byte("x"), 0o666) }},
		{"rename in", "b.prompt", func() error {
			if err := os.WriteFile(filepath.Join(other, "b"), nil, 0o666); err != nil {
				return err
			}
			return os.Rename(filepath.Join(other, "b"), path("b.prompt"))
		}},
		{"link", "c.prompt", func() error { return os.Link(path("b.prompt"), path("c.prompt")) }},
		{"chmod", "a.prompt", func() error { return os.Chmod(path("a.prompt"), 0o600) }},
		{"folder", "", func() error { return os.Mkdir(path("sub"), 0o777) }},
		{"remove", "", func() error { return os.Remove(path("a.prompt")) }},
	} {
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if file := k.wait(t, dir); file != c.file {
			t.Errorf("%s: named %q, want %q", c.name, file, c.file)
		}
		time.Sleep(time.Millisecond) // the rest of a write's events
		for len(k) > 0 {
			<-k
		}
	}
}

func TestNotifyFollowsTheFolderOfTheName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	s, k := openSource(t)
	for range 2 {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := s.Add(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a.prompt"), []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
		k.wait(t, dir)
		if err := os.Rename(dir, dir+".old"); err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir + ".old")
		if err := os.RemoveAll(dir + ".old"); err != nil {
			t.Fatal(err)
		}
	}
	s.Remove(dir)
	s.Remove("never added")
}

func TestConcerns(t *testing.T) {
	for _, c := range []struct {
		name string
		op   fsnotify.Op
		want bool
	}{
		{"/d/a.prompt", fsnotify.Write, true},
		{"/d/a.prompt", fsnotify.Chmod, true},
		{"/d/a.md.url", fsnotify.Write, true},
		{"/d/sub", fsnotify.Create, true},
		{"/d/gone", fsnotify.Remove, true},
		{"/d/app.log", fsnotify.Write, false},
		{"/d/.a.prompt.swp", fsnotify.Create, false},
		{"/d/.watcher-00112233-00112233.tmp", fsnotify.Create, false},
		{"/d/.#a.prompt", fsnotify.Create, false},
		{"", fsnotify.Write, false},
		{".", fsnotify.Remove, true},
	} {
		if got := concerns(fsnotify.Event{Name: c.name, Op: c.op}); got != c.want {
			t.Errorf("concerns(%v %q) = %v", c.op, c.name, got)
		}
	}
}

func TestLimitsAreNamed(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{syscall.ENOSPC, "fs.inotify.max_user_watches"},
		{syscall.EMFILE, "fs.inotify.max_user_instances"},
		{syscall.EACCES, "permission denied"},
	} {
		if got := limit(c.err); !strings.Contains(got.Error(), c.want) || !errors.Is(got, c.err) {
			t.Errorf("limit(%v) = %v", c.err, got)
		}
	}
}
