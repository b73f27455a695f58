//go:build crash

package main

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"watcher/cmd/watcher/lab"
	"watcher/state"
	"watcher/watch"
)

var (
	kills  = flag.Int("kills", 10_000, "kill so many programs at random")
	rivals = flag.Int("jobs", 1_000, "give the rivals so many jobs")
)

// moods are how the site treats sends. The third send of a prompt goes well.
var moods = []labPlan{
	{}, {}, {},
	{Slow: 15 * time.Millisecond},
	{Think: 30 * time.Millisecond},
	{Drop: true},
	{Lose: true},
	{Drop: true, Late: 10 * time.Millisecond}, // within the grace time
	{Refuse: watch.ClassUnreachable},
	{Refuse: watch.ClassQuota},
	{Refuse: watch.ClassChallenge},
	{Fails: watch.ClassGeneration},
}

// moodOf is the site's mood for one send: always the same for the same seed.
func moodOf(prompt string, nth int) labPlan {
	if nth > 2 {
		return labPlan{}
	}
	h := fnv.New64a()
	fmt.Fprint(h, prompt, nth)
	return moods[rand.New(rand.NewPCG(*seed, h.Sum64())).IntN(len(moods))]
}

// rival is one program with a profile of its own and its own way to the folder.
type rival struct {
	b       *bench
	profile string
	dir     string
	random  *rand.Rand
}

// newRivals are n programs that share nothing but the folder, which each sees
// at its own path.
func (b *bench) newRivals(dirs ...string) (list []*rival) {
	for i, dir := range dirs {
		owner := fmt.Sprintf("%016x", 0xaa+i)
		profile := b.newProfile(fmt.Sprint("profile", i), owner)
		list = append(list, &rival{b, profile, dir, rand.New(rand.NewPCG(*seed, uint64(i)))})
	}
	return list
}

// live starts the program once, as a daemon or for some jobs, and kills it
// after a while unless it ends before; it reports whether it was killed.
func (r *rival) live(jobs []string, kill bool) (killed bool) {
	r.b.t.Helper()
	if err := clearProfile(r.profile); err != nil { // the time of every pause has passed
		r.b.t.Error(err)
	}
	args := []string{"run", "--in-flight=20", r.dir}
	if r.random.IntN(3) == 0 {
		args = []string{"generate", "--wait=300ms", "--in-flight=20"}
		for range 5 {
			args = append(args, r.dir+"/"+jobs[r.random.IntN(len(jobs))]+".prompt")
		}
	}
	cmd := r.b.command(r.profile, args...)
	cmd.Dir = "/"
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		r.b.t.Error(err)
		return false
	}
	life := time.Duration(r.random.ExpFloat64() * float64(60*time.Millisecond))
	end := time.AfterFunc(life, func() {
		switch {
		case kill:
			cmd.Process.Kill()
		case args[0] == "run":
			cmd.Process.Signal(syscall.SIGTERM)
		}
	})
	defer end.Stop()
	_ = cmd.Wait() // the code says how
	code := cmd.ProcessState.ExitCode()
	if args[0] == "run" && code > 0 && code != signalCode(syscall.SIGTERM) || code == codeUsage {
		r.b.t.Errorf("watcher %s: exit code %d\n%s", strings.Join(args, " "), code, out.String())
	}
	return code == -1
}

// settle runs all rivals until every job is over, and lists what is wrong then.
func (b *bench) settle(list []*rival, jobs []string) (wrong []string) {
	b.t.Helper()
	for range 300 {
		open := slices.DeleteFunc(slices.Clone(jobs), b.isOver)
		if len(open) == 0 {
			break
		}
		for _, r := range list {
			b.must(clearProfile(r.profile))
			args := []string{"generate", "--wait=500ms", "--in-flight=50"}
			for _, job := range open[:min(len(open), 40)] {
				args = append(args, r.dir+"/"+job+".prompt")
			}
			b.runAs(r.profile, args...)
		}
	}
	wrong = b.sound()
	site := b.site.save()
	for _, job := range jobs {
		_, taken := site.count(b.texts[job])
		failure, _ := os.ReadFile(b.path(job + ".md.err"))
		switch f := state.ParseFailure(failure); {
		case !b.isOver(job):
			wrong = append(wrong, job+" never came to an end")
		case taken != 1:
			wrong = append(wrong, fmt.Sprintf("%s was taken %d times", job, taken))
		case len(failure) > 0 && f.Class != watch.ClassGeneration:
			wrong = append(wrong, fmt.Sprintf("%s failed: %s", job, failure))
		}
	}
	return wrong
}

