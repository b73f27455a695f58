package state

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"

	"golang.org/x/sys/unix"
)

func TestReadPrompt(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, ownerA)
	put(t, dir, "x.prompt", "\xef\xbb\xbfhi\r\n")
	p, err := d.ReadPrompt("x")
	must(t, err)
	id, err := d.Identify("x")
	must(t, err)
	want := Prompt{Text: "hi", Sum: Fingerprint("hi"), ID: id, FileSum: sha256Hex([]byte("\xef\xbb\xbfhi\r\n")), raw: "\xef\xbb\xbfhi\r\n"}
	if p != want || id.Size != 7 {
		t.Errorf("%+v, want %+v", p, want)
	}
	_, err = d.ReadPrompt("y")
	wants(t, err, os.ErrNotExist)
	for _, blank := range []string{"", "\n", "\xef\xbb\xbf", " \t\r\n", "\xff\xfe"} {
		put(t, dir, "x.prompt", blank)
		_, err = d.ReadPrompt("x")
		wants(t, err, ErrEmpty)
	}
	put(t, dir, "x.prompt", "a\xff")
	_, err = d.ReadPrompt("x")
	var invalid *InvalidError
	if !errors.As(err, &invalid) || invalid.Name != "x" || !strings.Contains(err.Error(), `"x.prompt": byte 2`) {
		t.Error(err)
	}
}

func TestReadPromptTooLong(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, ownerA)
	put(t, dir, "x.prompt", strings.Repeat("x", maxPrompt))
	_, err := d.ReadPrompt("x")
	must(t, err)
	put(t, dir, "x.prompt", strings.Repeat("x", maxPrompt+1))
	_, err = d.ReadPrompt("x")
	var invalid *InvalidError
	if !errors.As(err, &invalid) || !strings.Contains(err.Error(), "16 MiB") {
		t.Error(err)
	}
}

// The file grows, shrinks, or changes in place while it is read: two stats
// and a read that do not agree are not believed.
func TestReadPromptChanging(t *testing.T) {
	for what, change := range map[string]func(path string) error{
		"grows":     func(p string) error { return os.WriteFile(p, []byte("part one part two"), 0o644) },
		"shrinks":   func(p string) error { return os.Truncate(p, 2) },
		"mode":      func(p string) error { return os.Chmod(p, 0o600) },
		"same size": func(p string) error { return os.WriteFile(p, []byte("PART ONE"), 0o644) },
	} {
		for _, step := range []string{StepRead, StepBelieve} {
			var path string
			d := open(t, t.TempDir(), ownerA, WithStep(func(s string) error {
				if s == step {
					// The clock of file times may stand still for some ms.
					before, err := os.Stat(path)
					must(t, err)
					for must(t, change(path)); ; must(t, change(path)) {
						now, err := os.Stat(path)
						if must(t, err); ctime(now) != ctime(before) {
							return nil
						}
					}
				}
				return nil
			}))
			put(t, d.Path(), "x.prompt", "part one")
			path = filepath.Join(d.Path(), "x.prompt")
			_, err := d.ReadPrompt("x")
			if !errors.Is(err, ErrChanged) {
				t.Errorf("%s at %s: %v", what, step, err)
			}
		}
	}
}

func ctime(info os.FileInfo) [2]int64 {
	st := info.Sys().(*syscall.Stat_t)
	return [2]int64{int64(st.Ctim.Sec), int64(st.Ctim.Nsec)}
}

// A FIFO that takes the prompt's place after the look must not hang the open.
func TestReadPromptFIFO(t *testing.T) {
	var dir string
	d := open(t, t.TempDir(), ownerA, WithStep(func(s string) error {
		if s == StepOpen {
			path := filepath.Join(dir, "x.prompt")
			must(t, os.Remove(path))
			must(t, unix.Mkfifo(path, 0o600))
		}
		return nil
	}))
	dir = d.Path()
	put(t, dir, "x.prompt", "hi")
	_, err := d.ReadPrompt("x")
	wants(t, err, ErrNotRegular)
}

// Each step of the read may fail; the prompt is then not believed.
func TestReadPromptErrors(t *testing.T) {
	f := &faults{}
	d := open(t, t.TempDir(), ownerA, WithStep(f.step))
	put(t, d.Path(), "x.prompt", "hi")
	_, err := d.ReadPrompt("x")
	must(t, err)
	steps := f.n
	if got := strings.Join(f.names, " "); got != "look open read believe" {
		t.Error(got)
	}
	for at := 1; at <= steps; at++ {
		*f = faults{fail: once(at, unix.EIO)}
		p, err := d.ReadPrompt("x")
		if wants(t, err, unix.EIO); p.Text != "" {
			t.Errorf("%+v", p)
		}
	}
}

