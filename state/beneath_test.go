package state

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestBeneath(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "d")
	must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o777))
	must(t, os.Mkdir(filepath.Join(parent, "beside"), 0o777))
	put(t, parent, "secret", "out of bounds")
	put(t, dir, "a.csv", "1,2\n")
	put(t, filepath.Join(dir, "sub"), "b.csv", "3,4\n")
	must(t, os.Symlink("a.csv", filepath.Join(dir, "inside")))
	must(t, os.Symlink("../secret", filepath.Join(dir, "outside")))
	must(t, os.Symlink("..", filepath.Join(dir, "up")))
	must(t, os.Symlink("sub", filepath.Join(dir, "also")))
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o666))
	d := open(t, dir, ownerA)
	for path, want := range map[string]error{
		"a.csv": nil, "sub/b.csv": nil,
		"inside": ErrOutside, "outside": ErrOutside, "up/secret": ErrOutside, "also/b.csv": ErrOutside,
		"../secret": ErrOutside, "sub/../../secret": ErrOutside, "/etc/passwd": ErrOutside, "/proc/self/fd/0": ErrOutside,
		"none": fs.ErrNotExist, "none/a": fs.ErrNotExist, "a.csv/b": fs.ErrNotExist,
		"sub": ErrNotRegular, "fifo": ErrNotRegular,
	} {
		id, err := d.IdentifyBeneath(path)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
		var b bytes.Buffer
		if err := d.CopyBeneath(path, id, &b); !errors.Is(err, want) || (want == nil) != (b.Len() == 4) {
			t.Errorf("copy of %s: %v, %d bytes, want %v", path, err, b.Len(), want)
		}
		if open, known, err := d.WritersBeneath(path); !errors.Is(err, want) || open || want == nil && !known && os.Getuid() == 0 && private0(t, dir) {
			t.Errorf("writers of %s: %v %v %v, want %v", path, open, known, err, want)
		}
	}
}

func private0(t *testing.T, dir string) bool {
	f, err := os.Open(dir)
	must(t, err)
	defer f.Close()
	is, err := private(f)
	must(t, err)
	return is
}

// TestCopyOfWhatWasSeen: what was looked at is copied, or nothing is believed.
func TestCopyOfWhatWasSeen(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a", "one")
	d := open(t, dir, ownerA)
	seen, err := d.IdentifyBeneath("a")
	must(t, err)
	w, err := os.OpenFile(filepath.Join(dir, "a"), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	if open, known, err := d.WritersBeneath("a"); err != nil || known && !open {
		t.Errorf("open for writing: %v %v %v", open, known, err)
	}
	_, err = w.WriteString("more")
	must(t, err)
	must(t, w.Close())
	if err := d.CopyBeneath("a", seen, new(bytes.Buffer)); !errors.Is(err, ErrChanged) {
		t.Errorf("grown: %v", err)
	}
	seen, err = d.IdentifyBeneath("a")
	must(t, err)
	// It is replaced while it is copied.
	if err := d.CopyBeneath("a", seen, writerFunc(func(b []byte) (int, error) {
		return len(b), os.Chmod(filepath.Join(dir, "a"), 0o600)
	})); !errors.Is(err, ErrChanged) {
		t.Errorf("changed meanwhile: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestBegin(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, ownerA)
	for _, text := range []string{"", "--", "---\nmodel: m\n"} {
		put(t, dir, "x.prompt", text)
		if b, err := d.Begin("x", 4); err != nil || string(b) != text[:min(4, len(text))] {
			t.Errorf("%q begins with %q, %v", text, b, err)
		}
	}
	if _, err := d.Begin("y", 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
}
