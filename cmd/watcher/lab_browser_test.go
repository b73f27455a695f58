//go:build crash

package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"watcher/cmd/watcher/lab"
	"watcher/qwen/qwentest"
)

var (
	browserKills = flag.Int("browser-kills", 300, "kill the program, the browser or a part of it so many times")
	browserCalls = flag.Int("browser-calls", 60, "kill the program at so many system calls while a real browser works")
)

// victims are what is killed at random, with equal chance.
var victims = map[string]func(cmdline string) bool{
	"program": nil,
	"browser": func(c string) bool { return !strings.Contains(c, "--type=") },
	"network": func(c string) bool { return strings.Contains(c, "network.mojom.NetworkService") },
	"page":    func(c string) bool { return strings.Contains(c, "--type=renderer") },
	"both":    func(c string) bool { return !strings.Contains(c, "--type=") },
}

// whims are how the rehearsal site treats a prompt the first time.
var whims = []qwentest.Fault{
	{}, {}, {},
	{Kind: qwentest.DropRST}, {Kind: qwentest.DropFIN}, {Kind: qwentest.LoseRST}, {Kind: qwentest.PartialRST},
	{Kind: qwentest.HeadersRST}, {Kind: qwentest.Cut}, {Kind: qwentest.Slow, Delay: time.Second}, {Kind: qwentest.ServerBusy},
	{Kind: qwentest.Late, Delay: time.Second}, // within the grace time
}

// TestBrowserKills kills the program, its browser, or a part of that, at
// random moments of a send by a real browser, while the site behaves at random.
func TestBrowserKills(t *testing.T) {
	var mu sync.Mutex
	killed, posted, accepted := map[string]int{}, 0, 0
	total := func() (n int) {
		for _, k := range killed {
			n += k
		}
		return n
	}
	t.Cleanup(func() {
		t.Logf("seed %d: killed %v, %d in all, posted %d, accepted %d", *seed, killed, total(), posted, accepted)
	})
	for lane := range 3 {
		t.Run(fmt.Sprint("lane ", lane), func(t *testing.T) {
			t.Parallel()
			for round := 0; ; round++ {
				mu.Lock()
				enough := total() >= *browserKills
				mu.Unlock()
				if enough || t.Failed() {
					return
				}
				kills, e := browserRound(t, fmt.Sprintf("lane %d, round %d", lane, round), rand.New(rand.NewPCG(*seed, uint64(lane*100_000+round))))
				mu.Lock()
				for _, k := range kills {
					killed[k]++
				}
				posted, accepted = posted+e.Posted, accepted+e.Accepted
				mu.Unlock()
			}
		})
	}
}

// browserRound is one prompt whose program or browser is killed up to three
// times.
func browserRound(t *testing.T, name string, random *rand.Rand) (killed []string, e qwentest.Entry) {
	d := newDesk(t)
	d.browser = "" // the usual one
	text := strings.TrimSpace(d.unique("What happens in %s?", name))
	d.drop("job", text)
	whim := whims[random.IntN(len(whims))]
	if whim.Kind != "" {
		whim.Match, whim.Times = text, 1
		d.site.Fault(whim)
	}
	names := []string{"both", "browser", "network", "page", "program"}
	for range 3 {
		victim := names[random.IntN(len(names))]
		if d.killSoon(victim, time.Duration(random.IntN(3000))*time.Millisecond) {
			killed = append(killed, victim)
		}
		if e := d.site.Find(text); e.Accepted > 1 {
			break
		}
	}
	out := d.untilDone("job")
	e = d.site.Find(text)
	most := 1
	if slices.Contains([]qwentest.Kind{qwentest.LoseRST, qwentest.PartialRST, qwentest.ServerBusy}, whim.Kind) {
		most = 2 // the first was not taken
	}
	if e.Accepted != 1 || e.Posted > most || len(e.Elsewhere) > 0 {
		t.Errorf("%s, seed %d, %s, killed %v: posted %d, accepted %d, elsewhere %v\n%s", name, *seed, whim.Kind, killed, e.Posted, e.Accepted, e.Elsewhere, out)
	}
	d.answered("job", text)
	d.tidyButTemps()
	return killed, e
}

