package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"watcher/state"
)

// What keeps a job from being sent again, with errors.Is.
var (
	ErrTheirs   = errors.New(reasonTheirs)
	ErrNobodys  = errors.New(reasonNobodys)
	ErrNoPrompt = errors.New("there is no prompt to send again")
)

// Retry does at once what a name.prompt.retry asks for: the marker, the answer
// and the error of a job are renamed to NAME.N, so that the prompt is New. It
// sends nothing, needs no chat, and returns the new names.
//
// owns says whether an owner's id in a marker is one of this profile's; the
// caller holds the profile's lock, so that no program of it is at work on the
// job. With force a marker of another owner is retired, too: the program that
// wrote it must be stopped first, or the prompt may be sent twice.
//
// ErrTheirs, ErrNobodys, ErrNoPrompt: nothing was done.
func Retry(dir *state.Dir, name state.Name, owns func(by string) bool, force bool) (kept []string, err error) {
	may := func(m state.Marker) error {
		switch {
		case force || m.By != "" && owns(m.By):
			// Should this be cut short, whoever comes next goes on.
			return dir.Ask(name, state.KindRetry)
		case m.By == "":
			return ErrNobodys
		}
		return ErrTheirs
	}
	if kept, err = putAside(dir, name, may); err == nil {
		err = dir.Remove(name, state.KindRetry)
	}
	return kept, err
}

// putAside makes a job New. The caller removes the .retry last: until then a
// job that lost its marker on the way is not sent, and the next look goes on
// from there.
func putAside(dir *state.Dir, name state.Name, may func(state.Marker) error) (kept []string, err error) {
	files, err := dir.Lookup(name)
	if err == nil && !files.Has(state.KindPrompt) {
		err = ErrNoPrompt
	}
	if err != nil {
		return nil, err
	}
	note := func(archive string, err error) error {
		if archive != "" {
			kept = append(kept, archive)
		}
		if isAbsent(err) {
			return nil
		}
		return err
	}
	if files.Has(state.KindMarker) {
		m, err := dir.Believe(name)
		if err == nil {
			err = may(m)
		}
		if err == nil {
			err = note(dir.Retire(name, m))
		}
		if err != nil && !isAbsent(err) {
			return kept, err
		}
	}
	for _, f := range []struct {
		kind  state.Kind
		aside func(state.Name) (string, error)
	}{{state.KindAnswer, dir.ArchiveAnswer}, {state.KindError, dir.ArchiveError}} {
		if !files.Has(f.kind) {
			continue
		}
		if err := note(f.aside(name)); err != nil {
			return kept, err
		}
	}
	return kept, nil
}

// ownerError is trouble with asking who is logged in.
type ownerError struct{ error }

// retry obeys a .retry, if the marker is ours.
func (c *courier) retry(ctx context.Context, r *report) {
	o := &r.order
	files, err := o.dir.Lookup(o.name)
	if err != nil {
		r.trouble, r.folder = diskTrouble(err), true
		return
	}
	if !files.Has(state.KindRetry) {
		return // taken back
	}
	kept, err := putAside(o.dir, o.name, func(m state.Marker) error { return c.owned(ctx, r, m) })
	var failed ownerError
	switch {
	case err == nil:
		r.note = "its .prompt.retry is obeyed"
		if len(kept) > 0 {
			r.note += "; kept: " + strings.Join(kept, ", ")
		}
		c.acknowledge(r, state.KindRetry)
	case errors.As(err, &failed):
		r.trouble = ownerTrouble(failed.error)
	case errors.Is(err, ErrTheirs), errors.Is(err, ErrNobodys), errors.Is(err, ErrNoPrompt), errors.Is(err, state.ErrNotExpected):
		r.stale = true // the folder is looked at after each order
	default:
		r.trouble, r.folder = diskTrouble(err), true
	}
}

// owned says whether this account may send the job of a marker again.
func (c *courier) owned(ctx context.Context, r *report, m state.Marker) error {
	switch {
	case m.By == "":
		return ErrNobodys
	case m.Engine != "" && !c.cfg.Fallback.owns(m.By):
		return ErrTheirs
	case m.Engine != "" || m.By == r.order.owner:
		return nil
	}
	owner, err := c.cfg.Chat.Owner(ctx)
	if err != nil {
		return ownerError{fmt.Errorf("see who is logged in: %w", err)}
	}
	if r.owner = owner; m.By != owner {
		return ErrTheirs
	}
	return nil
}
