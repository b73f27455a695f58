package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"watcher/state"
	"watcher/watch"
)

// jobFiles is what a job's files say, without any program's help.
type jobFiles struct {
	phase   state.Phase
	address string
	doubted string // whose marker says "released": its owner has to find out; "" for any other
	failure state.Failure
	void    bool   // the failure speaks of another text than the prompt's
	held    bool   // its .prompt.hold is there
	engine  string // what a new prompt's options ask for
	routed  bool   // its marker is another engine's
	changed bool   // the prompt is not what was sent any more
	asks    bool   // a .cancel or a .retry waits to be obeyed
}

// lookAt reads what the files of a prompt's job say. plain: no prompt has options.
func lookAt(file string, plain bool) (jobFiles, error) {
	name, kind, ok := state.Parse(filepath.Base(file))
	if !ok || kind != state.KindPrompt {
		return jobFiles{}, usagef("%s: it is not the name of a prompt, which ends in .prompt and begins with no dot", file)
	}
	dir, err := state.OpenDir(filepath.Dir(file), readOnlyOwner)
	if errors.Is(err, fs.ErrNotExist) {
		return jobFiles{}, usagef("%s: there is no such folder", file)
	}
	if err != nil {
		return jobFiles{}, fmt.Errorf("look at %s: %w", file, err)
	}
	defer dir.Close()
	files, err := dir.Lookup(name)
	if err != nil {
		return jobFiles{}, fmt.Errorf("look at %s: %w", file, err)
	}
	j := jobFiles{phase: files.Phase(), asks: files.Has(state.KindCancel) || files.Has(state.KindRetry), held: files.Has(state.KindHold)}
	if files.Has(state.KindMarker) {
		if m, err := dir.Believe(name); err == nil {
			j.address, j.routed = m.Address, m.Engine != ""
			if m.Stage == state.StageReleased {
				j.doubted = m.By
			}
			p, err := watch.ReadPrompt(dir, name, plain)
			j.changed = err == nil && p.Differs(m)
		}
	}
	if j.phase == state.New {
		p, _ := watch.ReadPrompt(dir, name, plain) // what cannot be read, the step tells of
		j.engine = p.Options.Engine
	}
	if j.phase == state.Failed {
		j.readFailure(dir, name, files, plain)
	}
	return j, nil
}

// readOnlyOwner names the temporary files of a look that makes none.
const readOnlyOwner = "00000000"

// readFailure reads name.md.err, and whether it still speaks of the prompt.
func (j *jobFiles) readFailure(dir *state.Dir, name state.Name, files state.Files, plain bool) {
	failure, err := dir.ReadError(name)
	if err != nil {
		j.failure.Sentence = fmt.Sprintf("it failed; why can't be read: %v", err)
		return
	}
	j.failure = failure
	if files.Has(state.KindMarker) {
		return
	}
	p, err := watch.ReadPrompt(dir, name, plain)
	j.void = err == nil && !p.Speaks(failure)
}

// expand replaces each folder by its prompts, in the order of their names.
func (g *generate) expand(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil || !info.IsDir() {
			files = append(files, arg)
			continue
		}
		found, err := prompts(arg, g.set.recursive)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

// prompts lists the jobs of a folder, finished ones too, and of its subfolders.
func prompts(root string, recursive bool) ([]string, error) {
	var found []string
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			if path == root {
				return usageError{err}
			}
			return nil // one unreadable subfolder must not stop the others
		}
		if e.IsDir() {
			if path != root && (!recursive || strings.HasPrefix(e.Name(), ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if name, kind, ok := state.Parse(e.Name()); ok && (kind == state.KindPrompt || kind == state.KindMarker) && !state.Conflict(e.Name()) {
			found = append(found, filepath.Join(filepath.Dir(path), name.File(state.KindPrompt)))
		}
		return nil
	})
	slices.Sort(found)
	return slices.Compact(found), err
}
