package main

import (
	"context"
	"fmt"
	"os"

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
	log := a.set.logger(live, zerolog.InfoLevel)
	s, err := a.waitSession(ctx, profile, log, func(c *watch.Config) {
		c.Roots = dirs
		c.Progress = live.progress
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer s.close()
	defer live.clear()
	log.Info().Strs("folders", dirs).Str("site", a.set.site).Msg("watching")
	err = s.agent.Run(ctx)
	log.Info().Msg("stopped")
	return err
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
