package main

import (
	"github.com/spf13/cobra"

	"watcher/state"
)

// addCompletions says what a shell offers for the arguments and flags of each
// command. The scripts for the shells are cobra's: 'watcher completion bash'.
func addCompletions(root *cobra.Command) {
	for name, offer := range map[string]cobra.CompletionFunc{
		"run": completeFolders, "status": completeFolders, "doctor": completeFolders, "clean": completeFolders,
		"generate": completeJobs(state.New, state.Sent, state.Failed),
		"hold":     completeJobs(state.New), "release": completeJobs(state.New),
		"cancel": completeJobs(state.New, state.Sent),
		"retry":  completeJobs(state.Sent, state.Failed, state.Done),
		"open":   completeJobs(state.Sent, state.Failed, state.Done),
	} {
		if c, _, err := root.Find([]string{name}); err == nil {
			c.ValidArgsFunction = offer
		}
	}
	for flag, values := range map[string][]cobra.Completion{
		"thinking": {"auto", "on", "off"}, "search": {"on", "off"}, "browser": {"headless-shell"},
		"log-format": {"console", "json"}, "log-level": {"debug", "info", "warn", "error"},
	} {
		directive := cobra.ShellCompDirectiveNoFileComp
		if flag == "browser" {
			directive = cobra.ShellCompDirectiveDefault // or a path
		}
		// The flags exist: app.command has made them.
		_ = root.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, directive))
	}
	_ = root.MarkPersistentFlagDirname("profile")
	_ = root.MarkPersistentFlagFilename("site-file", "json")
}
