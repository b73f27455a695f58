package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"watcher/state"
)

// ask is one caller's wish about one file.
type ask struct {
	ctx        context.Context
	file       string // as the caller wrote it
	dir        string
	name       state.Name
	stay, wait bool
	at         time.Time // when the loop took it up
	unsent     bool      // the job was New at that time
	reply      chan reply
}

type reply struct {
	Result
	err error
}

func newAsk(ctx context.Context, file string, stay, wait bool) (*ask, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("find %q: %w", file, err)
	}
	name, kind, ok := state.Parse(filepath.Base(abs))
	if !ok || kind != state.KindPrompt {
		return nil, fmt.Errorf("ask about %q: not the name of a prompt, which ends in .prompt and begins with no dot: %w",
			file, fs.ErrInvalid)
	}
	return &ask{ctx: ctx, file: file, dir: filepath.Dir(abs), name: name,
		stay: stay, wait: wait, reply: make(chan reply, 1)}, nil
}

// accept takes up a request. Its job is in the table from then on, also when
// its folder is not watched.
func (l *loop) accept(k *ask) {
	now := time.Now()
	k.at = now
	j, err := l.find(k, now)
	switch {
	case errors.Is(err, errNoPrompt):
		k.reply <- reply{Result{File: k.file}, err}
		return
	case err != nil:
		k.reply <- reply{unseen(k.file, err, l.cfg.Poll), nil}
		return
	}
	l.enlist(k)
	k.unsent = j.phase() == state.New
	switch {
	case k.unsent && j.unsettled != "":
		j.lookAt = now
	case j.phase() == state.Sent && !l.fresh(j, k, now):
		j.due = now
	}
}

// errNoPrompt says that neither a prompt nor any other file of its job is there.
var errNoPrompt = fmt.Errorf("there is no such prompt: %w", fs.ErrNotExist)

func (l *loop) find(k *ask, now time.Time) (*job, error) {
	f := l.folders[k.dir]
	if f == nil {
		f = newFolder(k.dir, false, false, now)
		l.folders[k.dir] = f
	}
	if f.dir == nil || !f.dir.Same() {
		l.scan(f)
	}
	if f.dir == nil {
		if _, err := os.Stat(k.dir); isAbsent(err) {
			return nil, fmt.Errorf("look for %q: %w", k.file, errNoPrompt)
		}
		return nil, fmt.Errorf("look for %q: its folder cannot be opened", k.file)
	}
	j := f.jobs[k.name]
	if j == nil {
		j = l.add(f, k.name, now)
	}
	if l.busy(j) {
		return j, nil
	}
	f.hold = held(f.dir)
	l.seeNotice(f, true, now)
	files, err := f.dir.Lookup(k.name)
	if err == nil && files.Phase() == state.Absent {
		err = fmt.Errorf("look for %q: %w", k.file, errNoPrompt)
	}
	if err != nil {
		if j.phase() == state.Absent {
			delete(f.jobs, k.name)
		}
		return nil, err
	}
	l.waiting[k.subject()]++ // so that a finished job stays for its answer
	l.update(j, files, now, nil)
	l.leave(k)
	return j, nil
}

// subject is the job that a request is about.
type subject struct {
	dir  string
	name state.Name
}

func (k *ask) subject() subject { return subject{k.dir, k.name} }

// acceptAll takes up a request and all that wait behind it: a call about ten
// thousand files is one turn.
func (l *loop) acceptAll(k *ask) {
	for more := true; more; {
		l.accept(k)
		select {
		case k = <-l.Agent.asks:
		default:
			more = false
		}
	}
}

func (l *loop) enlist(k *ask) {
	l.asks = append(l.asks, k)
	l.waiting[k.subject()]++
}

func (l *loop) leave(k *ask) {
	if l.waiting[k.subject()]--; l.waiting[k.subject()] == 0 {
		delete(l.waiting, k.subject())
	}
}

// asked reports whether a request waits for the job.
func (l *loop) asked(j *job) bool {
	return len(l.waiting) > 0 && l.waiting[subject{j.folder.path, j.name}] > 0
}

// tidy forgets what was only there for a request: above all, a prompt in a
// folder that is not watched is not sent after its request was answered. A
// sent one is collected to its end.
func (l *loop) tidy() {
	for path, f := range l.folders {
		if f.listed || f.root {
			continue
		}
		for name, j := range f.jobs {
			if j.phase() != state.Sent && !l.busy(j) && !l.asked(j) {
				delete(f.jobs, name)
			}
		}
		if len(f.jobs) == 0 && !f.minds() {
			l.drop(path)
		}
	}
}

// answerAll answers the requests that have come to an end.
func (l *loop) answerAll(now time.Time) {
	l.asks = slices.DeleteFunc(l.asks, func(k *ask) bool {
		r := l.result(k)
		err := k.ctx.Err()
		if err == nil && !l.over(k, r.Outcome, now) {
			return false
		}
		k.reply <- reply{r, err}
		l.leave(k)
		return true
	})
}
