package watch

import (
	"context"
	"errors"
	"sync"
)

// ErrNotRunning is returned by Step when no Run is under way.
var ErrNotRunning = errors.New("the agent is not running")

// Agent sends prompts and collects answers. Its methods may be called from
// several goroutines.
type Agent struct {
	cfg  Config
	asks chan *ask
	kick chan struct{} // capacity 1: "look again"

	surveys chan chan<- Survey

	mu    sync.Mutex
	live  chan struct{}       // open while a loop runs, nil before the first
	dirty map[string]stir     // folders to look at again; "" means all
	poked map[string]struct{} // addresses to read at once
	retry bool                // forget every pause
}

// New checks the configuration. It starts nothing and touches no file.
func New(cfg Config) (*Agent, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Agent{
		cfg:     cfg,
		asks:    make(chan *ask),
		kick:    make(chan struct{}, 1),
		surveys: make(chan chan<- Survey),
		dirty:   map[string]stir{},
		poked:   map[string]struct{}{},
	}, nil
}

// Run watches the configured folders until ctx ends, and returns when all its
// goroutines have ended. A folder that is missing is waited for. The error is
// nil after a normal end.
func (a *Agent) Run(ctx context.Context) error {
	live, err := a.begin()
	if err != nil {
		return err
	}
	defer close(live)
	newLoop(a, a.cfg.Roots).run(ctx)
	return nil
}

// begin claims the one loop that may run at a time.
func (a *Agent) begin() (chan struct{}, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running() {
		return nil, errors.New("run the agent: it is running already")
	}
	a.live = make(chan struct{})
	return a.live, nil
}

// running needs mu.
func (a *Agent) running() bool {
	if a.live == nil {
		return false
	}
	select {
	case <-a.live:
		return false
	default:
		return true
	}
}

// Kick makes a running agent look at all its folders again.
func (a *Agent) Kick() { a.look("", "") }

// stir is the names in a folder that something happened to; nil means that all
// of it has to be looked at.
type stir map[string]struct{}

// mostFiles is how many files of one folder are looked at one by one.
const mostFiles = 64

// look marks one folder ("" for all) as changed, or one file in it. It never
// blocks.
func (a *Agent) look(dir, file string) {
	a.mu.Lock()
	list, known := a.dirty[dir]
	switch {
	case file == "" || known && (list == nil || len(list) >= mostFiles):
		a.dirty[dir] = nil
	case !known:
		a.dirty[dir] = stir{file: {}}
	default:
		list[file] = struct{}{}
	}
	a.mu.Unlock()
	a.wake()
}

// Poke asks for a read of the chat at once: the page that sent the prompt saw
// the stream of its answer end.
func (a *Agent) Poke(address string) {
	a.mu.Lock()
	a.poked[address] = struct{}{}
	a.mu.Unlock()
	a.wake()
}

// Resume forgets every pause, so that the next send is tried now.
func (a *Agent) Resume() {
	a.mu.Lock()
	a.retry = true
	a.mu.Unlock()
	a.wake()
}

func (a *Agent) wake() {
	select {
	case a.kick <- struct{}{}:
	default: // one is waiting already, and says the same
	}
}

// Step takes one prompt one step further in a running agent: it is sent, or
// its chat is read, or its state is reported. The file need not be in a folder
// that is watched. When ctx ends, the state so far is returned with its error.
func (a *Agent) Step(ctx context.Context, file string) (Result, error) {
	return a.request(ctx, file, false, false)
}

// Generate does Step for each file, in a loop of its own unless Run is under
// way, and stays for a send whose outcome has to be proved. The results stand
// in the order of the files.
func (a *Agent) Generate(ctx context.Context, files ...string) ([]Result, error) {
	return a.all(ctx, files, false)
}

// Wait is Generate that goes on until each file is done, has failed, or cannot
// be sent. When ctx ends, the states so far are returned with its error.
func (a *Agent) Wait(ctx context.Context, files ...string) ([]Result, error) {
	return a.all(ctx, files, true)
}

func (a *Agent) all(ctx context.Context, files []string, wait bool) ([]Result, error) {
	var loop, asked sync.WaitGroup
	actx := ctx
	if live, err := a.begin(); err == nil {
		// The loop answers every open request when it ends, after the order
		// in hand: so the requests need not watch ctx themselves.
		actx = context.WithoutCancel(ctx)
		lctx, stop := context.WithCancel(ctx)
		loop.Go(func() { defer close(live); newLoop(a, nil).run(lctx) })
		defer loop.Wait()
		defer stop()
	}
	results, errs := make([]Result, len(files)), make([]error, len(files))
	for i, file := range files {
		asked.Go(func() { results[i], errs[i] = a.request(actx, file, true, wait) })
	}
	asked.Wait()
	return results, errors.Join(errs...)
}

// request hands one ask to the loop and waits for its answer.
func (a *Agent) request(ctx context.Context, file string, stay, wait bool) (Result, error) {
	k, err := newAsk(ctx, file, stay, wait)
	if err != nil {
		return Result{File: file}, err
	}
	a.mu.Lock()
	live, running := a.live, a.running()
	a.mu.Unlock()
	if !running {
		return Result{File: file}, ErrNotRunning
	}
	select {
	case a.asks <- k:
	case <-live:
		return Result{File: file}, ErrNotRunning
	case <-ctx.Done():
		return Result{File: file}, ctx.Err()
	}
	defer context.AfterFunc(ctx, a.wake)()
	select {
	case r := <-k.reply:
		return r.Result, r.err
	case <-live: // the loop answers before it ends; this is for a lost race
		select {
		case r := <-k.reply:
			return r.Result, r.err
		default:
			return Result{File: file}, ErrNotRunning
		}
	}
}

// take empties what the callers of Kick, Poke and Resume left.
func (a *Agent) take() (dirty map[string]stir, poked map[string]struct{}, retry bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	dirty, poked, retry = a.dirty, a.poked, a.retry
	a.dirty, a.poked, a.retry = map[string]stir{}, map[string]struct{}{}, false
	return dirty, poked, retry
}
