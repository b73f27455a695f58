package qwen

import (
	"fmt"
	"sync"
	"time"
)

// Life bounds how a browser is used over months. A zero value of a field sets
// no bound.
type Life struct {
	Idle   time.Duration // it is closed when nothing was asked of it for so long
	Jobs   int           // it is replaced after so many sends
	Age    time.Duration // it is replaced after so long
	Memory int64         // it is replaced when it uses more bytes than this (see [Health])
}

// DefaultLife suits a daemon that is left alone: a start costs a second of
// work, an open browser 0.2 to 0.5 GB of memory.
func DefaultLife() Life {
	return Life{Idle: 5 * time.Minute, Jobs: 200, Age: 24 * time.Hour, Memory: 1500 << 20}
}

// How a browser that keeps dying is treated. One that lived for healthyLife, or
// was ended by us after healthyStay, begins a new count; deathsFree in a row are
// bad luck; then each next start waits twice as long.
const (
	healthyLife  = 10 * time.Minute
	healthyStay  = time.Minute
	deathsFree   = 5
	firstPenance = 30 * time.Second
	mostPenance  = 15 * time.Minute
)

// streamLongest is how long an answer's stream may keep a browser from being
// closed or replaced. Without the stream the answer is found by the next poll.
const streamLongest = time.Hour

// keeper counts what a browser has been through. It decides when one has served
// long enough, and when the next may be started after others died; it holds
// none itself. Its methods may be called from several goroutines.
type keeper struct {
	limits Life

	mu        sync.Mutex
	running   bool
	born      time.Time // when the browser was started
	sends     int       // prompts that it was given
	row       int       // deaths in a row
	notBefore time.Time // of the next start
	starts    int
	deaths    int
	recycled  int
}

// started notes a browser that runs.
func (k *keeper) started(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running, k.born, k.sends = true, now, 0
	k.starts++
}

// ended notes that it runs no longer; inOrder, that we ended it.
func (k *keeper) ended(inOrder bool, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if inOrder && k.running && now.Sub(k.born) >= healthyStay {
		k.row = 0
	}
	k.running = false
}

// forgive forgets the deaths in a row: whoever uses the driver begins anew.
func (k *keeper) forgive() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.row, k.notBefore = 0, time.Time{}
}

// died notes that the browser, or the page's process in it, which was born then,
// ended by itself. It returns how many did so in a row.
func (k *keeper) died(born, now time.Time) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.deaths++
	if now.Sub(born) >= healthyLife {
		k.row = 0
	}
	k.row++
	if late := k.row - deathsFree; late > 0 {
		// 30 s, doubled five times, is over the longest: more would overflow.
		k.notBefore = now.Add(min(firstPenance<<min(late-1, 5), mostPenance))
	}
	return k.row
}

// mayStart is nil when a browser may be started now, else the error to give.
func (k *keeper) mayStart(now time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !now.Before(k.notBefore) {
		return nil
	}
	e := fail(KindBrowser, "start the browser", "it died %d times in a row soon after its start; the next start is at %s",
		k.row, k.notBefore.Local().Format(time.TimeOnly))
	e.When = k.notBefore
	e.Advice = "free memory or disk, or try another browser (--browser); 'watcher doctor' looks at it"
	return e
}

// sent notes that the browser was given a prompt.
func (k *keeper) sent() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sends++
}

// usage is what is to be known of a running browser beside its history.
type usage struct {
	memory   int64 // bytes; 0 if unknown
	replaced bool  // the program that runs is not the one on the disk any more
	watching bool  // an answer's stream is followed
}

// worn says why the browser should be replaced before it is used again; "" if
// it should not. While a stream is followed only memory far above its bound
// counts.
func (k *keeper) worn(u usage, now time.Time) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	over := k.limits.Memory > 0 && u.memory > k.limits.Memory
	far := over && u.memory-k.limits.Memory > k.limits.Memory/2
	switch {
	case !k.running || u.watching && !far:
		return ""
	case over:
		return fmt.Sprintf("it uses %d MB of memory, and %d are allowed", u.memory>>20, k.limits.Memory>>20)
	case u.replaced:
		return "its program was replaced, as an upgrade does"
	case k.limits.Jobs > 0 && k.sends >= k.limits.Jobs:
		return fmt.Sprintf("it was given %d prompts", k.sends)
	case k.limits.Age > 0 && now.Sub(k.born) >= k.limits.Age:
		return fmt.Sprintf("it has run for %v", now.Sub(k.born).Round(time.Second))
	}
	return ""
}

// replace notes that the browser is ended so that another takes its place.
func (k *keeper) replace() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.recycled++
}
