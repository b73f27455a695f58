package watch

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"watcher/state"
)

// Config says what an Agent watches and how patient it is. Start from
// [Defaults]: a zero duration is a value here, not "use the default".
type Config struct {
	Chat Chat           // where prompts go
	Log  zerolog.Logger // one line per change; never prompt or answer text
	ID   string         // 8 or more hex digits, one per profile: names temporary files

	Roots        []string // the folders that Run watches
	Recursive    bool     // watch their subfolders too
	RequireReady bool     // a prompt waits for its name.prompt.ready
	// PlainText says that no prompt has options: whatever it begins with is
	// text.
	PlainText bool

	Settle time.Duration // two equal looks at a prompt are this far apart
	// LeaselessSettle is the least Settle where nothing tells whether a file
	// is still open for writing.
	LeaselessSettle time.Duration

	Rescan  time.Duration // every folder is looked at this often, events or not
	Poll    time.Duration // between two reads of an unanswered chat
	Grace   time.Duration // after which a prompt that may have left has arrived or never will
	Stall   time.Duration // an answer that did not grow for so long has failed
	Expire  time.Duration // a chat without an answer for so long has failed
	SendGap time.Duration // between two sends
	// Patience is how long Step waits for its turn to send before it
	// reports "in progress".
	Patience time.Duration
	// StopGrace is how long a send that is past its commit may take to end
	// cleanly once Run's context has ended. One before it is abandoned at once.
	StopGrace time.Duration
	InFlight  int // at most so many of our chats are unanswered
	// CheckFile, if set, says why a file cannot go with a prompt, by its name and
	// its size in bytes.
	CheckFile func(name string, size int64) error
	// Scratch is a folder of the program's own for copies of what goes with a
	// prompt; empty: the system's for temporary files.
	Scratch string
	// Fallback says which prompts go to another engine; the zero one lets none.
	Fallback Fallback
	MaxChars int // characters (Unicode code points) of the longest prompt that is sent; 0: no limit

	// Events opens the source of file events; nil means fsnotify. Events only
	// make the agent look sooner: without any, all still works by rescans. The
	// source kicks with a folder, "" for all, and with the name of a job's file
	// in it where a look at that job will do, else "".
	Events func(kick func(dir, file string)) (Source, error)
	// Progress, if set, hears about every send and read. It must not block.
	Progress func(Progress)
	// Pause is the one to begin with: an earlier run of the program, on the
	// same account, met it. The zero Pause is none.
	Pause Pause
	// OnPause, if set, hears when the queue's pause begins, changes or ends
	// (a zero Pause). It must not block.
	OnPause func(Pause)
	// Observe, if set, hears what the agent did. It must not block for long.
	Observe func(Event)
	// Ending, if set, is called before the file that ends a job becomes visible:
	// kind is EventDone or EventFailed. So what it notes is there whenever the
	// program dies. The file may still not come; then it is called again.
	Ending func(job, kind, class string)
	// Pace, if set, keeps SendGap and InFlight over the end of a program.
	Pace Pace
	// DirOptions are passed to state.OpenDir.
	DirOptions []state.Option

	mountOf func(path string) string // tests replace it
}

// Progress is a moment of one job, for a live line on a terminal.
type Progress struct {
	Job        string        // path of the prompt without its suffix
	Phase      string        // "sending", "waiting", "done", "failed"
	Elapsed    time.Duration // since this process began to work on the job
	Characters int           // of the answer, so far
}

// Pause says why nothing is sent now.
type Pause struct {
	Class  string    // a failure class; empty when there is no pause
	Reason string    // for a person
	Hint   string    // what a person can do; may be empty
	Person bool      // a person must act: waiting alone changes nothing
	Since  time.Time // when it began
	Until  time.Time // when the next careful attempt is made
	Fails  int       // how many attempts failed so far
}

// Defaults returns the design's values, with no chat, log, id or folders.
func Defaults() Config {
	return Config{
		Log:             zerolog.Nop(),
		Recursive:       true,
		Settle:          2 * time.Second,
		LeaselessSettle: 10 * time.Second,
		Rescan:          30 * time.Second,
		Poll:            time.Minute,
		Grace:           2 * time.Minute,
		Stall:           30 * time.Minute,
		Expire:          24 * time.Hour,
		SendGap:         30 * time.Second,
		Patience:        90 * time.Second,
		StopGrace:       15 * time.Second,
		InFlight:        3,
	}
}

// check refuses a configuration that cannot work, and makes the roots' paths
// absolute: the folder a job is in must not depend on a later chdir.
func (c *Config) check() error {
	if c.Chat == nil {
		return errors.New("set up the agent: no chat given")
	}
	for _, d := range []struct {
		name string
		v    time.Duration
		zero bool
	}{
		{"settle", c.Settle, true}, {"leaseless settle", c.LeaselessSettle, true}, {"rescan", c.Rescan, false}, {"poll", c.Poll, false},
		{"grace", c.Grace, false}, {"stall", c.Stall, false}, {"expire", c.Expire, false},
		{"send gap", c.SendGap, true}, {"patience", c.Patience, true}, {"stop grace", c.StopGrace, true},
	} {
		if d.v < 0 || d.v == 0 && !d.zero {
			return fmt.Errorf("set up the agent: the %s time is %v, it must be longer", d.name, d.v)
		}
	}
	if c.InFlight < 1 {
		return fmt.Errorf("set up the agent: %d chats in flight, at least 1 is needed", c.InFlight)
	}
	if c.MaxChars < 0 {
		return fmt.Errorf("set up the agent: prompts of at most %d characters; 0 means no limit", c.MaxChars)
	}
	if err := c.Fallback.check(); err != nil {
		return err
	}
	roots := make([]string, len(c.Roots))
	for i, r := range c.Roots {
		abs, err := filepath.Abs(r)
		if err != nil {
			return fmt.Errorf("set up the agent: find folder %q: %w", r, err)
		}
		roots[i] = abs
	}
	c.Roots = roots
	if c.mountOf == nil {
		c.mountOf = mountOf
	}
	if c.Events == nil {
		c.Events = openNotify
	}
	return nil
}

// gap is the least time between the two reads that together prove a chat
// empty.
func (c *Config) gap() time.Duration { return min(30*time.Second, c.Grace/4) }
