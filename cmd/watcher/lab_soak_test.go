//go:build crash

package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"watcher/qwen/qwentest"
)

var (
	soakFor  = flag.Duration("soak", 30*time.Minute, "the soak drops its jobs and does its damage for so long")
	soakJobs = flag.Int("soak-jobs", 500, "jobs of the soak")
	soakTSV  = flag.String("soak-tsv", "", "keep the soak's samples in this file, and its log beside it")
)

// soak is one folder, one profile and one daemon that is started again whenever
// it was killed, while jobs come and things break.
type soak struct {
	*desk
	address string // of the site, host and port
	metrics string // address of the daemon's metrics
	random  *rand.Rand
	begun   time.Time
	jobs    []soakJob
	over    chan struct{} // closed when the daemon is to end
	ended   chan struct{} // closed when it has ended for good

	mu     sync.Mutex
	server *qwentest.Server // nil while the network is down
	downs  []span
	pid    int
	lives  int
	done   int            // jobs that are answered
	struck map[string]int // faults so far, by name
	wrong  []string
}

// span is a stretch of time.
type span struct{ from, to time.Time }

// soakJob is a prompt to come.
type soakJob struct {
	name, text string
	at         time.Duration
	way        string
	whim       qwentest.Fault
}

// soakWays are how prompts come into the folder: $SRC is the text under another
// name, $TO the prompt.
var soakWays = []string{
	`cp "$SRC" "$TO"`,
	`mv "$SRC" "$TO"`,
	`ln "$SRC" "$TO"`,
	`cat "$SRC" > "$TO"`,
	`{ head -c 40 "$SRC"; sleep 0.8; tail -c +41 "$SRC"; } > "$TO"`,
	`tee "$TO" < "$SRC" >/dev/null`,
	`dd if="$SRC" of="$TO" bs=1000 conv=fsync status=none`,
	`rsync "$SRC" "$TO"`,
}

// soakWhims are how the site treats a prompt the first time. Five of six
// prompts meet none.
var soakWhims = []qwentest.Fault{
	{Kind: qwentest.DropRST}, {Kind: qwentest.DropFIN}, {Kind: qwentest.LoseRST}, {Kind: qwentest.LoseFIN},
	{Kind: qwentest.HeadersRST}, {Kind: qwentest.Cut}, {Kind: qwentest.CutRST}, {Kind: qwentest.Slow, Delay: time.Second},
	{Kind: qwentest.ServerBusy}, {Kind: qwentest.Late, Delay: time.Second}, // within the grace time
	{Kind: qwentest.Pause, Delay: 3 * time.Second}, {Kind: qwentest.Continue}, {Kind: qwentest.LateText, Delay: time.Second},
	{Kind: qwentest.GoAway}, {Kind: qwentest.RefuseStream}, {Kind: qwentest.CutSlow, Delay: 2 * time.Second},
}

// TestSoak lets one daemon with a real browser live through many jobs and
// faults, all drawn from the seed. In the end each job was accepted once, each
// answer is whole, nothing is left behind, and the daemon has not grown.
func TestSoak(t *testing.T) {
	s := newSoak(t)
	go s.live()
	samples := newSampler(s)
	stop := make(chan struct{})
	var crowd sync.WaitGroup
	crowd.Go(func() { samples.run(stop) })
	crowd.Go(func() { s.lift(stop) })
	var work sync.WaitGroup
	work.Go(s.dropAll)
	work.Go(s.breakThings)
	work.Wait()
	s.drain()
	s.awaitIdle()
	close(stop)
	crowd.Wait()
	s.end()
	s.judge(samples)
}

func newSoak(t *testing.T) *soak {
	d := newDesk(t)
	server, err := d.site.Start(qwentest.ModeHTTPS2)
	if err != nil {
		t.Fatal(err)
	}
	s := &soak{desk: d, address: strings.TrimPrefix(server.URL, "https://"), metrics: freeAddress(t), server: server,
		random: rand.New(rand.NewPCG(*seed, 6)), begun: time.Now(), struck: map[string]int{},
		over: make(chan struct{}), ended: make(chan struct{})}
	for i := range *soakJobs {
		s.jobs = append(s.jobs, s.plan(i))
	}
	slices.SortFunc(s.jobs, func(a, b soakJob) int { return int(a.at - b.at) })
	t.Cleanup(func() {
		s.end()
		s.netDown()
	})
	return s
}

// plan draws one job. Nothing comes in two stretches of a twentieth of the
// time, so that the browser is left alone.
func (s *soak) plan(i int) soakJob {
	at := time.Duration(s.random.Float64() * float64(*soakFor) * 0.85)
	for _, quiet := range []float64{0.3, 0.65} {
		if from := time.Duration(quiet * float64(*soakFor)); at > from {
			at += *soakFor / 20
		}
	}
	j := soakJob{name: fmt.Sprintf("p%03d", i), at: at, way: soakWays[s.random.IntN(len(soakWays))]}
	text := s.unique("Number %d of the soak", i)
	if answer := []string{"", "", "", "short", "long", "table", "code", "quotes", "200k"}[s.random.IntN(9)]; answer != "" {
		text += "!rehearsal answer=" + answer + "\n"
	}
	lines := []int{0, 0, 0, 10, 100, 1000}[s.random.IntN(6)]
	text += strings.Repeat("One line of many, to make it longer. Ünïcödé, too.\n", lines)
	j.text = strings.TrimSpace(text)
	if s.random.IntN(6) == 0 {
		j.whim = soakWhims[s.random.IntN(len(soakWhims))]
		j.whim.Match, j.whim.Times = fmt.Sprintf("Number %d of the soak", i), 1
	}
	return j
}

// dropAll brings each job in when its time comes.
func (s *soak) dropAll() {
	var slow sync.WaitGroup
	defer slow.Wait()
	for _, j := range s.jobs {
		time.Sleep(time.Until(s.begun.Add(j.at))) // the plan's time, which nothing waits for
		if j.whim.Kind != "" {
			s.site.Fault(j.whim)
		}
		slow.Go(func() {
			src := filepath.Join(s.home, "tmp", j.name)
			defer os.Remove(src)
			if err := os.WriteFile(src, []byte(j.text+"\n"), 0o644); err != nil {
				s.say("%v", err)
				return
			}
			cmd := exec.Command("sh", "-c", j.way)
			cmd.Env = append(os.Environ(), "SRC="+src, "TO="+s.path(j.name+".prompt"))
			if out, err := cmd.CombinedOutput(); err != nil {
				s.say("%s: %v\n%s", j.way, err, out)
			}
		})
	}
}
