package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"watcher/watch"
)

func (a *app) runCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "run DIR...",
		Short: "Watch folders until a signal comes",
		Long: `run watches the folders, sends each new prompt once and writes each answer.
The first SIGINT or SIGTERM finishes or undoes the send that is under way and
leaves; the second quits at once. Nothing is lost either way.`,
		Example: "  watcher run ~/articles\n  watcher run --poll 30s --in-flight 2 drafts reviews",
		Args:    needArgs("folder"),
		RunE:    func(c *cobra.Command, dirs []string) error { return a.run(c.Context(), dirs) },
	}
}

// run watches until ctx ends; a signal is its ordinary end.
func (a *app) run(ctx context.Context, dirs []string) error {
	for _, dir := range dirs {
		if err := isFolder(dir); err != nil {
			return err
		}
	}
	profile, err := a.set.profileDir()
	if err != nil {
		return err
	}
	live := a.newLive()
	defer live.clear()
	log := a.set.logger(live, zerolog.InfoLevel)
	a.loginEnds = func(expires time.Time) {
		log.Warn().Time("until", expires).Str("hint", "run 'watcher login'").Msg("the login ends soon")
	}
	for {
		err := a.watch(ctx, profile, dirs, live, log)
		if ctx.Err() != nil {
			log.Info().Msg("stopped")
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// watch takes the profile and watches until ctx ends, or until another program
// of this user asked for the profile and has given it back.
func (a *app) watch(ctx context.Context, profile string, dirs []string, live *live, log zerolog.Logger) error {
	s, err := a.waitSession(ctx, profile, log, func(c *watch.Config) {
		c.Roots = dirs
		c.Progress = live.progress
	})
	if err != nil {
		return err
	}
	h, err := listen(profile, holderInfo{PID: os.Getpid(), Command: "run", Folders: dirs})
	if err != nil {
		s.close()
		return err
	}
	defer h.close()
	h.choices = a.set.choices
	h.use(s.agent)
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.agent.Run(running) }()
	log.Info().Strs("folders", dirs).Str("site", a.set.site).Msg("watching")

	var y *yielding
	select {
	case err = <-ended:
	case y = <-h.yield:
		log.Info().Msg("another program asks for the profile; pausing")
		stop()
		err = <-ended
	}
	h.use(nil)
	s.close()
	if y == nil || err != nil {
		return err
	}
	y.wait(ctx)
	return nil
}

// isFolder refuses at start what can't be watched: a mistyped name should not
// be waited for. One that vanishes later is.
func isFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case os.IsNotExist(err):
		return usagef("watch %s: there is no such folder", dir)
	case err != nil:
		return usagef("watch %s: %v", dir, err)
	case !info.IsDir():
		return usagef("watch %s: it is not a folder; for one file use 'watcher generate %s'", dir, dir)
	}
	f, err := os.Open(dir)
	if err != nil {
		return usageError{fmt.Errorf("watch %s: %w", dir, err)}
	}
	return f.Close()
}
