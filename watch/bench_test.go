package watch_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"watcher/watch"
	"watcher/watch/watchtest"
)

var benchJobs = flag.Int("jobs", 0, "finished jobs that lie in the folder of BenchmarkDrop")

// BenchmarkDrop takes the time from the last system call of a drop to the
// moment that a watcher knows of the file: this program (which then begins its
// send), a bare inotify read, and inotifywait in a shell's loop. Each has a
// folder of its own; they take turns.
func BenchmarkDrop(b *testing.B) {
	for name, drop := range map[string]func(dir, name string) (time.Time, error){"close": dropClose, "rename": dropRename} {
		b.Run(name, func(b *testing.B) { benchDrop(b, drop) })
	}
}

func benchDrop(b *testing.B, drop func(dir, name string) (time.Time, error)) {
	ways := map[string]*eye{"program": openAgent(b), "raw": openRaw(b)}
	if _, err := exec.LookPath("inotifywait"); err == nil {
		ways["inotifywait"] = openTool(b)
	}
	took := map[string][]time.Duration{}
	i := 0
	for b.Loop() {
		for way, e := range ways {
			i++
			time.Sleep(3 * time.Millisecond) // all sleep again
			name := fmt.Sprintf("drop-%07d.prompt", i)
			at, err := drop(e.dir, name)
			if err != nil {
				b.Fatal(err)
			}
			took[way] = append(took[way], e.saw(b, name).Sub(at))
		}
	}
	b.ReportMetric(0, "ns/op")
	median := map[string]float64{}
	for way, list := range took {
		slices.Sort(list)
		median[way] = float64(list[len(list)/2].Nanoseconds()) / 1e3
		b.ReportMetric(median[way], "us-"+way)
		b.ReportMetric(float64(list[len(list)*99/100].Nanoseconds())/1e3, "us-p99-"+way)
	}
	b.ReportMetric(median["program"]/median["raw"], "x-raw")
	if tool := median["inotifywait"]; tool > 0 {
		b.ReportMetric(median["program"]/tool, "x-inotifywait")
	}
}

// dropClose writes a prompt in place; the time is that before its close.
func dropClose(dir, name string) (at time.Time, err error) {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return at, err
	}
	if _, err = f.WriteString(strings.Repeat("text ", 400)); err != nil {
		return at, err
	}
	at = time.Now()
	return at, f.Close()
}

// dropRename brings a whole file in; the time is that before the rename.
func dropRename(dir, name string) (at time.Time, err error) {
	beside := filepath.Join(dir, "..", name)
	if _, err = dropClose(filepath.Dir(beside), name); err != nil {
		return at, err
	}
	at = time.Now()
	return at, os.Rename(beside, filepath.Join(dir, name))
}

// eye is a watcher of one folder.
type eye struct {
	dir  string
	seen chan sighting
	idle chan struct{} // after each, when the watcher does more than to look; else nil
}

type sighting struct {
	name string
	at   time.Time
}

// saw waits until the watcher has the name.
func (e *eye) saw(b *testing.B, name string) time.Time {
	b.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case s := <-e.seen:
			if s.name != name {
				continue
			}
			if e.idle != nil {
				<-e.idle
			}
			return s.at
		case <-limit:
			b.Fatalf("%s was not seen in 30 s", name)
		}
	}
}

func newEye(b *testing.B) *eye {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	fill(b, dir, *benchJobs)
	return &eye{dir: dir, seen: make(chan sighting, 1000)}
}

// fill puts finished jobs into a folder: links, as only names matter.
func fill(b *testing.B, dir string, jobs int) {
	b.Helper()
	src := ""
	for n := range 3 * jobs {
		if n%30_000 == 0 {
			src = filepath.Join(dir, "..", fmt.Sprint("src", n))
			if err := os.WriteFile(src, []byte("text"), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		name := fmt.Sprintf("%s/a-job-of-usual-length-%07d%s", dir, n/3, []string{".prompt", ".md.url", ".md"}[n%3])
		if err := unix.Link(src, name); err != nil {
			b.Fatal(err)
		}
	}
}

// openAgent watches with the agent; it knows a prompt when it begins the send.
func openAgent(b *testing.B) *eye {
	e := newEye(b)
	e.idle = make(chan struct{}, 1000)
	cfg := watch.Defaults()
	cfg.Chat, cfg.ID, cfg.Roots, cfg.Log = watchtest.NewFake(), "00112233", []string{e.dir}, zerolog.Nop()
	cfg.Settle, cfg.SendGap, cfg.InFlight, cfg.Poll, cfg.Rescan = 0, 0, 1000, time.Millisecond, time.Hour
	cfg.Progress = func(p watch.Progress) {
		switch name := filepath.Base(p.Job) + ".prompt"; p.Phase {
		case "sending":
			e.seen <- sighting{name, time.Now()}
		case "done":
			e.idle <- struct{}{}
		}
	}
	a, err := watch.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = a.Run(ctx) })
	b.Cleanup(func() { cancel(); done.Wait() })
	// The first scan may come after the first drop.
	if _, err := dropClose(e.dir, "first.prompt"); err != nil {
		b.Fatal(err)
	}
	e.saw(b, "first.prompt")
	return e
}

// openRaw reads inotify in a thread of its own: the least that there is in Go.
func openRaw(b *testing.B) *eye {
	e := newEye(b)
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err == nil {
		_, err = unix.InotifyAddWatch(fd, e.dir, unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO|unix.IN_ONLYDIR)
	}
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		buf := make([]byte, 64<<10)
		for {
			n, err := unix.Read(fd, buf)
			at := time.Now()
			if err == unix.EINTR {
				continue
			}
			if err != nil || n < unix.SizeofInotifyEvent {
				return
			}
			for b := buf[:n]; len(b) > 0; {
				size := unix.SizeofInotifyEvent + int((*unix.InotifyEvent)(unsafe.Pointer(&b[0])).Len)
				name := strings.TrimRight(string(b[unix.SizeofInotifyEvent:size]), "\x00")
				if name == "stop" {
					return
				}
				e.seen <- sighting{name, at}
				b = b[size:]
			}
		}
	}()
	b.Cleanup(func() {
		_ = os.WriteFile(filepath.Join(e.dir, "stop"), nil, 0o644)
		<-done
		unix.Close(fd)
	})
	return e
}

// openTool watches with inotifywait and a shell's loop, which notes the time.
func openTool(b *testing.B) *eye {
	e := newEye(b)
	cmd := exec.Command("bash", "-c", `inotifywait -m -e close_write,moved_to --format %f "$0" 2>&1 |
while read -r f; do echo "$EPOCHREALTIME $f"; done`, e.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "Watches established") {
	}
	go func() {
		for lines.Scan() {
			var sec, usec int64
			at, name, _ := strings.Cut(lines.Text(), " ")
			if _, err := fmt.Sscanf(at, "%d.%d", &sec, &usec); err == nil {
				e.seen <- sighting{name, time.Unix(sec, usec*1000)}
			}
		}
	}()
	b.Cleanup(func() {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	})
	return e
}
