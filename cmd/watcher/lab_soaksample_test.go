//go:build crash

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// soakColumns are what is measured, in the order of the file. Memory is in MiB.
var soakColumns = []string{
	"seconds", "life", "program_rss", "program_pss", "program_fds", "program_threads", "goroutines",
	"browser_pss", "browser_processes", "profile_files", "profile_mib", "jobs_dropped", "jobs_done", "faults", "paused",
}

// soakSample is one look, by column; NaN is what could not be seen.
type soakSample map[string]float64

// sampler looks at a soak from time to time.
type sampler struct {
	s       *soak
	file    *os.File
	samples []soakSample
	client  http.Client
}

func newSampler(s *soak) *sampler {
	path := *soakTSV
	if path == "" {
		path = filepath.Join(s.home, "soak.tsv")
	}
	file, err := os.Create(path)
	if err != nil {
		s.t.Fatal(err)
	}
	fmt.Fprintln(file, strings.Join(soakColumns, "\t"))
	return &sampler{s: s, file: file, client: http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
}

// run looks until it is stopped, about 360 times a soak.
func (m *sampler) run(stop chan struct{}) {
	defer m.file.Close()
	for {
		select {
		case <-stop:
			return
		case <-time.After(max(*soakFor/360, 500*time.Millisecond)):
		}
		x := m.look()
		m.samples = append(m.samples, x)
		var line []string
		for _, c := range soakColumns {
			line = append(line, strconv.FormatFloat(math.Round(x[c]*100)/100, 'f', -1, 64))
		}
		if _, err := fmt.Fprintln(m.file, strings.Join(line, "\t")); err != nil {
			m.s.say("%v", err)
		}
	}
}

func (m *sampler) look() soakSample {
	s := m.s
	x := soakSample{"seconds": time.Since(s.begun).Seconds(), "jobs_done": float64(s.count())}
	s.mu.Lock()
	pid := s.pid
	x["life"] = float64(s.lives)
	for _, n := range s.struck {
		x["faults"] += float64(n)
	}
	s.mu.Unlock()
	for _, j := range s.jobs {
		if s.exists(j.name + ".prompt") {
			x["jobs_dropped"]++
		}
	}
	if s.exists("watcher.paused") {
		x["paused"] = 1
	}
	x["program_rss"], x["program_pss"] = memoryOf(pid)
	x["program_fds"], x["program_threads"] = entries(pid, "fd"), entries(pid, "task")
	x["goroutines"] = m.goroutines()
	for _, p := range s.browserTree() {
		if _, pss := memoryOf(p); !math.IsNaN(pss) {
			x["browser_pss"] += pss
			x["browser_processes"]++
		}
	}
	_ = filepath.WalkDir(filepath.Join(s.home, "profile"), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil { // else it is gone by now
				x["profile_files"]++
				x["profile_mib"] += float64(info.Size()) / (1 << 20)
			}
		}
		return nil
	})
	return x
}

// memoryOf is a process's resident and proportional set size in MiB.
func memoryOf(pid int) (rss, pss float64) {
	rss, pss = math.NaN(), math.NaN()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return rss, pss
	}
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kib, err := strconv.ParseFloat(fields[1], 64)
		switch {
		case err != nil:
		case fields[0] == "Rss:":
			rss = kib / 1024
		case fields[0] == "Pss:":
			pss = kib / 1024
		}
	}
	return rss, pss
}

// entries counts what a process has in one of its folders in /proc.
func entries(pid int, folder string) float64 {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/%s", pid, folder))
	if err != nil || len(list) == 0 {
		return math.NaN()
	}
	return float64(len(list))
}

// goroutines is what the daemon's own metrics say.
func (m *sampler) goroutines() float64 {
	r, err := m.client.Get("http://" + m.s.metrics + "/metrics")
	if err != nil {
		return math.NaN() // it starts, or stands still
	}
	defer r.Body.Close()
	for lines := bufio.NewScanner(io.LimitReader(r.Body, 1<<20)); lines.Scan(); {
		if n, ok := strings.CutPrefix(lines.Text(), "go_goroutines "); ok {
			if f, err := strconv.ParseFloat(n, 64); err == nil {
				return f
			}
		}
	}
	return math.NaN()
}

// browserTree lists all processes of this soak's browsers: those that name the
// profile, and what else is in their process groups.
func (s *soak) browserTree() (pids []int) {
	groups := map[int]bool{}
	for _, p := range s.browsers() {
		b, _ := os.ReadFile(filepath.Join("/proc", p, "cmdline"))
		pid, err := strconv.Atoi(p)
		if group, groupErr := syscall.Getpgid(pid); err == nil && groupErr == nil && !bytes.Contains(b, []byte("--type=")) {
			groups[group] = true
		}
	}
	list, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range list {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if group, err := syscall.Getpgid(pid); err == nil && groups[group] {
			pids = append(pids, pid)
		}
	}
	return pids
}
