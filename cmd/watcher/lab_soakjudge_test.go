//go:build crash

package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"watcher/qwen/qwentest"
)

// count counts the jobs that are answered.
func (s *soak) count() int {
	n := 0
	for _, j := range s.jobs {
		if s.exists(j.name + ".md") {
			n++
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = n
	return n
}

// drain waits until all jobs are answered, as long as some are from time to time.
func (s *soak) drain() {
	const patience = 5 * time.Minute
	last, since := s.count(), time.Now()
	for ; last < len(s.jobs); time.Sleep(time.Second) {
		if n := s.count(); n > last {
			last, since = n, time.Now()
		}
		if time.Since(since) > patience {
			s.say("%d of %d jobs are answered, none for %v", last, len(s.jobs), patience)
			return
		}
		select {
		case <-s.ended:
			return
		default:
		}
	}
}

// awaitIdle waits until the browser that nobody needs any more is closed.
func (s *soak) awaitIdle() {
	for end := time.Now().Add(s.idle() + 2*time.Minute); len(s.browsers()) > 0; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			s.say("the browser is not closed though nobody needs it")
			return
		}
	}
}

// judge looks at what came of it.
func (s *soak) judge(samples *sampler) {
	posted, accepted := 0, 0
	refused := s.refusals()
	for _, j := range s.jobs {
		e := s.judgeJob(j, refused)
		posted, accepted = posted+e.Posted, accepted+e.Accepted
	}
	s.tidy()
	if left := s.litter(); len(left) > 0 {
		s.say("left behind: %v", left)
	}
	s.wrong = append(s.wrong, samples.grown()...)
	s.t.Logf("seed %d: %d jobs in %v, posted %d, accepted %d, %d programs, faults %v", *seed, len(s.jobs),
		time.Since(s.begun).Round(time.Second), posted, accepted, s.lives, s.struck)
	s.t.Log(samples.summary())
	for _, w := range s.wrong {
		s.t.Errorf("seed %d, %s", *seed, w)
	}
	s.keepLog()
}

// judgeJob demands of one job that it was accepted once, that it was posted again
// only after a refusal, and that its answer is whole.
func (s *soak) judgeJob(j soakJob, refused map[string]bool) qwentest.Entry {
	e := s.site.Find(j.text)
	explained := e.Partial
	for _, id := range e.RequestIDs {
		if refused[id] {
			explained++
		}
	}
	if e.Accepted != 1 || e.Posted > 1+explained || len(e.Elsewhere) > 0 {
		s.say("%s (%s, %s): posted %d, %d of them refused, accepted %d, elsewhere %v",
			j.name, j.way, j.whim.Kind, e.Posted, explained, e.Accepted, e.Elsewhere)
	}
	s.answered(j.name, j.text)
	if b, err := os.ReadFile(s.path(j.name + ".prompt")); err != nil || string(b) != j.text+"\n" {
		s.say("%s.prompt changed: %d bytes, %v", j.name, len(b), err)
	}
	if b, err := os.ReadFile(s.path(j.name + ".md.err")); err == nil {
		s.say("%s failed: %s", j.name, b)
	}
	return e
}

// refusals are the ids of the sends that the site did not take, and those that
// came while the network went down.
func (s *soak) refusals() map[string]bool {
	kinds := []string{"lose-", "unread-", "partial-", "server-busy", "goaway", "refuse-stream", "quota", "challenge", "status"}
	refused := map[string]bool{}
	for _, r := range s.site.Requests() {
		is := slices.ContainsFunc(kinds, func(k string) bool { return strings.Contains(r.Fault, k) })
		for _, d := range s.downs {
			is = is || r.Status == 0 && r.Time.After(d.from.Add(-time.Second)) && r.Time.Before(d.to)
		}
		if is {
			refused[r.RequestID] = true
		}
	}
	return refused
}

// keepLog puts the log beside the samples, or shows its end after a failure.
func (s *soak) keepLog() {
	var all []byte
	logs, err := filepath.Glob(filepath.Join(s.home, "log*"))
	slices.Sort(logs)
	for _, path := range append(logs[min(1, len(logs)):], filepath.Join(s.home, "log")) { // the last one is the newest
		b, readErr := os.ReadFile(path)
		all, err = append(all, b...), errors.Join(err, readErr)
	}
	if *soakTSV != "" {
		err = errors.Join(err, os.WriteFile(*soakTSV+".log", all, 0o644))
	}
	if err != nil {
		s.t.Error(err)
	}
	if s.t.Failed() {
		s.t.Logf("the log ends:\n%s", all[max(0, len(all)-8000):])
	}
}
