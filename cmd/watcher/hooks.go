package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"watcher/watch"
)

// hooks runs commands for what happened, one at a time, apart from the work:
// whatever a command does, no job waits for it or fails by it.
type hooks struct {
	list    map[string]*hook // by event
	dir     string           // PROFILE/hooks
	timeout time.Duration    // for one command
	grace   time.Duration    // for one that runs when the daemon stops
	log     zerolog.Logger
	ran     func(event, result string) // counts

	wake chan struct{} // capacity 1: look again

	mu   sync.Mutex
	open bool       // the profile is ours
	due  []*dueHook // in the order in which they came
}

const (
	// hookGrace is how long a command may go on once the daemon stops, and
	// hookLast how long it has from SIGTERM to SIGKILL.
	hookGrace = 10 * time.Second
	hookLast  = 2 * time.Second
	// hookAgain is when a hook is looked at again whose time has not come.
	hookAgain = time.Minute
	// hookOutput is how much of the end of a command's output is logged.
	hookOutput = 2048
)

// The results of a hook, for counts.
const (
	hookOK      = "ok"
	hookFailed  = "failed"  // it could not be started, or said so by its exit code
	hookTimeout = "timeout" // it was killed
	hookStopped = "stopped" // the daemon stopped, and runs it again when it is back
)

// enter takes over what earlier runs of the program left, as the profile is
// ours from now on; leave says that it is not any more.
func (h *hooks) enter() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = true
	for _, d := range readDue(h.dir) {
		known := slices.ContainsFunc(h.due, func(e *dueHook) bool { return e.key() == d.key() })
		switch {
		case h.list[d.Event] == nil || known: // nobody asks for it now; the next run may
		case d.stale(time.Now()):
			h.forget(d)
		default:
			h.due = append(h.due, d)
		}
	}
	h.kick()
}

func (h *hooks) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = false
}

func (h *hooks) kick() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// ending is called before the file that ends a job becomes visible.
func (h *hooks) ending(job, kind, class string) {
	event := hookDone
	if kind == watch.EventFailed {
		event = hookFail
	}
	h.add(&dueHook{Event: event, Job: []byte(job), Class: class, At: time.Now()})
}

// observe is the agent's news.
func (h *hooks) observe(e watch.Event) {
	switch e.Kind {
	case watch.EventDone, watch.EventFailed:
		h.kick()
	case watch.EventPaused:
		h.add(&dueHook{Event: hookPause, Folder: e.Folder, Class: e.Class, Reason: e.Reason, Hint: e.Hint, At: time.Now()})
		h.kick()
	}
}

// add notes, durably, that a hook has to run. Where that can't be written, it
// still runs unless the program dies first.
func (h *hooks) add(d *dueHook) {
	if h.list[d.Event] == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.due = append(slices.DeleteFunc(h.due, func(e *dueHook) bool { return e.key() == d.key() }), d)
	if err := d.write(h.dir); err != nil {
		h.log.Warn().Err(err).Str("event", d.Event).Msg("cannot note that a hook has to run; it is not made up for after a crash")
	}
}

// forget needs mu.
func (h *hooks) forget(d *dueHook) {
	if err := os.Remove(filepath.Join(h.dir, d.file())); err != nil && !os.IsNotExist(err) {
		h.log.Warn().Err(err).Msg("cannot note that a hook has run; it may run again")
	}
}

// next is the first hook whose time has come, nil if there is none.
func (h *hooks) next(now time.Time) *dueHook {
	h.mu.Lock()
	list, open := slices.Clone(h.due), h.open
	h.mu.Unlock()
	if !open {
		return nil
	}
	for _, d := range list { // without the lock, as a folder may hang
		if !d.later.After(now) && d.ended() {
			return d
		}
	}
	return nil
}

// done forgets a hook that has run, unless the same is due anew.
func (h *hooks) done(d *dueHook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at := slices.Index(h.due, d); at >= 0 {
		h.due = slices.Delete(h.due, at, at+1)
		h.forget(d)
	}
}

// run runs what is due until ctx ends, and then gives the one that runs some
// time. What did not end is due again when the program is back.
func (h *hooks) run(ctx context.Context) {
	// A command ends with the thread that started it, if that comes first: so
	// none is left over when this program is killed.
	runtime.LockOSThread()
	again := time.NewTicker(hookAgain)
	defer again.Stop()
	for ctx.Err() == nil {
		d := h.next(time.Now())
		if d == nil {
			select {
			case <-ctx.Done():
			case <-h.wake:
			case <-again.C:
			}
			continue
		}
		if err := d.sync(); err != nil {
			h.log.Warn().Err(err).Str("event", d.Event).Str("job", string(d.Job)).Msg("hook waits: its file may not be durable")
			d.later = time.Now().Add(hookAgain)
			continue
		}
		if h.call(ctx, d) != hookStopped {
			h.done(d)
		}
	}
}

// call runs one command to its end, and says in the log how that was.
func (h *hooks) call(ctx context.Context, d *dueHook) (result string) {
	began := time.Now()
	output := &lastBytes{limit: hookOutput}
	cmd := h.list[d.Event].command(d.values())
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = hookLast // for what it left behind with its output
	result, err := hookFailed, cmd.Start()
	if err == nil {
		result, err = h.wait(ctx, cmd)
	}
	e := h.log.Info()
	if result != hookOK {
		e = h.log.Warn().AnErr("err", err).Str("result", result)
	}
	if d.Event != hookPause {
		e.Str("job", string(d.Job))
	}
	if d.Class != "" {
		e.Str("class", d.Class)
	}
	if s := output.String(); s != "" {
		e.Str("output", s)
	}
	e.Str("event", d.Event).Str("took", time.Since(began).Round(time.Millisecond).String()).Msg("hook")
	h.ran(d.Event, result)
	return result
}

// wait waits for a command that runs: it has its time limit, and little time
// once ctx ended.
func (h *hooks) wait(ctx context.Context, cmd *exec.Cmd) (string, error) {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	limit := time.NewTimer(h.timeout)
	defer limit.Stop()
	select {
	case err := <-ended:
		return resultOf(err), err
	case <-limit.C:
		endGroup(cmd.Process.Pid, ended)
		return hookTimeout, fmt.Errorf("it did not end within %v", h.timeout)
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return resultOf(err), err
	case <-time.After(h.grace):
		endGroup(cmd.Process.Pid, ended)
		return hookStopped, errors.New("the program stops; the command runs again when it is back")
	}
}

func resultOf(err error) string {
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return hookOK
	}
	return hookFailed
}

// endGroup ends a command and all that it started.
func endGroup(pid int, ended <-chan error) {
	_ = syscall.Kill(-pid, syscall.SIGTERM) // it may have ended just now
	select {
	case <-ended:
	case <-time.After(hookLast):
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		<-ended // WaitDelay bounds this
	}
}

// lastBytes keeps the end of what is written to it.
type lastBytes struct {
	limit int
	mu    sync.Mutex
	b     []byte
}

func (l *lastBytes) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p...)
	if over := len(l.b) - l.limit; over > 0 {
		l.b = slices.Delete(l.b, 0, over)
	}
	return len(p), nil
}

func (l *lastBytes) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.ToValidUTF8(string(bytes.TrimSpace(l.b)), "?")
}
