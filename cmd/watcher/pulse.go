package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"
)

// pulse tells the service manager (systemd, or whoever set NOTIFY_SOCKET) how
// the daemon is. A sign of life is given only after the daemon was asked for
// one and gave it: that a timer of this process still runs proves nothing.
// Without a service manager it does nothing.
type pulse struct {
	notify func(state string) error // nil: nobody listens
	period time.Duration            // in which one sign of life is expected; 0: none is
	log    zerolog.Logger

	mu     sync.Mutex
	stage  pulseStage
	since  time.Time // of the stage
	why    string    // for a person
	probe  func(context.Context) (status string, err error)
	told   bool // READY=1 was sent
	leaves bool // STOPPING=1 was sent
}

// pulseStage is what the daemon is at, as far as its signs of life are concerned.
type pulseStage uint8

const (
	pulseMoves pulseStage = iota // it begins or ends something, which takes some time
	pulseWaits                   // for another program or a person, for as long as it takes
	pulseWorks                   // the probe answers for it
)

// movesLongest is how long the daemon may be between two other stages: ending
// a browser and starting the next is all that happens there.
const movesLongest = 5 * time.Minute

// extendStart is by how much a start is prolonged, again and again, that waits
// for a profile in use.
const extendStart = time.Minute

func newPulse(log zerolog.Logger) *pulse {
	period, err := sd.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn().Err(err).Msg("no watchdog: the service manager's wish is not understood")
	}
	p := &pulse{period: period, log: log, since: time.Now()}
	if os.Getenv("NOTIFY_SOCKET") != "" {
		p.notify = func(state string) error { _, err := sd.SdNotify(false, state); return err }
	}
	return p
}

// moves, waits and works begin a stage.
func (p *pulse) moves(why string) { p.enter(pulseMoves, why, nil) }
func (p *pulse) waits(why string) { p.enter(pulseWaits, why, nil) }
func (p *pulse) works(probe func(context.Context) (string, error)) {
	p.enter(pulseWorks, "watching", probe)
}

func (p *pulse) enter(s pulseStage, why string, probe func(context.Context) (string, error)) {
	p.mu.Lock()
	p.stage, p.since, p.why, p.probe = s, time.Now(), why, probe
	leaves := p.leaves
	p.mu.Unlock()
	if !leaves {
		p.say("STATUS=" + why)
	}
}

// ready tells that the folders were looked at: prompts are seen from now on.
func (p *pulse) ready() {
	p.mu.Lock()
	first := !p.told
	p.told = true
	p.mu.Unlock()
	if first {
		p.say(sd.SdNotifyReady)
	}
}

// reload tells that the configuration is read again while do runs.
func (p *pulse) reload(do func()) {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // it can't fail on Linux
	p.say(fmt.Sprintf("%s\nMONOTONIC_USEC=%d", sd.SdNotifyReloading, now.Nano()/1000))
	do()
	p.mu.Lock()
	told := p.told
	p.mu.Unlock()
	if told {
		p.say(sd.SdNotifyReady)
	}
}

// stopping tells that the end has begun.
func (p *pulse) stopping() {
	p.mu.Lock()
	p.leaves, p.stage, p.since, p.why = true, pulseMoves, time.Now(), "stopping"
	p.mu.Unlock()
	p.say(sd.SdNotifyStopping + "\nSTATUS=stopping")
}

func (p *pulse) say(state string) {
	if p.notify == nil {
		return
	}
	if err := p.notify(state); err != nil {
		p.log.Debug().Err(err).Msg("the service manager does not take word")
	}
}

// run gives signs of life until ctx ends.
func (p *pulse) run(ctx context.Context) {
	if p.notify == nil {
		return
	}
	every := extendStart / 3
	if p.period > 0 {
		every = min(every, p.period/3)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		p.beat(ctx, every)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// beat asks the daemon how it is, at most for so long, and passes that on.
func (p *pulse) beat(ctx context.Context, limit time.Duration) {
	p.mu.Lock()
	told, waits := p.told, p.stage == pulseWaits
	p.mu.Unlock()
	if !told {
		if waits {
			p.say(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", extendStart.Microseconds()))
		}
		return
	}
	status, err := p.ask(ctx, limit)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		p.log.Error().Err(err).Msg("no sign of life for the service manager")
	case p.period > 0:
		p.say(sd.SdNotifyWatchdog + "\nSTATUS=" + status)
	default:
		p.say("STATUS=" + status)
	}
}

// ask is how the daemon is, in a line for people.
func (p *pulse) ask(ctx context.Context, limit time.Duration) (status string, err error) {
	p.mu.Lock()
	at, probe, why, since := p.stage, p.probe, p.why, p.since
	p.mu.Unlock()
	switch {
	case at == pulseWorks:
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return probe(ctx)
	case at == pulseMoves && time.Since(since) > movesLongest:
		return "", errors.New(why + ": that takes too long")
	}
	return why, nil
}
