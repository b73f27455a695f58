package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"watcher/qwen"
	"watcher/watch"
)

// meter counts what a daemon does, and reads off the rest when it is asked:
// see docs/running.md for the names. Nothing in it tells of a prompt, a file or
// an address.
type meter struct {
	registry *prometheus.Registry
	profile  string

	sends, answers               prometheus.Counter
	refusals, failures           *prometheus.CounterVec
	readErrors, pauses           *prometheus.CounterVec
	reads, dropToSent, dropToEnd prometheus.Histogram
	hooks                        *prometheus.CounterVec

	mu      sync.Mutex
	session *session // nil while the profile is not ours
}

// classes are the values that a label class may have. Anything else, as a
// person may write it into a file, counts as other.
var classes = []string{
	watch.ClassInvalid, watch.ClassAltered, watch.ClassFiltered, watch.ClassGone, watch.ClassGeneration, watch.ClassStalled,
	watch.ClassExpired, watch.ClassCancelled, watch.ClassAmbiguous, watch.ClassLogin, watch.ClassChallenge, watch.ClassQuota,
	watch.ClassUnreachable, watch.ClassSiteChanged, watch.ClassBrowser, watch.ClassDisk, watch.ClassKeysGone, classOther,
}

const classOther = "other"

func classLabel(class string) string {
	if slices.Contains(classes, class) {
		return class
	}
	return classOther
}

// Seconds between a drop and what comes of it: from at once to a day.
var (
	dropBuckets = []float64{1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 12 * 3600, 24 * 3600}
	readBuckets = []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}
)

func newMeter(profile string) *meter {
	m := &meter{registry: prometheus.NewRegistry(), profile: profile}
	m.sends = m.counter("watcher_sends_total", "Prompts that the site has, by its own word or its chat.")
	m.answers = m.counter("watcher_answers_total", "Answers that were written.")
	m.refusals = m.counters("watcher_send_refusals_total", "Sends that were turned back, by failure class.")
	m.failures = m.counters("watcher_failures_total", "Prompts that failed for good, by failure class.")
	m.readErrors = m.counters("watcher_poll_errors_total", "Looks at a chat that failed, by failure class.")
	m.pauses = m.counters("watcher_pauses_total", "Pauses that began, of all sending or of one folder, by failure class.")
	m.reads = m.histogram("watcher_poll_duration_seconds", "How long a look at a chat took, the browser's start included.", readBuckets)
	m.dropToSent = m.histogram("watcher_drop_to_sent_seconds", "From a prompt's coming until the site had it.", dropBuckets)
	m.dropToEnd = m.histogram("watcher_drop_to_answered_seconds", "From a prompt's coming until its answer was written.", dropBuckets)
	m.hooks = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "watcher_hooks_total", Help: "Commands that were run, by event and by how they ended."}, []string{"event", "result"})
	m.registry.MustRegister(m.hooks, (*meterNow)(m), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *meter) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

// counters makes one counter for each class, all at zero: so that their first
// step shows.
func (m *meter) counters(name, help string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"class"})
	for _, c := range classes {
		v.WithLabelValues(c)
	}
	m.registry.MustRegister(v)
	return v
}

func (m *meter) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	m.registry.MustRegister(h)
	return h
}

// use names the session that is read off; nil while there is none.
func (m *meter) use(s *session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.session = s
}

func (m *meter) current() *session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.session
}

// observe counts one thing that the agent did.
func (m *meter) observe(e watch.Event) {
	class := classLabel(e.Class)
	switch e.Kind {
	case watch.EventSent:
		m.sends.Inc()
		observeAge(m.dropToSent, e.Age)
	case watch.EventRefused:
		m.refusals.WithLabelValues(class).Inc()
	case watch.EventRead:
		m.reads.Observe(e.Took.Seconds())
		if e.Class != "" {
			m.readErrors.WithLabelValues(class).Inc()
		}
	case watch.EventDone:
		m.answers.Inc()
		observeAge(m.dropToEnd, e.Age)
	case watch.EventFailed:
		m.failures.WithLabelValues(class).Inc()
	case watch.EventPaused:
		m.pauses.WithLabelValues(class).Inc()
	}
}

