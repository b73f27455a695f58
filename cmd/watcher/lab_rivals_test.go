//go:build crash

package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The riot: what is tried can be tried again with the same -seed, as far as
// the machine's own timing allows.
var (
	riots = flag.Int("riots", 1, "rounds of rivals that are killed at random")
	seed  = flag.Uint64("seed", 1, "of the random kills")
)

// TestRiot: two daemons with two profiles, and callers of both, on one folder;
// each is killed at a random moment, or not. Then all comes to its end: each
// prompt accepted once, each answer whole, nothing left behind. Nobody says 1,
// as there is nothing that could not be done.
func TestRiot(t *testing.T) {
	t.Parallel()
	var posted, accepted, kills int
	for round := range *riots {
		p, a, k := riot(t, round, rand.New(rand.NewPCG(*seed, uint64(round))))
		posted, accepted, kills = posted+p, accepted+a, kills+k
		if t.Failed() {
			t.Fatalf("seed %d, round %d", *seed, round)
		}
	}
	t.Logf("%d rounds, seed %d: %d kills, %d prompts, posted %d, accepted %d", *riots, *seed, kills, 3**riots, posted, accepted)
}

func riot(t *testing.T, round int, random *rand.Rand) (posted, accepted, kills int) {
	d := newDesk(t)
	profiles := []string{filepath.Join(d.home, "profile"), d.secondProfile()}
	texts := map[string]string{}
	var names []string
	for i := range 3 {
		name := fmt.Sprintf("p%d", i)
		names = append(names, name)
		texts[name] = strings.TrimSpace(d.unique("Riot %d, prompt %d", round, i))
		d.drop(name, texts[name])
	}
	var crowd sync.WaitGroup
	var mu sync.Mutex
	join := func(profile string, args ...string) {
		begin := time.Duration(random.IntN(1500)) * time.Millisecond
		life := time.Duration(random.IntN(3500)) * time.Millisecond
		killed := random.IntN(3) > 0
		crowd.Go(func() {
			time.Sleep(begin)
			code, out := d.live(profile, life, killed, args...)
			mu.Lock()
			defer mu.Unlock()
			if code == -1 {
				kills++
			} else if !slices.Contains([]int{codeDone, codeInProgress, codeQueued}, code) {
				t.Errorf("watcher %s: exit code %d\n%s", strings.Join(args, " "), code, out)
			}
		})
	}
	for _, profile := range profiles {
		join(profile, "run", d.dir)
		for range 3 {
			join(profile, "generate", names[random.IntN(3)]+".prompt")
		}
	}
	crowd.Wait()
	d.finishAll(profiles, names)
	for name, text := range texts {
		d.once(text)
		d.answered(name, text)
		e := d.site.Find(text)
		posted, accepted = posted+e.Posted, accepted+e.Accepted
	}
	for i, profile := range profiles { // what the killed left each sweeps when it has work again
		name := fmt.Sprint("last", i)
		d.drop(name, d.unique("Riot %d: who sweeps for %d?", round, i))
		d.finishAll([]string{profile}, []string{name})
	}
	d.tidy()
	return posted, accepted, kills
}

// live runs the program for a while and then kills it or asks it to end; -1
// says that it was killed.
func (d *desk) live(profile string, life time.Duration, kill bool, args ...string) (code int, output string) {
	cmd := d.command([]string{"WATCHER_PROFILE=" + profile}, args...)
	out := &syncBuffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		d.t.Error(err)
		return 0, ""
	}
	end := time.AfterFunc(life, func() {
		switch {
		case kill:
			_ = cmd.Process.Kill()
		case args[0] == "run":
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
	})
	defer end.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		d.t.Errorf("watcher %s: %v", strings.Join(args, " "), err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// secondProfile is another profile with the same login: it must not take the
// first one's markers for its own.
func (d *desk) secondProfile() string {
	home := filepath.Join(d.home, "second")
	if err := d.profileFor(home); err != nil {
		d.t.Fatal(err)
	}
	for _, file := range []string{"id", "accounts.json"} {
		if err := os.Remove(filepath.Join(home, "profile", file)); err != nil && !os.IsNotExist(err) {
			d.t.Fatal(err)
		}
	}
	return filepath.Join(home, "profile")
}

// finishAll calls generate with each profile until all are answered: what one
// has released only that one may send again.
func (d *desk) finishAll(profiles, names []string) {
	d.t.Helper()
	args := []string{"generate", "--wait=10s"}
	for _, name := range names {
		args = append(args, name+".prompt")
	}
	for end := time.Now().Add(3 * time.Minute); ; {
		for _, profile := range profiles {
			code, out := d.run([]string{"WATCHER_PROFILE=" + profile}, args...)
			if code == codeDone {
				return
			}
			if code != codeInProgress && code != codeQueued || time.Now().After(end) {
				d.t.Fatalf("exit code %d\n%s", code, out)
			}
		}
	}
}
