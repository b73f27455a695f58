package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"watcher/state"
	"watcher/watch"
)

// pauseRecord is PROFILE/pause: why nothing is sent from this profile now. A
// pause is the account's, so it binds every folder and every later run. While
// the file is missing there is none.
type pauseRecord struct {
	Class  string    `json:"class"`
	Reason string    `json:"reason"`
	Hint   string    `json:"hint,omitempty"`
	Person bool      `json:"person,omitempty"` // a person must act
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"` // when the next careful attempt may be made
	Fails  int       `json:"fails"` // attempts so far
}

func pausePath(profile string) string { return filepath.Join(profile, "pause") }

// loadPause returns the profile's pause; the zero one when there is none. A
// file that can't be read counts as none: it only ever says "not yet".
func loadPause(profile string) watch.Pause { return loadPauseFile(pausePath(profile)) }

func loadPauseFile(path string) watch.Pause {
	var r pauseRecord
	b, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(b, &r) != nil {
		return watch.Pause{}
	}
	return watch.Pause(r)
}

// savePause writes the pause, or removes it when it has ended.
func savePause(profile string, p watch.Pause) error { return savePauseFile(pausePath(profile), p) }

func savePauseFile(path string, p watch.Pause) error {
	if p.Class == "" {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
		return nil
	}
	b, err := json.MarshalIndent(pauseRecord(p), "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(path, append(b, '\n'))
}

// bindPause makes a session begin with the profile's pause and keep it there.
func bindPause(c *watch.Config, profile string, log zerolog.Logger) {
	c.Pause = loadPause(profile)
	c.OnPause = func(p watch.Pause) {
		if err := savePause(profile, p); err != nil {
			log.Warn().Err(err).Msg("cannot keep the pause for other programs of this profile")
		}
	}
}

// ownTrouble reports whether a pause is for this machine's own trouble, which
// is no reason for a caller not to try: that costs the account nothing, and the
// person may just have mended it.
func ownTrouble(class string) bool { return class == watch.ClassBrowser || class == watch.ClassDisk }

// pausedNow answers for a prompt that can't be sent while the pause stands,
// without starting a browser. After its time one caller tries.
func pausedNow(p watch.Pause, r watch.Result) (watch.Result, bool) {
	if p.Class == "" || ownTrouble(p.Class) || !time.Now().Before(p.Until) {
		return r, false
	}
	r.Outcome, r.Class, r.Reason, r.Hint = watch.CannotSend, p.Class, p.Reason, p.Hint
	r.Next = time.Until(p.Until)
	return r, true
}

// noticeDeleted reports whether a person took the folder's watcher.paused away,
// which means "try now": its witness is still there.
func noticeDeleted(folder string) bool {
	dir, err := state.OpenDir(folder, "")
	if err != nil {
		return false
	}
	defer dir.Close()
	_, err = dir.ReadPaused()
	witnessed, witnessErr := dir.Witnessed()
	return errors.Is(err, fs.ErrNotExist) && witnessErr == nil && witnessed
}