func (b *bench) isOver(job string) bool {
	for _, end := range []string{".md", ".md.err"} {
		if _, err := os.Stat(b.path(job + end)); err == nil {
			return true
		}
	}
	return false
}

// TestRandomKills kills programs at random moments, thousands of times, while
// the site is slow, refuses, loses, drops and is late at random. Two profiles
// work on each folder.
func TestRandomKills(t *testing.T) {
	const lanes, batch = 4, 20
	var mu sync.Mutex
	var killed, posted, taken, jobs int
	t.Cleanup(func() {
		t.Logf("seed %d: %d kills, %d jobs, posted %d, taken %d", *seed, killed, jobs, posted, taken)
	})
	for lane := range lanes {
		t.Run(fmt.Sprint("lane ", lane), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, quick(t))
			for round := 0; ; round++ {
				mu.Lock()
				enough := killed >= *kills
				mu.Unlock()
				if enough || t.Failed() {
					return
				}
				b.fresh()
				b.site.plan = moodOf
				list := b.newRivals(b.dir, b.dir)
				names := b.dropMany(batch, fmt.Sprintf("lane %d, round %d", lane, round))
				n := b.mob(list, names, 100)
				wrong := b.settle(list, names)
				b.verdict(fmt.Sprintf("lane %d, round %d, seed %d", lane, round, *seed), wrong, "")
				mu.Lock()
				killed, jobs = killed+n, jobs+batch
				for _, p := range b.site.save().posts {
					if posted++; p.Taken {
						taken++
					}
				}
				mu.Unlock()
			}
		})
	}
}

// dropMany makes prompts that nobody else has.
func (b *bench) dropMany(n int, where string) (jobs []string) {
	for i := range n {
		job := fmt.Sprintf("p%04d", i)
		b.texts[job] = fmt.Sprintf("What is asked in %s, %s?", job, where)
		b.write(job+".prompt", b.texts[job])
		jobs = append(jobs, job)
	}
	return jobs
}

// mob lets the rivals live and die until so many were killed, or for a while
// after all is over. After each death all must be sound.
func (b *bench) mob(list []*rival, jobs []string, most int) (killed int) {
	var mu sync.Mutex
	var crowd sync.WaitGroup
	for _, r := range list {
		crowd.Go(func() {
			for lives := 0; ; lives++ {
				mu.Lock()
				done := killed >= most || lives > 2*most || b.t.Failed()
				mu.Unlock()
				if done {
					return
				}
				dead := r.live(jobs, r.random.IntN(8) > 0)
				wrong := b.sound()
				b.verdict(fmt.Sprintf("after death %d, seed %d", killed, *seed), wrong, "")
				mu.Lock()
				if dead {
					killed++
				}
				mu.Unlock()
			}
		})
	}
	crowd.Wait()
	return killed
}

// TestRivals lets two and four programs, each with a profile of its own, work
// on one folder of many jobs while they are killed at random.
func TestRivals(t *testing.T) {
	for _, n := range []int{2, 4} {
		t.Run(fmt.Sprint(n, " programs"), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, quick(t))
			b.compete(slices.Repeat([]string{b.dir}, n), *rivals)
		})
	}
}

// TestHosts lets two programs see one folder through two mounts, as two hosts
// do: no lock of the kernel's reaches from one to the other.
func TestHosts(t *testing.T) {
	for name, mount := range map[string]func(from, to string) error{"sshfs": lab.SSHFS, "bindfs": lab.BindFS} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, quick(t))
			var hosts []string
			for _, host := range []string{"host1", "host2"} {
				at := t.TempDir()
				b.must(mount(b.dir, at))
				t.Cleanup(func() {
					if err := lab.Unmount(at); err != nil {
						t.Errorf("%s: %v", host, err)
					}
				})
				hosts = append(hosts, at)
			}
			b.compete(hosts, *rivals/5)
		})
	}
}

// compete lets one program for each of the folder's paths work on n jobs, with
// one kill for each two jobs.
func (b *bench) compete(paths []string, n int) {
	b.t.Helper()
	b.site.plan = moodOf
	list, jobs := b.newRivals(paths...), b.dropMany(n, b.t.Name())
	killed := b.mob(list, jobs, n/2)
	wrong := b.settle(list, jobs)
	b.verdict(fmt.Sprintf("seed %d", *seed), wrong, "")
	posted, taken := len(b.site.save().posts), 0
	for _, p := range b.site.save().posts {
		if p.Taken {
			taken++
		}
	}
	b.t.Logf("seed %d: %d jobs, %d kills, posted %d, taken %d", *seed, n, killed, posted, taken)
}
