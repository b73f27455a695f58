package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"watcher/qwen"
	"watcher/router"
	"watcher/state"
	"watcher/watch"
)

// The agent's interface and the router must fit without either knowing the other.
var _ watch.Engine = (*router.Client)(nil)

// fallback are the flags of another engine.
type fallback struct {
	url, model, keyFile, on string
	retry                   bool

	classes []string // of on; set by finish
	engine  *router.Client
}

// routerAccount is under which name a profile keeps the owner's id of its calls
// to another engine. No site has such an account.
const routerAccount = "(router)"

func (f *fallback) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.url, "fallback", router.DefaultURL, "base address of another engine that is OpenAI-compatible (docs/router.md)")
	flags.StringVar(&f.model, "fallback-model", "", "its model; without one there is no other engine")
	flags.StringVar(&f.keyFile, "fallback-key-file", "", "file with its key alone, chmod 600 (default: a placeholder is sent)")
	flags.StringVar(&f.on, "fallback-on", "quota,challenge,login", "classes of a pause or a failure for which a prompt goes there; none: only prompts that ask for it")
	flags.BoolVar(&f.retry, "fallback-retry", false, "ask again where a call was cut off and may have been done; it may be paid for twice")
}

// finish checks the flags. Without a model there is nothing to check.
func (f *fallback) finish(flags *pflag.FlagSet) error {
	if f.model == "" {
		for _, name := range []string{"fallback", "fallback-key-file", "fallback-on", "fallback-retry"} {
			if flags.Changed(name) {
				return usagef("--%s: name the other engine's model, too: --fallback-model", name)
			}
		}
		return nil
	}
	for _, class := range strings.Split(f.on, ",") {
		switch class = strings.TrimSpace(class); {
		case class == "" || class == "none":
		case !watch.CanFallBack(class):
			return usagef("--fallback-on %q: there is no such class, or no other engine may get such a prompt (docs/router.md)", class)
		default:
			f.classes = append(f.classes, class)
		}
	}
	var err error
	if f.engine, err = router.New(router.Options{URL: f.url, Model: f.model}); err != nil {
		return usageError{err}
	}
	return nil
}

// config is the agent's part of it, as far as it needs no profile.
func (f *fallback) config() watch.Fallback {
	if f.engine == nil {
		return watch.Fallback{}
	}
	return watch.Fallback{Engine: f.engine, On: f.classes, Again: f.retry}
}

// bind adds what needs the profile: the key, who we are, and the engine's pause.
func (f *fallback) bind(c *watch.Config, p *qwen.Profile, log zerolog.Logger) error {
	b := &c.Fallback
	b.Owns = func(by string) bool { return slices.Contains(qwen.Owners(p.Dir()), by) }
	if f.engine == nil {
		return nil
	}
	if f.keyFile != "" {
		key, warning, err := router.ReadKey(f.keyFile)
		if err == nil {
			b.Engine, err = router.New(router.Options{URL: f.url, Model: f.model, Key: key})
		}
		if err != nil {
			return usageError{err}
		}
		if warning != "" {
			log.Warn().Msg(warning)
		}
	}
	var err error
	if b.By, err = p.Owner(routerAccount); err != nil {
		return err
	}
	path := routerPausePath(p.Dir())
	b.Pause = loadPauseFile(path)
	b.OnPause = func(p watch.Pause) {
		if err := savePauseFile(path, p); err != nil {
			log.Warn().Err(err).Msg("cannot keep the other engine's pause for other programs of this profile")
		}
	}
	return nil
}

func routerPausePath(profile string) string { return filepath.Join(profile, "router-pause") }

// takes reports whether prompts go to another engine for the class.
func (f *fallback) takes(class string) bool {
	return f.engine != nil && slices.Contains(f.classes, class)
}

// newNow answers for a new prompt from the files, as far as the pauses of the
// chat and of another engine tell.
func (g *generate) newNow(profile string, j jobFiles, r watch.Result) (watch.Result, bool) {
	f, chat := &g.set.fallback, loadPause(profile)
	own := loadPauseFile(routerPausePath(profile))
	switch {
	case f.engine != nil && j.engine == watch.EngineRouter:
		return pausedNow(own, r)
	case !f.takes(chat.Class) || ownTrouble(chat.Class) || !time.Now().Before(chat.Until):
		return pausedNow(chat, r)
	}
	both, paused := pausedNow(own, r)
	if !paused {
		return r, false
	}
	r, _ = pausedNow(chat, r)
	r.Reason += "; and " + both.Reason
	r.Next = min(r.Next, both.Next)
	return r, true
}

// failedOn reports whether a failed job may go on to another engine. What the
// prompt says by now, the step looks at.
func (g *generate) failedOn(j jobFiles) bool {
	return g.set.fallback.takes(j.failure.Class) && !j.held && !j.routed && time.Now().After(loadedUntil(g.set))
}

// loadedUntil is when another engine may be tried again.
func loadedUntil(s settings) time.Time {
	dir, err := s.profileDir()
	if err != nil {
		return time.Time{}
	}
	return loadPauseFile(routerPausePath(dir)).Until
}

// askedElsewhere says what a marker of another engine means while there is no
// answer.
func askedElsewhere(m state.Marker, at bool) string {
	if at {
		return "another engine is asked for it, or was when the program was stopped"
	}
	return fmt.Sprintf("another engine was asked (%s); its answer is lost, and the next step says so", m.Address)
}
