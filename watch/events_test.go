package watch_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"watcher/state"
	"watcher/watch"
	"watcher/watch/watchtest"
)

// told starts the agent, whose events the test gives: tell lets it act on one.
func (r *rig) told() (tell func(file string), kick func(dir, file string)) {
	given := make(chan func(dir, file string), 1)
	r.cfg.Events = func(k func(dir, file string)) (watch.Source, error) {
		given <- k
		return watchtest.NoEvents(k)
	}
	r.running()
	kick = <-given
	pass(time.Second)
	return func(file string) { kick(r.dir, file); pass(10 * time.Millisecond) }, kick
}

// A prompt that is written over as it rests is sent a settle time after its
// last byte, where an event tells of that.
func TestEventBeginsTheSettling(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = time.Hour
		tell, _ := r.told()
		r.write("a.prompt", "first")
		tell("a.prompt")
		pass(r.cfg.Settle * 9 / 10)
		r.write("a.prompt", "second, which is longer")
		tell("a.prompt")
		pass(r.cfg.Settle * 9 / 10)
		r.unsent("a")
		pass(r.cfg.Settle / 4)
		if r.chat.Count("second, which is longer") != 1 || r.chat.Count("first") != 0 {
			t.Errorf("sent: %v\n%s", r.chat.Accepted(), r.log)
		}
	})
}

// An event makes the agent look at its job alone, whatever the folder holds.
func TestEventReadsNoFolder(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = time.Hour
		lists := 0
		r.cfg.DirOptions = []state.Option{state.WithStep(func(step string) error {
			if step == state.StepList {
				lists++
			}
			return nil
		})}
		tell, kick := r.told()
		before := lists
		for i := range 5 {
			name := fmt.Sprint("p", i)
			r.write(name+".prompt", "prompt "+name)
			tell(name + ".prompt")
			pass(5 * time.Minute)
			r.answered(name, "prompt "+name)
		}
		if lists != before {
			t.Errorf("the folder was read %d times", lists-before)
		}
		// More at once than are worth a look each.
		for i := range 200 {
			name := fmt.Sprintf("q%03d", i)
			r.write(name+".prompt", "prompt "+name)
			kick(r.dir, name+".prompt")
		}
		pass(time.Minute)
		if n := lists - before; n < 1 || n > 3 {
			t.Errorf("the folder was read %d times for 200 files at once", n)
		}
		if n := r.logged("new prompt"); n != 205 {
			t.Errorf("%d were found", n)
		}
	})
}

// What an event names may be anything.
func TestEventsOfAllKinds(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan = time.Hour
		tell, _ := r.told()
		r.write("README.md", "no job's")
		r.write("x (1).prompt", "a second copy")
		for _, file := range []string{"README.md", "nothing.prompt", "x (1).prompt", "not ours", strings.Repeat("n", 300) + ".prompt", "../x.prompt", ""} {
			tell(file)
		}
		if r.logged("answered") != 0 || r.logged("second copy") != 1 {
			t.Errorf("log:\n%s", r.log)
		}
		r.write("a.prompt", "hello")
		r.write("a.prompt.hold", "")
		tell("a.prompt")
		pass(time.Minute)
		r.unsent("a")
		r.remove("a.prompt.hold")
		tell("")
		pass(5 * time.Minute)
		r.answered("a", "hello")
		// Two events of one job while its order is in hand.
		r.chat.Script(plan(watchtest.Plan{Takes: 10 * time.Second}))
		r.write("b.prompt", "slow")
		tell("b.prompt")
		pass(40 * time.Second)
		tell("b.md.url")
		tell("b.prompt")
		pass(5 * time.Minute)
		r.answered("b", "slow")
	})
}

// A tool that takes the markers and writes the prompts anew: the events name
// the prompts, one after the other, and no scan comes between.
func TestEventsOfPromptsWhoseMarkersAreGone(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Rescan, r.cfg.SendGap = time.Hour, 0
		tell, _ := r.told()
		var names []string
		for i := range 4 {
			names = append(names, fmt.Sprint("p", i))
			r.write(names[i]+".prompt", "prompt "+names[i])
			tell(names[i] + ".prompt")
			pass(2 * time.Minute)
			r.answered(names[i], "prompt "+names[i])
		}
		for _, name := range names {
			r.remove(name+".md.url", name+".md")
			r.write(name+".prompt", "prompt "+name)
		}
		for _, name := range names {
			tell(name + ".prompt")
		}
		pass(3 * time.Hour)
		if n := len(r.chat.Accepted()); n != 4 {
			t.Errorf("%d sends, want 4\n%s", n, r.log)
		}
		if !strings.Contains(r.read("watcher.paused"), watch.ClassKeysGone) {
			t.Errorf("the folder is not paused:\n%s", r.log)
		}
	})
}

// A folder that is trusted not to have changed: the jobs in it go on, and the
// next rescan finds what came without an event.
func TestTrustedFolder(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		read := 0
		r.cfg.DirOptions = []state.Option{state.WithStep(func(step string) error {
			if step == state.StepList {
				read++
			}
			return nil
		})}
		r.write("a.prompt", "")
		r.running()
		pass(time.Minute)
		// For the kernel, time passes only if it does.
		for left := unix.NsecToTimespec(int64(1100 * time.Millisecond)); unix.Nanosleep(&left, &left) == unix.EINTR; {
		}
		pass(2 * r.cfg.Rescan)
		before := read
		pass(10 * r.cfg.Rescan)
		if read != before && !t.Failed() {
			t.Logf("read %d times: no exact times here", read-before)
		}
		if err := os.Truncate(r.path("a.prompt"), 5); err != nil { // no name changes
			t.Fatal(err)
		}
		r.write("a.prompt", "hello")
		pass(3 * time.Minute)
		r.answered("a", "hello")
		r.write("b.prompt", "more")
		pass(3 * time.Minute)
		r.answered("b", "more")
	})
}
