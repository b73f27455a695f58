package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) runCommand() *cobra.Command {
	var f daemonFlags
	c := &cobra.Command{
		Use:   "run DIR...",
		Short: "Watch folders until a signal comes",
		Long: `run watches the folders, sends each new prompt once and writes each answer.
The first SIGINT or SIGTERM finishes or undoes the send that is under way and
leaves; the second quits at once. Nothing is lost either way. SIGHUP opens the
log file anew, so a terminal that closes ends nothing.

--on-done, --on-fail and --on-pause each name a command, which is run without a
shell once a job's last file is durable, at least once for each job. In its
words {md} and the like stand for the job's files; its environment has them as
WATCHER_MD and so on. docs/running.md has the list.`,
		Example: `  watcher run ~/articles
  watcher run --poll 30s --in-flight 2 drafts reviews
  watcher run --log-file ~/watcher.log --metrics 127.0.0.1:9311 ~/articles
  watcher run --on-done 'pandoc {md} -o {dir}/{name}.html' ~/articles
  watcher run --on-pause 'sh -c "echo $WATCHER_REASON | mail -s watcher me"' ~/articles`,
		Args: needArgs("folder"),
		RunE: func(c *cobra.Command, dirs []string) error { return a.run(c.Context(), dirs, f) },
	}
	c.Flags().StringVar(&f.metrics, "metrics", "", "serve Prometheus metrics on this address, such as 127.0.0.1:9311")
	c.Flags().BoolVar(&f.metricsPublic, "metrics-public", false, "let --metrics be an address that other machines reach")
	c.Flags().StringVar(&f.onDone, "on-done", "", "command to run when an answer was written")
	c.Flags().StringVar(&f.onFail, "on-fail", "", "command to run when a job failed for good")
	c.Flags().StringVar(&f.onPause, "on-pause", "", "command to run when sending pauses, which may need a person")
	c.Flags().DurationVar(&f.hookTimeout, "hook-timeout", 5*time.Minute, "a command that takes longer is ended")
	return c
}

// run watches until ctx ends; a signal is its ordinary end.
func (a *app) run(ctx context.Context, dirs []string, f daemonFlags) error {
	for _, dir := range dirs {
		if err := isFolder(dir); err != nil {
			return err
		}
	}
	profile, err := a.set.profileDir()
	if err != nil {
		return err
	}
	s, err := a.newService(profile, dirs, f)
	if err != nil {
		return err
	}
	onHangup(ctx, s.hangup)
	return s.run(ctx, f.metrics)
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
		return usagef("watch %s: it is not a folder; name the folder that it lies in", dir)
	}
	f, err := os.Open(dir)
	if err != nil {
		return usageError{fmt.Errorf("watch %s: %w", dir, err)}
	}
	return f.Close()
}
