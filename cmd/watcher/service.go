package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"watcher/watch"
)

// daemonFlags are the flags of run alone.
type daemonFlags struct {
	metrics       string
	metricsPublic bool
	onDone        string
	onFail        string
	onPause       string
	hookTimeout   time.Duration
}

// service is one call of run: the work, and what stands around it.
type service struct {
	*app
	profile string
	folders []string
	logs    *logs
	log     zerolog.Logger
	pulse   *pulse
	meter   *meter
	hooks   *hooks
	reopen  chan struct{} // capacity 1: SIGHUP came
}

// newService checks the flags. It starts nothing but the log.
func (a *app) newService(profile string, folders []string, f daemonFlags) (*service, error) {
	if f.metrics != "" {
		if err := checkMetricsAddress(f.metrics, f.metricsPublic); err != nil {
			return nil, err
		}
	}
	list, err := f.hooks()
	if err != nil {
		return nil, err
	}
	logs, err := a.openLog(zerolog.InfoLevel)
	if err != nil {
		return nil, err
	}
	s := &service{app: a, profile: profile, folders: folders, logs: logs, log: logs.Logger,
		pulse: newPulse(logs.Logger), meter: newMeter(profile), reopen: make(chan struct{}, 1)}
	a.loginEnds = func(expires time.Time) {
		s.log.Warn().Time("until", expires).Str("hint", "run 'watcher login'").Msg("the login ends soon")
	}
	s.hooks = &hooks{list: list, dir: hooksDir(profile), timeout: f.hookTimeout, grace: hookGrace, log: s.log,
		ran: s.meter.hook, wake: make(chan struct{}, 1)}
	return s, nil
}

// hooks reads the commands that were asked for.
func (f *daemonFlags) hooks() (map[string]*hook, error) {
	if f.hookTimeout <= 0 {
		return nil, usagef("--hook-timeout %v: it must be longer", f.hookTimeout)
	}
	list := map[string]*hook{}
	for event, text := range map[string]string{hookDone: f.onDone, hookFail: f.onFail, hookPause: f.onPause} {
		if text == "" {
			continue
		}
		h, err := parseHook(event, text)
		if err != nil {
			return nil, err
		}
		list[event] = h
	}
	return list, nil
}

// hangup is what a SIGHUP does. It doesn't wait.
func (s *service) hangup() {
	select {
	case s.reopen <- struct{}{}:
	default:
	}
}

// run watches until ctx ends.
func (s *service) run(ctx context.Context, metrics string) error {
	defer s.logs.close()
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	hooking, endHooks := context.WithCancel(ctx) // their grace begins with the signal
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	defer endHooks()
	group.Go(func() { s.pulse.run(beside) })
	group.Go(func() { s.reload(beside) })
	group.Go(func() { s.hooks.run(hooking) })
	if metrics != "" {
		group.Go(func() { s.meter.serveMetrics(beside, metrics, s.log) })
	}
	defer context.AfterFunc(ctx, s.pulse.stopping)()
	for {
		err := s.watch(ctx)
		if ctx.Err() != nil {
			s.log.Info().Msg("stopped")
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// reload opens the log anew as often as that is asked for.
func (s *service) reload(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.reopen:
			s.pulse.reload(s.logs.reopen)
		}
	}
}

// watch takes the profile and watches until ctx ends, or until another program
// of this user asked for the profile and has given it back.
func (s *service) watch(ctx context.Context) error {
	s.pulse.waits("waiting for the profile")
	session, err := s.waitSession(ctx, s.profile, s.log, s.configure)
	if err != nil {
		return err
	}
	s.pulse.moves("starting")
	h, err := listen(s.profile, holderInfo{PID: os.Getpid(), Command: "run", Folders: s.folders})
	if err != nil {
		session.close()
		return err
	}
	defer h.close()
	h.choices = s.set.choices
	y, err := s.work(ctx, session, h)
	s.pulse.moves("ending the browser")
	session.close()
	if y == nil || err != nil {
		return err
	}
	s.pulse.waits("the profile is given up for a login")
	y.wait(ctx)
	return nil
}

// work runs the session's agent until ctx ends or somebody asks for the profile.
func (s *service) work(ctx context.Context, session *session, h *holder) (*yielding, error) {
	s.hooks.enter()
	defer s.hooks.leave()
	s.meter.use(session)
	defer s.meter.use(nil)
	h.use(session.agent)
	defer h.use(nil)
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- session.agent.Run(running) }()
	s.pulse.works(session.fit)
	s.log.Info().Strs("folders", s.folders).Str("site", s.set.site).Msg("watching")
	select {
	case err := <-ended:
		return nil, err
	case y := <-h.yield:
		s.log.Info().Msg("another program asks for the profile; pausing")
		s.pulse.moves("giving the profile up")
		stop()
		return y, <-ended
	}
}

// configure makes the agent a daemon's.
func (s *service) configure(c *watch.Config) {
	c.Roots = s.folders
	c.Progress = s.logs.live.progress
	c.Observe = s.observe
	c.Ending = s.hooks.ending
}

func (s *service) observe(e watch.Event) {
	if e.Kind == watch.EventScanned {
		s.pulse.ready()
	}
	s.meter.observe(e)
	s.hooks.observe(e)
}

// workLongest is how long one step (a send or a look at a chat) can take at
// most: all of its parts have limits of their own, which add up to less.
const workLongest = 30 * time.Minute

// fit asks the loop and the browser for an answer, and says how the work is.
func (s *session) fit(ctx context.Context) (status string, err error) {
	survey, err := s.agent.Survey(ctx)
	if err != nil {
		return "", fmt.Errorf("the agent's loop does not answer: %w", err)
	}
	if survey.Working > workLongest {
		return "", errors.New("the step in hand has been going on for " + seconds(survey.Working))
	}
	if b, ok := s.driver.(interface{ Alive(context.Context) error }); ok {
		if err := b.Alive(ctx); err != nil {
			return "", err
		}
	}
	status = fmt.Sprintf("%d new, %d sent, %d failed, %d done", survey.New, survey.Sent, survey.Failed, survey.Done)
	if p := survey.Pause; p.Class != "" {
		status += fmt.Sprintf("; paused: %s, next try %s", p.Class, p.Until.Format(time.TimeOnly))
	}
	return status, nil
}
