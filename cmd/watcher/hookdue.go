package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"watcher/state"
)

// dueHook is a hook that has to run: PROFILE/hooks/*.due holds one each, from
// before the file that ends the job becomes visible until the hook has ended.
// So it runs at least once whenever the program dies in between, and never for
// a job that was done before the hook was asked for.
type dueHook struct {
	Event string    `json:"event"`
	Job   []byte    `json:"job,omitempty"` // path without a suffix; bytes, as names need not be text
	At    time.Time `json:"at"`

	// Of a pause.
	Folder string `json:"folder,omitempty"` // whose own it is; else "" for all
	Class  string `json:"class,omitempty"`
	Reason string `json:"reason,omitempty"`
	Hint   string `json:"hint,omitempty"`

	later time.Time // not to be tried before
}

func hooksDir(profile string) string { return filepath.Join(profile, "hooks") }

// dueLongest is for how long it is remembered that a hook has to run while its
// folder is away, and pauseNews how old a pause may be to be told.
const (
	dueLongest = 30 * 24 * time.Hour
	pauseNews  = 24 * time.Hour
)

// key tells hooks apart: a job's end by the job, whatever it failed of; a pause
// by its class and folder.
func (d *dueHook) key() string {
	if d.Event == hookPause {
		return strings.Join([]string{d.Event, d.Folder, d.Class}, "\x00")
	}
	return d.Event + "\x00" + string(d.Job)
}

func (d *dueHook) file() string {
	sum := sha256.Sum256([]byte(d.key()))
	return hex.EncodeToString(sum[:16]) + ".due"
}

// ended reports whether the file is there that ended the job.
func (d *dueHook) ended() bool {
	kind := state.KindAnswer
	switch d.Event {
	case hookPause:
		return true
	case hookFail:
		kind = state.KindError
	}
	_, err := os.Lstat(d.path(kind))
	return err == nil
}

func (d *dueHook) path(k state.Kind) string {
	job := string(d.Job)
	return filepath.Join(filepath.Dir(job), state.Name(filepath.Base(job)).File(k))
}

// stale reports, of one that an earlier run of the program left, that it is not
// due any more: its job goes on, so that it will be due anew; or it is too old
// for anybody to care.
func (d *dueHook) stale(now time.Time) bool {
	age := now.Sub(d.At)
	switch {
	case d.Event == hookPause:
		return age > pauseNews
	case age > dueLongest:
		return true
	case d.ended():
		return false
	}
	for _, k := range []state.Kind{state.KindPrompt, state.KindMarker} {
		if _, err := os.Lstat(d.path(k)); err == nil {
			return true
		}
	}
	return false // its folder may be away
}

// sync makes sure that what a hook will see is durable.
func (d *dueHook) sync() error {
	kind := state.KindAnswer
	switch d.Event {
	case hookPause:
		return nil
	case hookFail:
		kind = state.KindError
	}
	path := d.path(kind)
	return errors.Join(syncPath(path), syncPath(filepath.Dir(path)))
}

func syncPath(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // somebody may have made it a FIFO
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// write makes the record durable.
func (d *dueHook) write(dir string) error {
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if err := makeDurable(dir); err != nil {
		return err
	}
	path := filepath.Join(dir, d.file())
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncPath(dir)
}

// makeDurable makes a folder if it is missing, so that it is there after a power
// cut, too.
func makeDurable(dir string) error {
	err := os.Mkdir(dir, 0o700)
	switch {
	case err == nil:
		return syncPath(filepath.Dir(dir))
	case errors.Is(err, fs.ErrExist):
		return nil // or it is a file, as the next step will tell
	}
	return err
}

// readDue returns what earlier runs left, oldest first; of a record that isn't
// understood nothing.
func readDue(dir string) []*dueHook {
	entries, _ := os.ReadDir(dir) // none, mostly: then nothing is due
	var list []*dueHook
	for _, e := range entries {
		d := &dueHook{}
		if b, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil && json.Unmarshal(b, d) == nil && d.file() == e.Name() {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b *dueHook) int { return a.At.Compare(b.At) })
	return list
}
