package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// pace is PROFILE/pace: when this profile last sent, and which of its chats
// wait for their answer. So the gap between two sends and the number of open
// chats hold over the end of a program, and for callers like cron. Only the
// profile's holder writes it; losing it costs nothing but pace.
type pace struct {
	path string
	log  zerolog.Logger

	mu   sync.Mutex
	data paceRecord
}

type paceRecord struct {
	Last time.Time         `json:"last"`
	Open map[string]string `json:"open"` // address: the prompt's path
}

func openPace(profile string, log zerolog.Logger) *pace {
	p := &pace{path: filepath.Join(profile, "pace"), log: log}
	if b, err := os.ReadFile(p.path); err == nil {
		_ = json.Unmarshal(b, &p.data) // a file that isn't understood is none
	}
	if p.data.Open == nil {
		p.data.Open = map[string]string{}
	}
	return p
}

// LastSend is when a program of the profile last sent; zero if unknown, or if
// the clock says that it was in the future.
func (p *pace) LastSend() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.data.Last.After(time.Now()) {
		return time.Time{}
	}
	return p.data.Last
}

// Sent notes a send.
func (p *pace) Sent(at time.Time) { p.change(func(r *paceRecord) { r.Last = at }) }

// Open notes a chat that waits for its answer.
func (p *pace) Open(address, prompt string) {
	p.change(func(r *paceRecord) { r.Open[address] = prompt })
}

// Close notes that it does not any more.
func (p *pace) Close(address string) { p.change(func(r *paceRecord) { delete(r.Open, address) }) }

// Unanswered lists the chats that wait.
func (p *pace) Unanswered() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	open := map[string]string{}
	for address, prompt := range p.data.Open {
		open[address] = prompt
	}
	return open
}

func (p *pace) change(do func(*paceRecord)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do(&p.data)
	b, err := json.Marshal(p.data)
	if err == nil {
		err = replaceFile(p.path, append(b, '\n'))
	}
	if err != nil {
		p.log.Debug().Err(err).Msg("cannot keep the pace for other programs of this profile")
	}
}

// replaceFile replaces a small file of the profile, whole or not at all.
func replaceFile(path string, content []byte) error {
	temp := path + ".new"
	if err := os.WriteFile(temp, content, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
