package state

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// shelfJobs are finished jobs, with all that can be beside them.
var shelfJobs = map[string]map[string]string{
	"done":         {"x.prompt": "p", "x.md.url": "u", "x.md": "a"},
	"of no prompt": {"x.md.url": "u", "x.md": "a"},
	"retried":      {"x.prompt": "p", "x.md.url": "u", "x.md": "a", "x.md.url.1": "u1", "x.md.1": "a1", "x.md.err.1": "e1", "x.md.err.2": "e2", "x.prompt.hold": "", "x.prompt.ready": "r"},
	"both":         {"x.prompt": "p", "x.md.err": "e", "x.md": "a"},
	"failed":       {"x.prompt": "p", "x.md.url": "u", "x.md.err": "e"},
}

// TestShelveEveryStep fails each step of a move, once and with all that follow,
// as a crash does. Nothing is ever lost, in neither folder is there a moment when
// the prompt looks as if it was to be sent, and another call finishes the move.
func TestShelveEveryStep(t *testing.T) {
	for name, job := range shelfJobs {
		t.Run(name, func(t *testing.T) {
			for at := 1; ; at++ {
				for _, fail := range []func(int, string) error{crash(at), once(at, unix.EIO)} {
					dir := memDir(t)
					for file, text := range job {
						put(t, dir, file, text)
					}
					f := &faults{fail: fail}
					err := shelveWith(dir, f.step)
					what := fmt.Sprintf("step %d of %v: %v", at, f.names, err)
					shelfSafe(t, what, dir, job)
					if err := shelveWith(dir, nil); err != nil && (err != errDone || len(texts(t, dir)) != 0) {
						t.Fatalf("%s; again: %v", what, err)
					}
					if got := texts(t, filepath.Join(dir, ShelfFolder)); !maps.Equal(got, job) {
						t.Fatalf("%s; moved %v, want %v", what, got, job)
					}
					if f.n < at { // there is no such step
						return
					}
				}
			}
		})
	}
}

var errDone = errors.New("nothing to move")

// shelveWith moves the job x, if there is something of it.
func shelveWith(dir string, step func(string) error) error {
	d, err := OpenDir(dir, ownerA, WithStep(step))
	if err != nil {
		return err
	}
	defer d.Close()
	to, err := d.Shelf(1)
	if err != nil {
		return err
	}
	defer to.Close()
	found, err := d.Finished()
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return errDone
	}
	return d.Shelve("x", to)
}

// shelfSafe demands that each file is in one folder at least, and that wherever
// the prompt is, the job is finished.
func shelfSafe(t *testing.T, what, dir string, job map[string]string) {
	t.Helper()
	here, there := texts(t, dir), map[string]string{}
	if _, err := os.Stat(filepath.Join(dir, ShelfFolder)); err == nil {
		there = texts(t, filepath.Join(dir, ShelfFolder))
	}
	for file, text := range job {
		if here[file] != text && there[file] != text {
			t.Fatalf("%s: %s is lost: %v, %v", what, file, here, there)
		}
	}
	for _, files := range []map[string]string{here, there} {
		_, prompt := files["x.prompt"]
		_, answer := files["x.md"]
		_, failed := files["x.md.err"]
		if prompt && !answer && !failed {
			t.Fatalf("%s: a prompt alone: %v, %v", what, here, there)
		}
	}
}

// TestShelveRefuses: what is not finished, what somebody is at, and what would
// replace something stays as it is.
func TestShelveRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		files, shelf map[string]string
		link         bool
		want         error
	}{
		"new":              {files: map[string]string{"x.prompt": "p"}, want: ErrAtWork},
		"sent":             {files: map[string]string{"x.prompt": "p", "x.md.url": "u"}, want: ErrAtWork},
		"to be retried":    {files: map[string]string{"x.prompt": "p", "x.md": "a", "x.prompt.retry": ""}, want: ErrAtWork},
		"cancelled":        {files: map[string]string{"x.prompt": "p", "x.md": "a", "x.prompt.cancel": ""}, want: ErrAtWork},
		"a link":           {files: map[string]string{"x.md": "a"}, link: true, want: ErrAtWork},
		"taken":            {files: map[string]string{"x.prompt": "p", "x.md": "a"}, shelf: map[string]string{"x.md": "a"}, want: ErrExists},
		"taken at its end": {files: map[string]string{"x.prompt": "p", "x.md": "a"}, shelf: map[string]string{"x.prompt": "q"}, want: ErrExists},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range c.files {
				put(t, dir, file, text)
			}
			if c.link {
				must(t, os.Symlink("elsewhere.txt", filepath.Join(dir, "x.prompt")))
				put(t, dir, "elsewhere.txt", "p")
			}
			must(t, os.Mkdir(filepath.Join(dir, ShelfFolder), 0o755))
			for file, text := range c.shelf {
				put(t, filepath.Join(dir, ShelfFolder), file, text)
			}
			before := texts(t, dir)
			d := open(t, dir, ownerA)
			to, err := d.Shelf(1)
			must(t, err)
			defer to.Close()
			wants(t, d.Shelve("x", to), c.want)
			if after := texts(t, dir); !maps.Equal(before, after) {
				t.Errorf("%v, before %v", after, before)
			}
		})
	}
}

// TestShelveMeanwhile: a job that changes while it is being moved stays, whatever
// the change is.
func TestShelveMeanwhile(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"its answer goes": func(dir string) error { return os.Remove(filepath.Join(dir, "x.md")) },
		"another answer": func(dir string) error {
			must(t, os.WriteFile(filepath.Join(dir, "new"), []byte("b"), 0o600))
			return os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "x.md"))
		},
		"a retry": func(dir string) error { return os.WriteFile(filepath.Join(dir, "x.prompt.retry"), nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range shelfJobs["done"] {
				put(t, dir, file, text)
			}
			folders := 0
			err := shelveWith(dir, func(step string) error {
				if step == StepFolder {
					if folders++; folders == 2 { // all is linked
						return change(dir)
					}
				}
				return nil
			})
			wants(t, err, ErrAtWork)
			if got := texts(t, dir); got["x.md.url"] != "u" || name != "another answer" && got["x.prompt"] != "p" {
				t.Errorf("%v", got)
			}
		})
	}
}

// TestFinished: a .md of nobody, unfinished jobs and archives are not listed.
func TestFinished(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"a.prompt", "a.md", "b.prompt", "b.md.err", "b.md.url", "c.prompt", "c.md.url", "d.md.1", "README.md", ".e.md"} {
		put(t, dir, f, "")
	}
	d := open(t, dir, ownerA)
	got, err := d.Finished()
	must(t, err)
	set := map[Name]bool{}
	for _, n := range got {
		set[n] = true
	}
	if !maps.Equal(set, map[Name]bool{"a": true, "b": true, "README": true}) {
		t.Errorf("%v", got)
	}
}

// texts are the files of a folder, with what they hold.
func texts(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range names(t, dir) {
		if name != ShelfFolder {
			found[name] = content(t, dir, name)
		}
	}
	return found
}
