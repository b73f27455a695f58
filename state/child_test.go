package state

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// startChild starts this test binary again in a role, with its arguments.
func startChild(t testing.TB, role string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "STATE_TEST_CHILD="+role, "STATE_TEST_ARGS="+strings.Join(args, "\n"))
	cmd.Stderr = os.Stderr
	return cmd
}

// child plays a role and returns the exit code.
func child(role string) int {
	args := strings.Split(os.Getenv("STATE_TEST_ARGS"), "\n")
	switch role {
	case "killed":
		return childKilled(args[0], args[1], args[2], args[3])
	case "race":
		return childRace(args[0], args[1])
	case "small":
		return childSmall(args[0])
	case "unwritable":
		return childUnwritable(args[0])
	}
	return 2
}

// childKilled does an operation and kills itself before its n-th step.
func childKilled(dir, operation, filesystem, n string) int {
	last, err := strconv.Atoi(n)
	if err != nil {
		return 2
	}
	quirk, taken := filesystems[filesystem], 0
	d, err := OpenDir(dir, ownerA, WithStep(func(step string) error {
		if taken++; taken == last {
			unix.Kill(unix.Getpid(), unix.SIGKILL)
			select {}
		}
		return quirk(taken, step)
	}))
	if err != nil {
		return 2
	}
	for _, op := range operations {
		if op.name == operation {
			if err := op.run(d); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			return 0
		}
	}
	return 2
}

// TestKilledAtEveryStep kills a process before each file call of each
// operation. The next process finds the state before or the state after.
func TestKilledAtEveryStep(t *testing.T) {
	for _, op := range operations {
		for fs := range filesystems {
			t.Run(op.name+", "+fs, func(t *testing.T) {
				t.Parallel()
				for n := 1; ; n++ {
					dir := op.folder(t)
					err := startChild(t, "killed", dir, op.name, fs, strconv.Itoa(n)).Run()
					done := op.verify(t, dir, fs == "nor exclusive")
					op.again(t, dir, done)
					if err == nil {
						if !done || n < 3 {
							t.Errorf("went well at step %d, done %v", n, done)
						}
						return
					}
					var exit *exec.ExitError
					if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
						t.Fatalf("step %d: %v", n, err)
					}
				}
			})
		}
	}
}

const raceNames = 200

// childRace commits all names, against others, once its input says go; it
// prints the names that it won.
func childRace(dir, owner string) int {
	d, err := OpenDir(dir, owner)
	if err != nil {
		return 2
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return 2
	}
	for i := range raceNames {
		n := raceName(i)
		switch err := commit(d, n, raceMarker(owner, i)); {
		case err == nil:
			fmt.Println(n)
		case !errors.Is(err, ErrExists):
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

// childSmall cannot write more than 100 bytes into one file: a real short
// write, as on a full disk.
func childSmall(dir string) int {
	d, err := OpenDir(dir, ownerA)
	if err != nil {
		return 2
	}
	signal.Ignore(unix.SIGXFSZ)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 100, Max: 100}); err != nil {
		return 2
	}
	_, prepare := d.Prepare("x", 100)
	for _, err := range []error{prepare, d.WriteAnswer("x", longAnswer), d.WriteError("x", sampleFailure)} {
		if !errors.Is(err, unix.EFBIG) || !strings.Contains(err.Error(), "ulimit") {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

func TestShortWrites(t *testing.T) {
	dir := t.TempDir()
	must(t, startChild(t, "small", dir).Run())
	if got := names(t, dir); got != nil {
		t.Errorf("left behind: %v", got)
	}
}

// childUnwritable works in a folder that it may read but not write. Modes do
// not bind root, so root becomes nobody first.
func childUnwritable(dir string) int {
	d, err := OpenDir(dir, ownerA)
	if err != nil {
		return 2
	}
	if unix.Getuid() == 0 {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(65534), syscall.Setuid(65534)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
	}
	files, err := d.Lookup("x")
	if err != nil || files.Phase() != New {
		fmt.Fprintln(os.Stderr, files, err)
		return 1
	}
	_, read := d.ReadPrompt("secret")
	_, prepare := d.Prepare("x", 100)
	for _, err := range []error{read, prepare, d.WriteAnswer("x", "a"), d.WritePaused("p"), d.Remove("x", KindRetry)} {
		if !errors.Is(err, unix.EACCES) || !strings.Contains(err.Error(), "owner and mode") {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if _, known, err := d.Writers("x"); unix.Getuid() == 65534 && (known || err != nil) {
		fmt.Fprintln(os.Stderr, "another user's file was leased:", known, err)
		return 1
	}
	return 0
}

func TestUnwritableFolder(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "x.prompt", "hi")
	put(t, dir, "x.prompt.retry", "")
	put(t, dir, "secret.prompt", "hi")
	must(t, os.Chmod(dir+"/secret.prompt", 0))
	must(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	must(t, startChild(t, "unwritable", dir).Run())
	if got := strings.Join(names(t, dir), " "); got != "secret.prompt x.prompt x.prompt.retry" {
		t.Error(got)
	}
}
