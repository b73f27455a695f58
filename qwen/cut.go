package qwen

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// cut is an answer that the site ended at its length limit.
type cut struct {
	chat, asked string // ids of the chat and of our message
	answer      string // id of the message in which the answer ends now
	length      int    // bytes of the answer's text
	prompt      string // our message's text
}

// cutOf finds the answer of our message, if that is what became of it. current
// reports whether the chat ends with it.
func (c chat) cutOf(op, ours, after string) (_ cut, current, ok bool) {
	turn, err := c.turn(op, ours, after)
	if err == nil || !asError(err, "", "").More {
		return cut{}, false, false
	}
	all, last, err := c.all(op)
	if err != nil {
		return cut{}, false, false
	}
	asked, _ := findOurs(all, last, turn.Message, after)
	answer, _ := wholeAnswer(all, last, asked)
	return cut{chat: strings.ToLower(c.ID), asked: asked.ID, answer: answer.end(), length: len(turn.Text), prompt: asked.text()},
		last == answer.end(), true
}

// in reports whether a request speaks of the answer or its chat.
func (k cut) in(address string, body []byte) bool {
	for _, id := range []string{k.chat, k.answer} {
		if strings.Contains(strings.ToLower(address), strings.ToLower(id)) || bytes.Contains(bytes.ToLower(body), []byte(strings.ToLower(id))) {
			return true
		}
	}
	return false
}

// cutsFolder holds a file for each time that the page's button to go on was
// pressed: chat, message and cut. It is made before the request may leave.
const cutsFolder = "cuts"

// prefix begins the names of our message's files.
func (k cut) prefix() string { return k.chat + "-" + digest(k.asked) + "-" }

// name is the file of this very cut.
func (k cut) name() string { return k.prefix() + digest(fmt.Sprintf("%s %d", k.answer, k.length)) }

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

// pressed tells when the button was pressed for this cut, zero if never, and how
// often for the answer so far. An error means that nobody can tell.
func (p *Profile) pressed(k cut) (at time.Time, times int, err error) {
	entries, err := os.ReadDir(filepath.Join(p.dir, cutsFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, 0, err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), k.prefix()) {
			times++
		}
		if e.Name() != k.name() {
			continue
		}
		at = time.Unix(1, 0) // it is there, whatever can be said of it
		if info, err := e.Info(); err == nil {
			at = info.ModTime()
		}
	}
	return at, times, nil
}

// notePressed writes down, durably, that the button was pressed for this cut. It
// fails when that is written down already.
func (p *Profile) notePressed(k cut) error {
	dir := filepath.Join(p.dir, cutsFolder)
	if err := os.Mkdir(dir, 0o700); err == nil {
		if err := syncDir(p.dir); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, k.name()), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a folder's names durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