func TestWriters(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, ownerA)
	put(t, dir, "x.prompt", "hi")
	w, err := os.OpenFile(filepath.Join(dir, "x.prompt"), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	open, known, err := d.Writers("x")
	if must(t, err); !open || !known {
		t.Errorf("while it is written: open %v, known %v", open, known)
	}
	must(t, w.Close())
	for range 3 { // the lease is given back each time
		if open, known, err = d.Writers("x"); err != nil || open || !known {
			t.Errorf("after the close: open %v, known %v, %v", open, known, err)
		}
	}
	start := time.Now()
	w, err = os.OpenFile(filepath.Join(dir, "x.prompt"), os.O_WRONLY, 0)
	must(t, err)
	w.Close()
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("a writer had to wait %v for our lease", took)
	}
}

// Where the kernel sees only some of the writers, a lease that it gives tells
// nothing; that it refuses one does.
func TestWritersElsewhere(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, ownerA)
	must(t, os.Symlink("/proc/self/comm", filepath.Join(dir, "x.prompt")))
	if open, known, err := d.Writers("x"); open || known || err != nil {
		t.Errorf("open %v, known %v, %v", open, known, err)
	}
	w, err := os.OpenFile("/proc/self/comm", os.O_WRONLY, 0)
	must(t, err)
	defer w.Close()
	if open, known, err := d.Writers("x"); !open || !known || err != nil {
		t.Errorf("while it is written: open %v, known %v, %v", open, known, err)
	}
}

func TestReady(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, ownerA)
	_, err := d.Ready("x")
	wants(t, err, os.ErrNotExist)
	put(t, dir, "x.prompt", "hi\n")
	p, err := d.ReadPrompt("x")
	must(t, err)
	for file, want := range map[string]string{"": "", "\n": "", strings.ToUpper(p.FileSum) + "  x.prompt\n": p.FileSum} {
		put(t, dir, "x.prompt.ready", file)
		if got, err := d.Ready("x"); err != nil || got != want {
			t.Errorf("%q: %q, %v", file, got, err)
		}
	}
	if p.FileSum != "98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4" {
		t.Error(p.FileSum) // printf 'hi\n' | sha256sum
	}
}

func TestBehind(t *testing.T) {
	wide := func(order binary.AppendByteOrder, mark, text string) string {
		b := []byte(mark)
		for _, u := range utf16.Encode([]rune(text)) {
			b = order.AppendUint16(b, u)
		}
		return string(b)
	}
	for _, c := range []struct {
		raw   string
		lines int
		want  string
	}{
		{"a\nb\nc\n", 0, "a\nb\nc\n"},
		{"a\nb\nc\n", 2, "c\n"},
		{"a\r\nb\r\nc\r\n", 2, "c\r\n"},
		{"a\rb\r\rc", 2, "\rc"},
		{"\xef\xbb\xbfa\n\nc", 2, "c"},
		{"a\nb", 2, ""},
		{"a\nb\n", 5, ""},
		{"a\r\n", 1, ""},
		{"", 1, ""},
		{wide(binary.LittleEndian, "\xff\xfe", "a\r\n\u0a0d\nxyz"), 2, wide(binary.LittleEndian, "", "xyz")},
		{wide(binary.BigEndian, "\xfe\xff", "a\u0d0a\nxyz"), 1, wide(binary.BigEndian, "", "xyz")},
	} {
		if got := (Prompt{raw: c.raw}).Behind(c.lines); got != c.want {
			t.Errorf("%q behind %d lines: %q, want %q", c.raw, c.lines, got, c.want)
		}
	}
}

// Who only looks waits for no disk.
func TestLookingSyncsNothing(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "x.prompt", "hi")
	put(t, dir, "x.md.url", released(chatA, ownerA).String())
	for owner, want := range map[string]bool{ownerA: true, "": false} {
		f := &faults{}
		d := open(t, dir, owner, WithStep(f.step))
		p, err := d.ReadPrompt("x")
		if must(t, err); p.Text != "hi" {
			t.Error(p)
		}
		m, err := d.Believe("x")
		if must(t, err); m.Address != chatA {
			t.Error(m)
		}
		if got := slices.Contains(f.names, StepBelieve) && slices.Contains(f.names, StepFolder); got != want {
			t.Errorf("owner %q: steps %v", owner, f.names)
		}
	}
}
