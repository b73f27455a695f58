package main

import (
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// app is one call of the program: its streams and its settings.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	set            settings

	// loginEnds is told when a login ends soon; nil where the command says so
	// itself, at its end.
	loginEnds func(time.Time)
}

// buildCommands are further ones, which only the program that the build runs has.
var buildCommands []func(*app) *cobra.Command

// command builds the command tree.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "watcher",
		Short: "Drop a .prompt file in a folder, get the answer as .md, sent exactly once",
		Long: `watcher sends each name.prompt of a folder to chat.qwen.ai exactly once, through
a real browser, and writes the answer to name.md.

  name.prompt   yours: the text
  name.md.url   it may have been sent: the chat's address
  name.md       it is done: the answer
  name.md.err   it failed: why, and the command to go on

Every flag is also an environment variable: --send-gap is WATCHER_SEND_GAP.`,
		Example: `  watcher login
  watcher run ~/outbox
  echo 'What does fsync promise?' > fsync.prompt && watcher generate --wait fsync.prompt`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE: func(*cobra.Command, []string) error {
			return usagef("no command given: 'watcher run DIR' watches a folder, 'watcher generate FILE' takes one step")
		},
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if err := fromEnvironment(c.Flags()); err != nil {
				return err
			}
			return a.set.finish(c.Flags())
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	a.set.register(root.PersistentFlags())
	root.AddCommand(a.runCommand(), a.generateCommand(), a.statusCommand(),
		a.holdCommand(), a.releaseCommand(), a.cancelCommand(), a.retryCommand(), a.loginCommand(), a.versionCommand(),
		a.doctorCommand(), a.doctorHoldCommand(), a.evidenceCommand(), a.logoutCommand(),
		a.openCommand(), a.cleanCommand())
	for _, more := range buildCommands {
		root.AddCommand(more(a))
	}
	addCompletions(root)
	return root
}

// fromEnvironment sets each flag that was not given from its variable.
func fromEnvironment(flags *pflag.FlagSet) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		name := "WATCHER_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value, ok := os.LookupEnv(name)
		if !ok || f.Changed || failed != nil {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			failed = usagef("%s=%q: %v", name, value, err)
		}
	})
	return failed
}

// terminal reports whether the stream is a terminal.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// needArgs demands at least one argument, by name.
func needArgs(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("%s: name at least one %s", c.Name(), what)
		}
		return nil
	}
}

// noArgs refuses arguments; for the program itself, one is a mistyped command.
func noArgs(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case c.HasParent():
		return usagef("%s: it takes no arguments, got %q", c.Name(), args[0])
	}
	return usagef("there is no command %q", args[0])
}
