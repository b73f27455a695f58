package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"
)

// watchEvery is how often status --watch looks, at most. Where a look takes long,
// it rests ten times as long.
const watchEvery = time.Second

// watchStatus shows the status again and again until ctx ends: in a terminal in
// place, elsewhere, or with --json, whenever something changed.
func (a *app) watchStatus(ctx context.Context, dirs []string, asJSON bool) error {
	if err := areFolders(dirs); err != nil {
		return err // one that vanishes later may come back
	}
	s := &statusWatch{app: a, dirs: dirs, json: asJSON}
	if out, ok := a.stdout.(*os.File); ok && terminal(out) && !asJSON {
		s.screen = out
	}
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	defer s.leave()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return interruption(ctx)
		case <-resized:
			if err := s.draw(); err != nil {
				return err
			}
			continue
		case <-timer.C:
		}
		began := time.Now()
		if err := s.look(ctx); err != nil {
			return err
		}
		timer.Reset(max(watchEvery, 10*time.Since(began)))
	}
}

// interruption is the exit code of a signal that ended ctx; what there was to say
// has been said.
func interruption(ctx context.Context) error {
	var sig signalled
	if errors.As(context.Cause(ctx), &sig) {
		return exitCode(signalCode(sig.Signal))
	}
	return context.Cause(ctx)
}

// statusWatch is one call of status --watch.
type statusWatch struct {
	*app
	dirs   []string
	json   bool
	screen *os.File // nil: not a terminal

	report  statusReport
	told    []byte // what was last printed, without what time alone changes
	entered bool   // the terminal shows a screen of ours
}

// look takes the folders in and shows what there is to show.
func (s *statusWatch) look(ctx context.Context) (err error) {
	if s.report, err = s.survey(ctx, s.dirs); err != nil {
		return err
	}
	if s.screen != nil {
		return s.draw()
	}
	timeless := s.report.timeless()
	if bytes.Equal(timeless, s.told) {
		return nil
	}
	first := s.told == nil
	s.told = timeless
	if s.json {
		return json.NewEncoder(s.stdout).Encode(s.report)
	}
	text := renderStatus(s.report, s.dirs)
	if !first {
		text = "\n" + text
	}
	_, err = io.WriteString(s.stdout, text)
	return err
}

// timeless is the report without what changes by the passing of time.
func (r statusReport) timeless() []byte {
	jobs := make([]jobStatus, len(r.Jobs))
	for i, j := range r.Jobs {
		j.Age = 0
		jobs[i] = j
	}
	r.Jobs = jobs
	if r.Login != nil {
		login := *r.Login
		login.Seen = time.Time{}
		r.Login = &login
	}
	b, _ := json.Marshal(r) // texts, numbers and times: can't fail
	return b
}

// What a terminal is told. The other screen keeps what was on this one.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	homeCursor  = "\x1b[H"
	eraseRight  = "\x1b[K"
	eraseBelow  = "\x1b[J"
)

// draw shows the report in place, cut to the terminal's size.
func (s *statusWatch) draw() error {
	if s.screen == nil || s.report.Folders == nil {
		return nil
	}
	width, height, err := term.GetSize(int(s.screen.Fd()))
	if err != nil || width < 1 || height < 1 {
		width, height = 80, 24
	}
	var b bytes.Buffer
	if !s.entered {
		s.entered = true
		b.WriteString(enterScreen)
	}
	b.WriteString(homeCursor)
	head := time.Now().Format(time.TimeOnly) + "  every second; end with ctrl-C"
	for i, line := range fitScreen(head+"\n\n"+renderStatus(s.report, s.dirs), width, height) {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line + eraseRight)
	}
	b.WriteString(eraseBelow)
	_, err = s.screen.Write(b.Bytes())
	return err
}

// leave gives the terminal back and leaves the last look on it.
func (s *statusWatch) leave() {
	if s.entered {
		_, _ = io.WriteString(s.screen, leaveScreen+renderStatus(s.report, s.dirs))
	}
}
