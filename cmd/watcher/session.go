package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"watcher/qwen"
	"watcher/watch"
)

// The driver must fit the agent's interface without either knowing the other.
var _ interface {
	watch.Chat
	watch.Continuer
} = (*qwen.Client)(nil)

// driver is the chat that the agent talks to; Close ends its browser.
type driver interface {
	watch.Chat
	Close()
}

// session is the profile, the driver and the agent of one command.
type session struct {
	profile *qwen.Profile
	driver  driver
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
	o.LoginEnds = a.loginEnds
	o.Ended = func(address string) { s.agent.Poke(address) }
	if s.driver, err = newDriver(o); err != nil {
		return usageError{err}
	}
	c := a.set.agentConfig(s.driver, id, log)
	bindPause(&c, s.profile.Dir(), log)
	if err := a.set.fallback.bind(&c, s.profile, log); err != nil {
		return err
	}
	c.Pace = openPace(s.profile.Dir(), log)
	c.Scratch = filepath.Join(s.profile.Dir(), "outgoing")
	if err := os.RemoveAll(c.Scratch); err != nil { // what a crash left; nobody else holds the profile
		log.Warn().AnErr("err", err).Msg("cannot remove old copies of attachments")
	}
	change(&c)
	if hook := testHooks.agent; hook != nil {
		hook(&c)
	}
	if s.agent, err = watch.New(c); err != nil {
		return usageError{err}
	}
	return nil
}

// newDriver is the site's driver, or the one that a test puts in its place.
func newDriver(o qwen.Options) (driver, error) {
	if testHooks.driver != nil {
		return testHooks.driver(o), nil
	}
	if testHooks.chat != nil {
		testHooks.chat(&o)
	}
	return qwen.New(o)
}

// testHooks let a test reach into the wiring; the program never sets them.
var testHooks struct {
	driver func(qwen.Options) driver
	chat   func(*qwen.Options)
	agent  func(*watch.Config)
	now    func() time.Time // of what is old
}

// close ends the browser and gives the profile up.
func (s *session) close() {
	s.driver.Close()
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
