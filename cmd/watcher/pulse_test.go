package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"watcher/qwen"
	"watcher/watch"
	"watcher/watch/watchtest"
)

// manager is a service manager's ear.
type manager struct {
	mu   sync.Mutex
	told []string // each line of each message
}

func (m *manager) hear(state string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told = append(m.told, strings.Split(state, "\n")...)
	return nil
}

func (m *manager) all() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.told)
}

// count tells how many lines begin so.
func (m *manager) count(begin string) (n int) {
	for _, line := range m.all() {
		if strings.HasPrefix(line, begin) {
			n++
		}
	}
	return n
}

// beating is a pulse that is watched over, in a bubble.
func beating(t *testing.T, f func(p *pulse, m *manager)) {
	synctest.Test(t, func(t *testing.T) {
		m := &manager{}
		p := &pulse{notify: m.hear, period: time.Minute, log: zerolog.Nop(), since: time.Now()}
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { p.run(ctx) })
		f(p, m)
		cancel()
		done.Wait()
	})
}

func fine(context.Context) (string, error) { return "fine", nil }

func TestPulse(t *testing.T) {
	beating(t, func(p *pulse, m *manager) {
		p.waits("another program has the profile")
		time.Sleep(time.Hour)
		if m.count("READY") != 0 || m.count("WATCHDOG") != 0 || m.count("EXTEND_TIMEOUT_USEC=60000000") < 60 {
			t.Errorf("a start that waits: %q", m.all()[:5])
		}
		n := m.count("EXTEND")
		p.works(fine)
		time.Sleep(10 * time.Minute)
		if m.count("READY") != 0 || m.count("WATCHDOG") != 0 || m.count("EXTEND") > n {
			t.Errorf("before the folders were looked at: %d ready, %d signs of life, %d more time", m.count("READY"), m.count("WATCHDOG"), m.count("EXTEND")-n)
		}
		p.ready()
		p.ready()
		time.Sleep(10 * time.Minute)
		if m.count("READY") != 1 || m.count("WATCHDOG") < 29 || m.count("STATUS=fine") < 29 {
			t.Errorf("at work: %d ready, %d signs of life", m.count("READY"), m.count("WATCHDOG"))
		}
	})
}

// TestPulseStops: no sign of life while the daemon gives none.
func TestPulseStops(t *testing.T) {
	for name, probe := range map[string]func(context.Context) (string, error){
		"it says no":   func(context.Context) (string, error) { return "", errors.New("the browser hangs") },
		"it is silent": func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			beating(t, func(p *pulse, m *manager) {
				p.works(fine)
				p.ready()
				time.Sleep(time.Minute)
				p.works(probe)
				n := m.count("WATCHDOG")
				time.Sleep(10 * time.Minute)
				if n == 0 || m.count("WATCHDOG") != n {
					t.Errorf("%d signs of life, %d more when there was none", n, m.count("WATCHDOG")-n)
				}
				p.works(fine)
				time.Sleep(time.Minute)
				if m.count("WATCHDOG") == n {
					t.Error("no sign of life after it recovered")
				}
			})
		})
	}
}

// TestPulseBetween: a daemon that waits for somebody is well for as long as it
// takes; one that is ending something is not for ever.
func TestPulseBetween(t *testing.T) {
	beating(t, func(p *pulse, m *manager) {
		p.ready()
		p.waits("a login")
		n := m.count("WATCHDOG")
		time.Sleep(24 * time.Hour)
		if m.count("WATCHDOG")-n < 24*60 {
			t.Errorf("%d signs of life in a day of waiting", m.count("WATCHDOG")-n)
		}
		p.moves("ending the browser")
		time.Sleep(movesLongest)
		n = m.count("WATCHDOG")
		time.Sleep(time.Hour)
		if more := m.count("WATCHDOG") - n; more > 1 {
			t.Errorf("%d signs of life from a daemon that does not end", more)
		}
	})
}

