package main

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"watcher/qwen"
	"watcher/watch"
)

// The driver must fit the agent's interface without either knowing the other.
var _ watch.Chat = (*qwen.Client)(nil)

// session is the profile, the driver and the agent of one command.
type session struct {
	profile *qwen.Profile
	client  *qwen.Client
	agent   *watch.Agent
}

// openSession takes the profile and wires the driver to the agent. It starts
// no browser: the driver does, when it is first needed.
func (a *app) openSession(dir string, log zerolog.Logger, change func(*watch.Config)) (*session, error) {
	profile, err := qwen.OpenProfile(dir)
	if err != nil {
		return nil, err
	}
	s := &session{profile: profile}
	if err := a.wire(s, log, change); err != nil {
		profile.Close()
		return nil, err
	}
	return s, nil
}

func (a *app) wire(s *session, log zerolog.Logger, change func(*watch.Config)) error {
	id, err := s.profile.ID()
	if err != nil {
		return err
	}
	o := a.set.chatOptions(s.profile, log)
	o.Ended = func(address string) { s.agent.Poke(address) }
	if hook := testHooks.chat; hook != nil {
		hook(&o)
	}
	if s.client, err = qwen.New(o); err != nil {
		return usageError{err}
	}
	c := a.set.agentConfig(s.client, id, log)
	bindPause(&c, s.profile.Dir(), log)
	c.Pace = openPace(s.profile.Dir(), log)
	change(&c)
	if hook := testHooks.agent; hook != nil {
		hook(&c)
	}
	if s.agent, err = watch.New(c); err != nil {
		return usageError{err}
	}
	return nil
}

// testHooks let a test reach into the wiring; the program never sets them.
var testHooks struct {
	chat  func(*qwen.Options)
	agent func(*watch.Config)
}

// close ends the browser and gives the profile up.
func (s *session) close() {
	s.client.Close()
	s.profile.Close()
}

// profileRetry is how often a daemon asks for a profile that is in use.
const profileRetry = time.Second

// waitSession is openSession for a daemon: a profile in use is waited for,
// since the other program may be a short one.
func (a *app) waitSession(ctx context.Context, dir string, log zerolog.Logger, change func(*watch.Config)) (*session, error) {
	for said := false; ; said = true {
		s, err := a.openSession(dir, log, change)
		if err == nil || !errors.Is(err, qwen.ErrHeld) {
			return s, err
		}
		if !said {
			log.Warn().Str("profile", dir).Msg("another program uses this profile; waiting for it")
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(profileRetry):
		}
	}
}
