package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"watcher/qwen"
	"watcher/watch"
	"watcher/watch/watchtest"
)

// healthFake is a chat whose browser tells of itself.
type healthFake struct{ *watchtest.Fake }

func (healthFake) Close() {}
func (healthFake) Health() qwen.Health {
	return qwen.Health{Running: true, Memory: 300 << 20, Starts: 4}
}

// metered is a meter that reads off an agent that runs on a folder.
func metered(t *testing.T) *meter {
	t.Helper()
	m := newMeter(t.TempDir())
	c := watch.Defaults()
	c.Chat, c.ID, c.Roots, c.Events = watchtest.NewFake(), "00112233", []string{t.TempDir()}, watchtest.NoEvents
	looked := make(chan struct{})
	c.Observe = func(e watch.Event) {
		if e.Kind == watch.EventScanned {
			close(looked)
		}
	}
	agent, err := watch.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = agent.Run(ctx) })
	t.Cleanup(func() { cancel(); done.Wait() })
	<-looked
	m.use(&session{agent: agent, driver: healthFake{watchtest.NewFake()}})
	return m
}

// TestMetrics: the names are in order by Prometheus' own rules, and the values
// are what happened.
func TestMetrics(t *testing.T) {
	m := metered(t)
	for _, e := range []watch.Event{
		{Kind: watch.EventSent, Age: 3 * time.Second},
		{Kind: watch.EventSent},
		{Kind: watch.EventRefused, Class: watch.ClassQuota},
		{Kind: watch.EventRead, Took: 700 * time.Millisecond},
		{Kind: watch.EventRead, Took: time.Second, Class: watch.ClassUnreachable},
		{Kind: watch.EventDone, Age: 90 * time.Second},
		{Kind: watch.EventFailed, Class: "what a person wrote"},
		{Kind: watch.EventPaused, Class: watch.ClassLogin},
	} {
		m.observe(e)
	}
	m.hook(hookDone, hookOK)
	now := time.Now()
	if err := savePause(m.profile, watch.Pause{Class: watch.ClassLogin, Person: true, Since: now, Until: now}); err != nil {
		t.Fatal(err)
	}
	if problems, err := testutil.GatherAndLint(m.registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	text := exposed(t, m)
	for _, want := range []string{
		"watcher_watching 1", "watcher_sends_total 2", "watcher_answers_total 1",
		`watcher_send_refusals_total{class="quota"} 1`, `watcher_send_refusals_total{class="login"} 0`,
		"watcher_poll_duration_seconds_count 2", `watcher_poll_errors_total{class="unreachable"} 1`,
		"watcher_drop_to_sent_seconds_count 1", `watcher_drop_to_sent_seconds_bucket{le="5"} 1`,
		"watcher_drop_to_answered_seconds_sum 90", `watcher_failures_total{class="other"} 1`,
		`watcher_pauses_total{class="login"} 1`, `watcher_paused{class="login"} 1`, `watcher_paused{class="quota"} 0`,
		"watcher_person_needed 1", `watcher_jobs{phase="new"} 0`, `watcher_hooks_total{event="done",result="ok"} 1`,
		"watcher_browser_resident_memory_bytes 3.145728e+08", "watcher_browser_starts_total 4",
		"watcher_oldest_pending_seconds 0", "process_resident_memory_bytes ", "go_goroutines ",
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("missing: %s", want)
		}
	}
	if strings.Contains(text, "what a person wrote") {
		t.Error("a label holds what a person wrote")
	}
}

// exposed is what the meter serves.
func exposed(t *testing.T, m *meter) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = m.serve(ctx, l) })
	defer func() { cancel(); done.Wait() }()
	return get(t, "http://"+l.Addr().String()+"/metrics")
}

func get(t *testing.T, url string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, r.Status, err)
	}
	return string(b)
}