// hook counts a command that was run.
func (m *meter) hook(event, result string) { m.hooks.WithLabelValues(event, result).Inc() }

// observeAge leaves out what another process saw come: nobody knows when.
func observeAge(h prometheus.Histogram, age time.Duration) {
	if age > 0 {
		h.Observe(age.Seconds())
	}
}

// meterNow is the part of a meter that is read off when somebody asks.
type meterNow meter

var (
	descUp      = desc("watcher_watching", "1 while the folders are watched; 0 while the profile is another program's, or the daemon hangs.")
	descJobs    = desc("watcher_jobs", "Prompts in the watched folders, by phase.", "phase")
	descOldest  = desc("watcher_oldest_pending_seconds", "How long the oldest prompt without an answer waits, as far as this process knows.")
	descWorking = desc("watcher_work_seconds", "How long the step in hand (a send or a look at a chat) takes so far; 0 while there is none.")
	descPaused  = desc("watcher_paused", "1 for the class for which nothing is sent now, else 0.", "class")
	descPerson  = desc("watcher_person_needed", "1 while sending pauses until a person acts.")
	descFolders = desc("watcher_folders_paused", "Folders that pause on their own, for their disk or because their markers vanished.")
	descLogin   = desc("watcher_login_remaining_seconds", "Until the login ends; negative when it has. Divide by 86400 for days.")
	descMemory  = desc("watcher_browser_resident_memory_bytes", "Memory of the browser's processes; 0 while none runs.")
	descStarts  = desc("watcher_browser_starts_total", "Browsers that were started by this daemon for its present hold of the profile.")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe implements prometheus.Collector.
func (m *meterNow) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descUp, descJobs, descOldest, descWorking, descPaused, descPerson,
		descFolders, descLogin, descMemory, descStarts} {
		ch <- d
	}
}

// surveyPatience is how long a loop may take to answer for the meter.
const surveyPatience = 3 * time.Second

// Collect implements prometheus.Collector.
func (m *meterNow) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if n := qwen.ReadLoginNote(m.profile); !n.Expires.IsZero() {
		gauge(descLogin, time.Until(n.Expires).Seconds())
	}
	var survey watch.Survey
	s, up := (*meter)(m).current(), false
	if s != nil {
		ctx, cancel := context.WithTimeout(context.Background(), surveyPatience)
		defer cancel()
		var err error
		survey, err = s.agent.Survey(ctx)
		up = err == nil
	}
	gauge(descUp, number(up))
	if up {
		collectSurvey(survey, gauge)
	}
	// The pause stands in the profile, whoever holds it.
	pause := loadPause(m.profile)
	for _, c := range classes {
		gauge(descPaused, number(pause.Class != "" && classLabel(pause.Class) == c), c)
	}
	gauge(descPerson, number(pause.Person))
	if s != nil {
		collectBrowser(s.driver, ch)
	}
}

func collectSurvey(s watch.Survey, gauge func(*prometheus.Desc, float64, ...string)) {
	for phase, n := range map[string]int{"new": s.New, "sent": s.Sent, "failed": s.Failed, "done": s.Done} {
		gauge(descJobs, float64(n), phase)
	}
	gauge(descOldest, s.Oldest.Seconds())
	gauge(descWorking, s.Working.Seconds())
	gauge(descFolders, float64(s.FoldersPaused))
}

// collectBrowser reads off a driver that tells of its browser.
func collectBrowser(d driver, ch chan<- prometheus.Metric) {
	tells, ok := d.(interface{ Health() qwen.Health })
	if !ok {
		return
	}
	h := tells.Health()
	ch <- prometheus.MustNewConstMetric(descMemory, prometheus.GaugeValue, float64(h.Memory))
	ch <- prometheus.MustNewConstMetric(descStarts, prometheus.CounterValue, float64(h.Starts))
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
