package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"watcher/state"
)

// clean is one call of the command.
type clean struct {
	*app
	older  ageFlag
	dry    bool
	failed bool
	now    time.Time
	moved  int
	kept   int // jobs that should be moved and could not
}

// ageFlag is a duration that also knows days and weeks.
type ageFlag time.Duration

func (f *ageFlag) String() string {
	d := time.Duration(*f)
	if day := 24 * time.Hour; d > 0 && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	return d.String()
}

// Set reads 30d, 2w, or what durations look like elsewhere.
func (f *ageFlag) Set(s string) error {
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, ok := strings.CutSuffix(s, suffix); ok {
			n, err := strconv.ParseUint(number, 10, 16)
			if err != nil {
				return errors.New("it is an age such as 30d, 2w or 12h")
			}
			*f = ageFlag(time.Duration(n) * unit)
			return nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return errors.New("it is an age such as 30d, 2w or 12h")
	}
	*f = ageFlag(d)
	return nil
}

// Type names the value in the help.
func (f *ageFlag) Type() string { return "age" }

// youngest is the least age of a job that is moved: whoever wrote its last file
// may still be at it.
const youngest = time.Minute

func (a *app) cleanCommand() *cobra.Command {
	g := &clean{app: a, older: ageFlag(30 * 24 * time.Hour)}
	c := &cobra.Command{
		Use:   "clean DIR...",
		Short: "Move finished jobs into the subfolder .archive",
		Long: `clean moves the files of finished jobs, all of each together, into the subfolder
.archive of their folder, where no program looks for jobs. Nothing is deleted or
replaced. A job is moved when none of its files came or changed for --older; one
that was sent and has no answer stays, and so does one that failed, unless
--failed is given. Programs may be at work meanwhile, and clean may be killed at
any moment: wherever a prompt is, its answer is beside it.

To bring one back, move its answer first:

  mv .archive/name.md* . && mv .archive/name.prompt* .`,
		Example: "  watcher clean --dry-run ~/outbox\n  watcher clean --older 1w --failed ~/outbox",
		Args:    needArgs("folder"),
		RunE:    func(c *cobra.Command, dirs []string) error { return g.run(c.Context(), dirs) },
	}
	c.Flags().Var(&g.older, "older", "move what is at least so old: 30d, 2w, 12h; a minute or more")
	c.Flags().BoolVar(&g.dry, "dry-run", false, "only say what would be moved")
	c.Flags().BoolVar(&g.failed, "failed", false, "move jobs that failed, too")
	return c
}

// run moves what is old in each folder, and in its subfolders.
func (g *clean) run(ctx context.Context, dirs []string) error {
	if time.Duration(g.older) < youngest {
		return usagef("--older %s: at least %v, as somebody may still be at younger ones", g.older.String(), youngest)
	}
	g.now = time.Now()
	if testHooks.now != nil {
		g.now = testHooks.now()
	}
	if err := areFolders(dirs); err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := g.folder(ctx, dir); err != nil {
			return err
		}
	}
	verb := "moved"
	if g.dry {
		verb = "would be moved"
	}
	if !g.set.quiet {
		fmt.Fprintf(g.stdout, "%d jobs %s\n", g.moved, verb)
	}
	if g.kept > 0 {
		return exitCode(codeSwitch)
	}
	return nil
}

func (g *clean) folder(ctx context.Context, path string) error {
	dir, err := state.OpenDir(path, readOnlyOwner)
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Finished()
	if err != nil {
		return err
	}
	slices.Sort(names)
	s := &shelves{dir: dir}
	defer s.close()
	for _, name := range names {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := g.job(s, path, name); err != nil {
			g.kept++
			fmt.Fprintf(g.stderr, "watcher: %v\n", err)
		}
	}
	if g.set.recursive {
		for _, sub := range subfolders(path) {
			if err := g.folder(ctx, filepath.Join(path, sub)); err != nil {
				return err
			}
		}
	}
	return nil
}

// job moves one job, if it is to be moved.
func (g *clean) job(s *shelves, path string, name state.Name) error {
	is, err := s.dir.LookSettled(name)
	if err != nil {
		return err
	}
	prompt := filepath.Join(path, name.File(state.KindPrompt))
	switch {
	case is.Phase != state.Done && (is.Phase != state.Failed || !g.failed):
		return nil
	case is.Asks || g.now.Sub(is.Last) < time.Duration(g.older):
		return nil
	case !is.Files.Has(state.KindPrompt) && !is.Files.Has(state.KindMarker) && !s.begun(name):
		return nil // a .md of somebody's
	case is.Odd != "":
		return fmt.Errorf("%s stays: %s", prompt, is.Odd)
	}
	if !g.dry {
		err := s.move(name)
		if errors.Is(err, state.ErrAtWork) {
			return nil // the next call may find it finished
		}
		if err != nil {
			return err
		}
	}
	g.moved++
	if !g.set.quiet {
		fmt.Fprintln(g.stdout, prompt)
	}
	return nil
}

// shelves are the archives of one folder, opened as they are needed. A later one
// takes jobs whose names an earlier one has.
type shelves struct {
	dir  *state.Dir
	open []*state.Dir
}

// mostShelves bounds the jobs of one name that are kept.
const mostShelves = 1000

// move puts a job on the first shelf that has none of its names.
func (s *shelves) move(name state.Name) error {
	for i := 1; ; i++ {
		shelf, err := s.shelf(i)
		if err != nil {
			return err
		}
		err = s.dir.Shelve(name, shelf)
		if !errors.Is(err, state.ErrExists) || i == mostShelves {
			return err
		}
	}
}

// begun reports whether an earlier call was cut off while it moved the job.
func (s *shelves) begun(name state.Name) bool {
	for i := 1; i <= mostShelves && s.dir.HasShelf(i); i++ {
		if shelf, err := s.shelf(i); err == nil && s.dir.Begun(name, shelf) {
			return true
		}
	}
	return false
}

// shelf is the i-th one, from 1.
func (s *shelves) shelf(i int) (*state.Dir, error) {
	for len(s.open) < i {
		shelf, err := s.dir.Shelf(len(s.open) + 1)
		if err != nil {
			return nil, err
		}
		s.open = append(s.open, shelf)
	}
	return s.open[i-1], nil
}

func (s *shelves) close() {
	for _, shelf := range s.open {
		shelf.Close()
	}
}

// completeFolders offers folders.
func completeFolders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}
