//go:build crash

package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"watcher/qwen/qwentest"
)

// soakFaults are what happens to the daemon and to what it lives on, with equal
// chance. Each takes as long as it takes.
var soakFaults = []struct {
	name string
	do   func(s *soak)
}{
	{"kill program", func(s *soak) { s.signal(syscall.SIGKILL) }},
	{"kill program and browser", func(s *soak) {
		s.killBrowser(victims["browser"])
		s.signal(syscall.SIGKILL)
	}},
	{"kill browser", func(s *soak) { s.killBrowser(victims["browser"]) }},
	{"kill network process", func(s *soak) { s.killBrowser(victims["network"]) }},
	{"kill page", func(s *soak) { s.killBrowser(victims["page"]) }},
	{"stop program", func(s *soak) {
		s.signal(syscall.SIGSTOP)
		s.rest(8 * time.Second)
		s.signal(syscall.SIGCONT)
	}},
	{"stop browser", (*soak).stopBrowser},
	{"network down", func(s *soak) {
		s.netDown()
		s.rest(8 * time.Second)
		s.netUp()
	}},
	{"connections cut", func(s *soak) {
		s.netDown()
		s.netUp()
	}},
	{"log rotated", (*soak).rotate},
	{"body cut", func(s *soak) {
		s.misbehave(qwentest.Fault{Kind: qwentest.PartialRST}, qwentest.Fault{Kind: qwentest.PartialFIN}, qwentest.Fault{Kind: qwentest.UnreadRST})
	}},
	{"challenge", func(s *soak) {
		s.misbehave(qwentest.Fault{Kind: qwentest.Challenge}, qwentest.Fault{Kind: qwentest.Challenge, On: qwentest.OnNew},
			qwentest.Fault{Kind: qwentest.ChallengeHTML})
	}},
	{"quota", func(s *soak) { s.misbehave(qwentest.Fault{Kind: qwentest.Quota, N: 1}) }},
	{"page unavailable", func(s *soak) { s.misbehave(qwentest.Fault{Kind: qwentest.Status, N: 503, On: qwentest.OnPage}) }},
	{"no new chat", func(s *soak) {
		s.misbehave(qwentest.Fault{Kind: qwentest.ServerBusy, On: qwentest.OnNew}, qwentest.Fault{Kind: qwentest.LoseRST, On: qwentest.OnNew},
			qwentest.Fault{Kind: qwentest.DropRST, On: qwentest.OnNew}, qwentest.Fault{Kind: qwentest.Status, N: 502, On: qwentest.OnNew})
	}},
	{"chat unreadable", func(s *soak) {
		s.misbehave(qwentest.Fault{Kind: qwentest.Status, N: 500, On: qwentest.OnChat}, qwentest.Fault{Kind: qwentest.Garbage, On: qwentest.OnChat},
			qwentest.Fault{Kind: qwentest.Internal, On: qwentest.OnChat}, qwentest.Fault{Kind: qwentest.LoseRST, On: qwentest.OnChat})
	}},
}

// breakThings lets one fault follow the other. The first two kill programs, which
// is left out in the middle of the time, so that one program lives long enough
// to see it grow.
func (s *soak) breakThings() {
	gap := max(*soakFor/120, 3*time.Second)
	for {
		s.rest(2 * gap)
		at := time.Since(s.begun)
		if at > *soakFor {
			return
		}
		n := s.random.IntN(len(soakFaults))
		if long := at > *soakFor/3 && at < *soakFor*5/6; long && n < 2 {
			n += 2
		}
		f := soakFaults[n]
		s.mu.Lock()
		s.struck[f.name]++
		s.mu.Unlock()
		f.do(s)
	}
}

// rest lets up to so long pass: the time between two faults, or until one ends.
func (s *soak) rest(most time.Duration) {
	time.Sleep(time.Duration(s.random.Int64N(int64(most))))
}

// misbehave has the site do one of the faults, once or twice.
func (s *soak) misbehave(faults ...qwentest.Fault) {
	f := faults[s.random.IntN(len(faults))]
	f.Times = 1 + s.random.IntN(2)
	s.site.Fault(f)
}

// stopBrowser lets the browser stand still for a while.
func (s *soak) stopBrowser() {
	var pids []int
	for _, p := range s.browsers() {
		if pid, err := strconv.Atoi(p); err == nil && pid > 1000 {
			pids = append(pids, pid)
			_ = syscall.Kill(pid, syscall.SIGSTOP)
		}
	}
	s.rest(6 * time.Second)
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
}

// netDown cuts all connections to the site and refuses new ones.
func (s *soak) netDown() {
	s.mu.Lock()
	server := s.server
	s.server = nil
	s.downs = append(s.downs, span{time.Now(), time.Now().Add(24 * time.Hour)})
	s.mu.Unlock()
	if server != nil {
		server.Close()
	}
}

func (s *soak) netUp() {
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		server, err := s.site.StartOn(s.address, qwentest.ModeHTTPS2)
		if err == nil {
			s.mu.Lock()
			s.server, s.downs[len(s.downs)-1].to = server, time.Now()
			s.mu.Unlock()
			return
		}
		if time.Now().After(end) {
			s.say("the network does not come up again: %v", err)
			return
		}
	}
}

// rotate renames the log and says so, as logrotate may.
func (s *soak) rotate() {
	log := filepath.Join(s.home, "log")
	s.mu.Lock()
	old := fmt.Sprintf("%s.%03d", log, s.struck["log rotated"])
	s.mu.Unlock()
	if err := os.Rename(log, old); err != nil && !os.IsNotExist(err) {
		s.say("%v", err)
	}
	s.signal(syscall.SIGHUP)
}

// lift is the person who deletes watcher.paused a while after it appeared,
// which means "try now". One pause in forty may end by itself before.
func (s *soak) lift(stop chan struct{}) {
	random := rand.New(rand.NewPCG(*seed, 7))
	wait, since := time.Duration(0), time.Time{}
	for {
		select {
		case <-stop:
			return
		case <-time.After(200 * time.Millisecond):
		}
		switch {
		case !s.exists("watcher.paused"):
			since = time.Time{}
		case since.IsZero():
			since, wait = time.Now(), 300*time.Millisecond+time.Duration(random.Int64N(int64(min(*soakFor/20, 2*time.Second))))
			if random.IntN(40) == 0 && *soakFor > 10*time.Minute {
				wait = 75 * time.Second
			}
		case time.Since(since) > wait && os.Remove(s.path("watcher.paused")) == nil:
			since = time.Time{}
			s.mu.Lock()
			s.struck["pause lifted"]++
			s.mu.Unlock()
		}
	}
}

// freeAddress is one on this machine where nobody listens.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