// TestMetricsWithoutTheProfile: what can't be known is left out, not told as
// none.
func TestMetricsWithoutTheProfile(t *testing.T) {
	text := exposed(t, newMeter(t.TempDir()))
	if !strings.Contains(text, "\nwatcher_watching 0\n") || strings.Contains(text, "watcher_jobs{") || strings.Contains(text, "watcher_browser_") {
		t.Errorf("%s", text)
	}
}

func TestMetricsAddress(t *testing.T) {
	for _, c := range []struct {
		address string
		public  bool
		want    string // part of the refusal; "" for none
	}{
		{"127.0.0.1:9311", false, ""},
		{"127.3.2.1:0", false, ""},
		{"[::1]:9311", false, ""},
		{"localhost:9311", false, ""},
		{":9311", false, "--metrics-public"},
		{"0.0.0.0:9311", false, "--metrics-public"},
		{"[::]:9311", false, "--metrics-public"},
		{"192.0.2.1:9311", false, "--metrics-public"},
		{"0.0.0.0:9311", true, ""},
		{":9311", true, ""},
		{"example.com:9311", false, "IP address"},
		{"9311", false, "such as"},
		{"127.0.0.1:", false, "such as"},
		{"127.0.0.1:99999", false, "no port"},
	} {
		err := checkMetricsAddress(c.address, c.public)
		if (err == nil) != (c.want == "") || err != nil && (!isUsage(err) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q, public %v: %v", c.address, c.public, err)
		}
	}
}

// TestMetricsPortTaken: the daemon works without them.
func TestMetricsPortTaken(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	in := newIntake(t, fastDir(t))
	in.start("WATCHER_METRICS=" + l.Addr().String())
	in.until("it says so", func() bool { return len(logLines(t, in.out.String(), "cannot serve metrics; trying again")) == 1 })
	text := in.text("a", 1, 1)
	in.write("a.prompt", text)
	in.answered("a", text)
	in.stop()
}

// TestMetricsOfALife reads off a daemon what it did.
func TestMetricsOfALife(t *testing.T) {
	t.Parallel()
	in := newIntake(t, fastDir(t))
	in.start("WATCHER_METRICS=127.0.0.1:0")
	var address any
	in.until("it serves", func() bool {
		for _, line := range logLines(t, in.out.String(), "serving metrics") {
			address = line["address"]
		}
		return address != nil
	})
	text := in.text("secret-name", 1, 1)
	in.write("secret-name.prompt", text)
	in.answered("secret-name", text)
	var got string
	in.until("the answer is counted", func() bool {
		got = get(t, fmt.Sprintf("http://%v/metrics", address))
		return strings.Contains(got, "\nwatcher_answers_total 1\n") && strings.Contains(got, `watcher_jobs{phase="done"} 1`)
	})
	for _, want := range []string{"watcher_sends_total 1", "watcher_drop_to_sent_seconds_count 1", "watcher_drop_to_answered_seconds_count 1"} {
		if !strings.Contains(got, "\n"+want+"\n") {
			t.Errorf("missing: %s", want)
		}
	}
	for _, secret := range []string{"secret-name", "chat.example", in.dir} {
		if strings.Contains(got, secret) {
			t.Errorf("the metrics tell of %s", secret)
		}
	}
	in.stop()
}

// TestMetricsOfALoopThatHangs: who asks is told, and in time.
func TestMetricsOfALoopThatHangs(t *testing.T) {
	t.Parallel()
	m := newMeter(t.TempDir())
	c := watch.Defaults()
	free := make(chan struct{})
	c.Chat, c.ID, c.Roots, c.Events = watchtest.NewFake(), "00112233", []string{t.TempDir()}, watchtest.NoEvents
	hangs := make(chan struct{})
	c.Observe = func(watch.Event) { close(hangs); <-free }
	agent, err := watch.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = agent.Run(ctx) })
	<-hangs
	m.use(&session{agent: agent, driver: browserFake{Fake: watchtest.NewFake()}})
	if text := exposed(t, m); !strings.Contains(text, "\nwatcher_watching 0\n") {
		t.Errorf("%s", text)
	}
	close(free)
	cancel()
	done.Wait()
}
