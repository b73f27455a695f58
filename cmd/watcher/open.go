package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"watcher/qwen"
	"watcher/state"
)

func (a *app) openCommand() *cobra.Command {
	var show bool
	c := &cobra.Command{
		Use:   "open FILE...",
		Short: "Print the address of a prompt's chat, or open it",
		Long: `open prints the address of the chat in which a prompt was sent, as its name.md.url
or name.md.err has it. FILE is any of the job's files, or its name without an end.

With -b it is opened in your own browser (xdg-open), where you must be logged in
to the account that sent it. An address that is no chat of --site is refused:
others may be able to write in the folder.`,
		Example: "  watcher open article.prompt\n  watcher open -b article",
		Args:    needArgs("file"),
		RunE:    func(c *cobra.Command, files []string) error { return a.open(c.Context(), files, show) },
	}
	c.Flags().BoolVarP(&show, "in-browser", "b", false, "open it in your own browser")
	return c
}

// open prints or opens the address of each job.
func (a *app) open(ctx context.Context, files []string, show bool) error {
	for _, file := range files {
		address, err := a.addressOf(file)
		if err != nil {
			return err
		}
		if !show {
			if _, err := fmt.Fprintln(a.stdout, address); err != nil {
				return err
			}
			continue
		}
		if err := openInBrowser(ctx, address); err != nil {
			return fmt.Errorf("open %s: %w; open it by hand", address, err)
		}
	}
	return nil
}

// addressOf is the checked address of the job to which a file belongs.
func (a *app) addressOf(file string) (string, error) {
	prompt := promptOf(file)
	j, err := lookAt(prompt, true) // only its address is asked for
	if err != nil {
		return "", err
	}
	address := j.address
	if address == "" {
		address = j.failure.Address
	}
	switch {
	case j.phase == state.Absent:
		return "", usagef("%s: there is no such job", file)
	case address == "" && j.phase == state.Sent:
		return "", fmt.Errorf("%s: it was sent, and its chat's address is not known yet", file)
	case address == "":
		return "", fmt.Errorf("%s: it has no chat, as it was not sent", file)
	}
	clean, err := qwen.CleanAddress(a.set.site, address)
	if err != nil {
		return "", fmt.Errorf("%s: %w; it is not opened", file, err)
	}
	return clean, nil
}

// promptOf is the prompt of the job that a file belongs to. A name that is none
// of a job's is taken for the job's own.
func promptOf(file string) string {
	dir, base := filepath.Split(file)
	if name, _, ok := state.Parse(base); ok {
		return dir + name.File(state.KindPrompt)
	}
	return file + ".prompt"
}

// openInBrowser hands the address to the desktop. What it starts outlives us.
func openInBrowser(ctx context.Context, address string) error {
	path, err := exec.LookPath("xdg-open")
	if err != nil {
		return errors.New("there is no xdg-open (Debian: apt install xdg-utils)")
	}
	out, err := exec.CommandContext(ctx, path, address).CombinedOutput()
	if err != nil {
		return fmt.Errorf("xdg-open: %w %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// completeJobs offers the prompts of jobs in these phases, and folders.
func completeJobs(phases ...state.Phase) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		folder, begun := filepath.Split(typed)
		at := folder
		if at == "" {
			at = "."
		}
		dir, err := state.OpenDir(at, "")
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer dir.Close()
		var offers []string
		directive := cobra.ShellCompDirectiveNoFileComp
		for _, name := range jobsIn(dir, phases) {
			if strings.HasPrefix(string(name), begun) || strings.HasPrefix(name.File(state.KindPrompt), begun) {
				offers = append(offers, folder+name.File(state.KindPrompt))
			}
		}
		for _, sub := range subfolders(at) {
			if strings.HasPrefix(sub, begun) {
				offers = append(offers, folder+sub+"/")
				directive |= cobra.ShellCompDirectiveNoSpace
			}
		}
		return offers, directive
	}
}

// jobsIn lists the jobs of a folder that are in one of the phases.
func jobsIn(dir *state.Dir, phases []state.Phase) []state.Name {
	var names []state.Name
	wanted := map[state.Phase]bool{}
	for _, p := range phases {
		wanted[p] = true
	}
	list, err := dir.Scan()
	if err != nil {
		return nil
	}
	for name, files := range list.Jobs {
		if wanted[files.Phase()] {
			names = append(names, name)
		}
	}
	if !wanted[state.Done] {
		return names
	}
	finished, err := dir.Finished()
	if err != nil {
		return names
	}
	for _, name := range finished {
		if files, err := dir.Lookup(name); err == nil && files.Phase() == state.Done && files.Has(state.KindMarker) {
			names = append(names, name)
		}
	}
	return names
}

// subfolders lists the folders in a folder, but for those that nobody watches.
func subfolders(path string) (names []string) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}