func TestPulseReloadsAndStops(t *testing.T) {
	beating(t, func(p *pulse, m *manager) {
		p.works(fine)
		p.reload(func() {}) // before it was ready: that is not told by a reload
		if m.count("READY") != 0 {
			t.Error("ready before the folders were looked at")
		}
		p.ready()
		before := len(m.all())
		p.reload(func() { _ = m.hear("now") })
		got := m.all()[before:]
		if len(got) != 4 || got[0] != "RELOADING=1" || !strings.HasPrefix(got[1], "MONOTONIC_USEC=") || got[2] != "now" || got[3] != "READY=1" {
			t.Errorf("told %q", got)
		}
		p.stopping()
		p.moves("ending the browser")
		if last := m.all()[len(m.all())-2:]; !slices.Equal(last, []string{"STOPPING=1", "STATUS=stopping"}) {
			t.Errorf("told %q last", last)
		}
	})
}

// TestPulseWithoutAManager is what happens everywhere else: nothing.
func TestPulseWithoutAManager(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	p := newPulse(zerolog.Nop())
	p.run(t.Context()) // it returns
	p.waits("nobody")
	p.ready()
	p.reload(func() {})
	p.stopping()
}

// browserFake is a chat with a browser that may hang.
type browserFake struct {
	*watchtest.Fake
	err error
}

func (b browserFake) Close()                      {}
func (b browserFake) Alive(context.Context) error { return b.err }

// TestFit: what the signs of life stand for is the loop's and the browser's
// own answer.
func TestFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		c := watch.Defaults()
		c.Chat, c.ID, c.Roots, c.Events = watchtest.NewFake(), "00112233", []string{t.TempDir()}, watchtest.NoEvents
		c.Observe = func(watch.Event) { <-hangs }
		agent, err := watch.New(c)
		if err != nil {
			t.Fatal(err)
		}
		s := &session{agent: agent, driver: browserFake{Fake: watchtest.NewFake()}}
		ask := func() (string, error) {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			return s.fit(ctx)
		}
		if _, err := ask(); !errors.Is(err, watch.ErrNotRunning) {
			t.Errorf("without a loop: %v", err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var done sync.WaitGroup
		done.Go(func() { _ = agent.Run(ctx) })
		synctest.Wait()
		if _, err := ask(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a loop that hangs: %v", err)
		}
		close(hangs)
		if status, err := ask(); err != nil || status != "0 new, 0 sent, 0 failed, 0 done" {
			t.Errorf("a loop that goes round: %q, %v", status, err)
		}
		s.driver = browserFake{watchtest.NewFake(), errors.New("it hangs")}
		if _, err := ask(); err == nil || err.Error() != "it hangs" {
			t.Errorf("a browser that hangs: %v", err)
		}
		cancel()
		done.Wait()
	})
}

// TestService runs the program under a service manager's protocol: it is ready
// once it has the profile and has looked at the folders, gives signs of life,
// reloads and says that it ends.
func TestService(t *testing.T) {
	t.Parallel()
	in := newIntake(t, fastDir(t))
	socket := filepath.Join(in.home, "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	in.must(err)
	m := &manager{}
	var heard sync.WaitGroup
	heard.Go(func() {
		for b := make([]byte, 1<<12); ; {
			n, err := l.Read(b)
			if err != nil {
				return
			}
			_ = m.hear(string(b[:n])) // it only remembers
		}
	})
	t.Cleanup(func() { l.Close(); heard.Wait() })
	profile, err := qwen.OpenProfile(filepath.Join(in.home, "profile"))
	in.must(err)
	in.launch("NOTIFY_SOCKET="+socket, "WATCHDOG_USEC=600000", fmt.Sprintf("WATCHER_LOG_FILE=%s", filepath.Join(in.home, "log")))
	in.until("it waits for the profile", func() bool { return m.count("EXTEND_TIMEOUT_USEC") > 1 })
	if m.count("READY") != 0 {
		t.Error("ready without the profile")
	}
	profile.Close()
	in.until("it is ready", func() bool { return m.count("READY=1") == 1 })
	in.until("signs of life", func() bool { return m.count("WATCHDOG=1") > 2 })
	in.must(in.cmd.Process.Signal(syscall.SIGHUP))
	in.until("it reloads", func() bool {
		return m.count("RELOADING=1") == 1 && m.count("MONOTONIC_USEC=") == 1 && m.count("READY=1") == 2
	})
	text := in.text("a", 1, 1)
	in.write("a.prompt", text)
	in.answered("a", text)
	in.until("its status", func() bool { return m.count("STATUS=0 new, 0 sent, 0 failed, 1 done") > 0 })
	in.stop()
	if m.count("STOPPING=1") != 1 {
		t.Errorf("it ended, and told %q", m.all())
	}
}