// killSoon starts the program and kills the victim after a while; false when
// it was not there to be killed.
func (d *desk) killSoon(victim string, after time.Duration) (killed bool) {
	d.t.Helper()
	d.endPause()
	cmd := d.command(nil, "generate", "--wait=8s", "job.prompt")
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	over := make(chan struct{})
	end := time.AfterFunc(after, func() {
		defer close(over)
		if is := victims[victim]; is != nil {
			killed = d.killBrowser(is)
		}
		if victim == "program" || victim == "both" {
			killed = cmd.Process.Kill() == nil || killed
		}
	})
	_ = cmd.Wait() // however it ends
	if end.Stop() {
		return false
	}
	<-over
	return killed
}

// killBrowser kills the processes of this desk's browser that are meant.
func (d *desk) killBrowser(is func(string) bool) (killed bool) {
	for _, s := range d.browsers() {
		pid, err := strconv.Atoi(s)
		b, _ := os.ReadFile(filepath.Join("/proc", s, "cmdline"))
		ours := bytes.Contains(b, []byte("--user-data-dir="+filepath.Join(d.home, "profile")))
		if err == nil && pid > 1000 && ours && is(string(b)) {
			killed = syscall.Kill(pid, syscall.SIGKILL) == nil || killed
		}
	}
	return killed
}

// endPause lets the time of a pause be over.
func (d *desk) endPause() {
	if err := os.Remove(filepath.Join(d.home, "profile", "pause")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.t.Error(err)
	}
}

// untilDone calls the program as cron does until the job is done.
func (d *desk) untilDone(job string) (out string) {
	code := 0
	for range 12 {
		d.endPause()
		if code, out = d.run(nil, "generate", "--wait=10s", job+".prompt"); code == codeDone {
			return out
		}
	}
	d.t.Errorf("exit code %d\n%s", code, out)
	return out
}

// tidyButTemps demands that nothing unknown is left, but temporary files, which
// the next job sweeps.
func (d *desk) tidyButTemps() {
	d.t.Helper()
	temps, err := filepath.Glob(d.path(".watcher-*.tmp"))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, temp := range temps {
		if err := os.Remove(temp); err != nil {
			d.t.Error(err)
		}
	}
	d.tidy()
}

// TestBrowserCalls kills the program at system calls of its own while a real
// browser works for it, before and after each.
func TestBrowserCalls(t *testing.T) {
	random := rand.New(rand.NewPCG(*seed, 5))
	calls := countCalls(t)
	for i := range *browserCalls {
		n, done := 1+random.IntN(calls), random.IntN(2) == 0
		t.Run(lab.Call{N: n, Done: done}.Place(), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			text := strings.TrimSpace(d.unique("Call %d, number %d?", n, i))
			d.drop("job", text)
			o := d.traced(func(c lab.Call) lab.Order { return lab.Order{Kill: c.N == n && c.Done == done} })
			d.untilDone("job")
			d.once(text)
			d.answered("job", text)
			d.tidyButTemps()
			if t.Failed() {
				t.Logf("seed %d; the program said:\n%s", *seed, o.Output)
			}
		})
	}
}

// countCalls is how many calls a job takes in which nothing is wrong.
func countCalls(t *testing.T) int {
	d := newDesk(t)
	d.drop("job", d.unique("How many calls?"))
	o := d.traced(func(lab.Call) lab.Order { return lab.Order{} })
	if o.Code != codeDone {
		t.Fatalf("exit code %d\n%s", o.Code, o.Output)
	}
	d.tidy()
	return o.Calls
}

func (d *desk) traced(hook lab.Hook) lab.Outcome {
	d.t.Helper()
	cmd := d.command(nil, "generate", "--wait=60s", "job.prompt")
	o, err := lab.Trace(lab.Program{Path: cmd.Path, Args: cmd.Args[1:], Dir: cmd.Dir, Env: cmd.Env, Children: true, Limit: 2 * time.Minute}, d.home, hook)
	if err != nil {
		d.t.Fatal(err)
	}
	return o
}
