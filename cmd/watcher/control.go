package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"watcher/state"
	"watcher/watch"
)

// The control commands do nothing but what a user can do with touch and rm:
// the files are the interface, and whatever runs obeys them.

func (a *app) holdCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "hold FILE|DIR...",
		Short:   "Do not send a prompt, or a whole folder, for now",
		Long:    "hold makes name.prompt.hold, or watcher.hold in a folder. Nothing new is sent while it is there.",
		Example: "  watcher hold article.prompt\n  watcher hold ~/outbox",
		Args:    needArgs("file or folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			return each(args, func(path string) error { return touch(path) }, state.KindHold)
		},
	}
}

func (a *app) releaseCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "release FILE|DIR...",
		Short:   "Send again what was held",
		Long:    "release removes name.prompt.hold, or watcher.hold in a folder.",
		Example: "  watcher release article.prompt",
		Args:    needArgs("file or folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			return each(args, remove, state.KindHold)
		},
	}
}

func (a *app) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel FILE...",
		Short: "Do not send a prompt, or stop waiting for its answer",
		Long: `cancel makes name.prompt.cancel. A prompt that was not sent is not sent; one that
was is no longer waited for, and the site is asked to stop. The program removes
the file to say that it was obeyed.`,
		Example: "  watcher cancel article.prompt",
		Args:    needArgs("file"),
		RunE: func(_ *cobra.Command, args []string) error {
			return each(args, touch, state.KindCancel)
		},
	}
}

func (a *app) retryCommand() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "retry FILE...",
		Short: "Put a prompt's marker and answer aside, and send it again",
		Long: `retry makes name.prompt.retry. The program that sent the prompt puts its
name.md.url, name.md and name.md.err aside (as .1, .2, …), removes name.prompt.retry
to say so, and sends the prompt again: this is a second send.

Only that program obeys. When it is gone for good, or another account sent it,
--force puts the files aside here and now. Stop the other program first: what it
is just sending can't be seen from here.`,
		Example: "  watcher retry article.prompt",
		Args:    needArgs("file"),
		RunE: func(_ *cobra.Command, args []string) error {
			if !force {
				return each(args, touch, state.KindRetry)
			}
			for _, arg := range args {
				if err := forceRetry(arg); err != nil {
					return fmt.Errorf("%s: %w", arg, err)
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&force, "force", false, "do it here, whoever sent the prompt; stop that program first")
	return c
}

// forceRetry does what the owner of a marker does for a .retry.
func forceRetry(arg string) error {
	if _, err := controlFile(arg, state.KindRetry); err != nil {
		return err
	}
	name, _, _ := state.Parse(filepath.Base(arg)) // controlFile has parsed it
	dir, err := state.OpenDir(filepath.Dir(arg), readOnlyOwner)
	if err != nil {
		return err
	}
	defer dir.Close()
	_, err = watch.Retry(dir, name, func(string) bool { return false }, true)
	return err
}

// each does something with the control file of each argument.
func each(args []string, do func(path string) error, kind state.Kind) error {
	for _, arg := range args {
		path, err := controlFile(arg, kind)
		if err != nil {
			return err
		}
		if err := do(path); err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
	}
	return nil
}

// controlFile is the control file of a prompt, or, for a hold, of a folder.
func controlFile(arg string, kind state.Kind) (string, error) {
	if info, err := os.Stat(arg); err == nil && info.IsDir() {
		if kind != state.KindHold {
			return "", usagef("%s: it is a folder; name the prompts", arg)
		}
		return filepath.Join(arg, state.HoldFile), nil
	}
	j, err := lookAt(arg, true) // only its phase is asked for
	if err != nil {
		return "", err
	}
	if j.phase == state.Absent {
		return "", usagef("%s: there is no such file", arg)
	}
	name, _, _ := state.Parse(filepath.Base(arg)) // lookAt has parsed it
	return filepath.Join(filepath.Dir(arg), name.File(kind)), nil
}

// touch makes an empty file, and leaves one that is there alone.
func touch(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// remove removes a file that may not be there.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
