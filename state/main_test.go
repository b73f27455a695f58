package state

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain also runs the package's children: the test binary starts itself
// for what a process can do only once, such as being killed.
func TestMain(m *testing.M) {
	if role := os.Getenv("STATE_TEST_CHILD"); role != "" {
		os.Exit(child(role))
	}
	os.Exit(m.Run())
}

const (
	ownerA = "aaaaaaaa00000000"
	ownerB = "bbbbbbbb00000000"
	chatA  = "https://chat.example/c/11111111-2222-3333-4444-555555555555"
	chatB  = "https://chat.example/c/99999999-2222-3333-4444-555555555555"
)

func released(address, by string) Marker {
	return Marker{Address: address, Prompt: Fingerprint("hi"), By: by, Stage: StageReleased, At: 1_790_000_000}
}

// faults is a step hook that counts the steps taken and fails some of them.
type faults struct {
	n     int                            // steps taken or failed so far
	names []string                       // of those
	fail  func(i int, step string) error // i counts from 1
}

func (f *faults) step(step string) error {
	f.n++
	f.names = append(f.names, step)
	if f.fail == nil {
		return nil
	}
	return f.fail(f.n, step)
}

var errFault = errors.New("injected fault")

// once fails the i-th step only; crash also every later one, as if the
// process had ended there; always fails each step of a name.
func once(at int, err error) func(int, string) error {
	return func(i int, _ string) error {
		if i == at {
			return err
		}
		return nil
	}
}

func crash(at int) func(int, string) error {
	return func(i int, _ string) error {
		if i >= at {
			return errFault
		}
		return nil
	}
}

func always(err error, names ...string) func(int, string) error {
	return func(_ int, step string) error {
		for _, n := range names {
			if n == step {
				return err
			}
		}
		return nil
	}
}

// both asks two of them.
func both(a, b func(int, string) error) func(int, string) error {
	return func(i int, step string) error {
		return errors.Join(a(i, step), b(i, step))
	}
}

// The file systems that a test can pretend to be on.
var filesystems = map[string]func(int, string) error{
	"links":         func(int, string) error { return nil },
	"no links":      always(unix.EPERM, StepLink),
	"nor exclusive": both(always(unix.EOPNOTSUPP, StepLink), always(unix.EINVAL, StepMove)),
}

func open(t testing.TB, path, owner string, opts ...Option) *Dir {
	t.Helper()
	d, err := OpenDir(path, owner, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func put(t testing.TB, dir, file, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// content is what a file holds, or "(none)".
func content(t testing.TB, dir, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, file))
	if errors.Is(err, os.ErrNotExist) {
		return "(none)"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// names lists a folder, sorted.
func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// clean checks that no temporary file is left.
func clean(t testing.TB, dir string) {
	t.Helper()
	for _, n := range names(t, dir) {
		if strings.HasSuffix(n, ".tmp") {
			t.Errorf("left behind: %s", n)
		}
	}
}

func commit(d *Dir, n Name, m Marker) error {
	p, err := d.Prepare(n, len(m.String()))
	if err != nil {
		return err
	}
	return p.Commit(m)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wants(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}

// memDir is a folder in memory where there is such a file system: for tests
// that make thousands of small files and ask nothing of the disk.
func memDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "state-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
