package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"watcher/qwen"
	"watcher/state"
	"watcher/watch"
)

// generate is one call of the command.
type generate struct {
	*app
	json bool
	hold bool // leave name.prompt.hold behind on 1
	wait waitFlag
}

// waitFlag is --wait[=LIMIT].
type waitFlag struct {
	on    bool
	limit time.Duration // 0: none
}

func (w *waitFlag) String() string {
	switch {
	case !w.on:
		return "false"
	case w.limit == 0:
		return "true"
	}
	return w.limit.String()
}

// Set reads "true", "false" or a duration.
func (w *waitFlag) Set(s string) error {
	switch s {
	case "true":
		*w = waitFlag{on: true}
		return nil
	case "false":
		*w = waitFlag{}
		return nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return fmt.Errorf("it is a duration such as 10m")
	}
	*w = waitFlag{on: true, limit: d}
	return nil
}

// Type names the value in the help.
func (w *waitFlag) Type() string { return "duration" }

func (a *app) generateCommand() *cobra.Command {
	g := &generate{app: a}
	c := &cobra.Command{
		Use:   "generate FILE|DIR...",
		Short: "Take one step for each prompt: send it, or look for its answer",
		Long: `generate takes each prompt one step further and says by its exit code where it
stands. It is made for cron, make and shell loops: call it again and again.

  42  sent now; ask again after --poll
   3  in progress: sent and not finished, or not to be sent yet
   0  name.md is there; answered from the files alone, without a browser
   1  switch strategy: the job failed, or the chat can't be used now and nothing
      was sent; one sentence on standard error says why
   2  wrong usage, no such file

Several files or a folder: 1 if any is 1, else 42 if any was sent now, else 3,
else 0.`,
		Example: `  watcher generate article.prompt
  watcher generate --wait article.prompt && pandoc article.md -o article.html
  watcher generate --wait=10m --json drafts/`,
		Args: needArgs("file or folder"),
		RunE: func(c *cobra.Command, args []string) error { return g.run(c.Context(), args) },
	}
	c.Flags().BoolVar(&g.json, "json", false, "print one JSON object a line")
	c.Flags().BoolVar(&g.hold, "hold-on-1", false, "on 1 make name.prompt.hold, so that nothing sends it later while another engine does")
	c.Flags().Var(&g.wait, "wait", "stay until each is done or failed, at most so long")
	c.Flags().Lookup("wait").NoOptDefVal = "true"
	return c
}

// run answers from the files what they can tell, and takes a step for the rest.
func (g *generate) run(ctx context.Context, args []string) error {
	files, err := g.expand(args)
	if err != nil {
		return err
	}
	results := make([]watch.Result, len(files))
	var open []int // of files: those that need the chat
	for i, file := range files {
		r, done, err := g.offline(file)
		if isUsage(err) {
			return err
		}
		if err != nil { // whether it was sent cannot be seen, so nobody may say 1
			r, done = unknown(watch.Result{File: file, Class: watch.ClassDisk}, err, g.set.poll), !g.wait.on
		}
		results[i] = r
		if !done {
			open = append(open, i)
		}
	}
	if len(open) > 0 {
		if err := g.online(ctx, files, open, results); err != nil {
			return err
		}
		g.warnLogin()
	}
	return g.report(ctx, results)
}

// warnLogin speaks of a login that ends in a few days; of one that has ended
// the result does.
func (g *generate) warnLogin() {
	dir, err := g.set.profileDir()
	if err != nil || g.set.quiet {
		return
	}
	if n := qwen.ReadLoginNote(dir); n.EndsSoon(time.Now()) && time.Now().Before(n.Expires) {
		fmt.Fprintln(g.stderr, "watcher: "+loginEnds(n.Expires))
	}
}

// offline answers for a job whose files say all. It starts nothing.
func (g *generate) offline(file string) (watch.Result, bool, error) {
	j, err := lookAt(file, g.set.plain())
	if err != nil {
		return watch.Result{}, false, err
	}
	r := watch.Result{File: file, Phase: j.phase, Address: j.address, Changed: j.changed}
	if j.asks {
		return r, false, nil // somebody has to obey it first
	}
	switch j.phase {
	case state.Absent:
		return r, false, usagef("%s: there is no such file", file)
	case state.Done:
		r.Outcome = watch.Done
		return r, true, nil
	case state.Failed:
		if j.void {
			return r, false, nil
		}
		r.Outcome, r.Class, r.Reason = watch.Failed, j.failure.Class, j.failure.Sentence
		if j.failure.Command != "" {
			r.Hint = "to go on: " + j.failure.Command
		}
		return r, !g.failedOn(j), nil
	case state.New:
		if dir, err := g.set.profileDir(); err == nil && !noticeDeleted(filepath.Dir(file)) {
			r, done := g.newNow(dir, j, r)
			return r, done, nil
		}
	case state.Sent:
		if wait := g.readAgain(j); wait > 0 && !g.wait.on {
			r.Outcome, r.Next = watch.InProgress, wait
			r.Reason = "sent, no answer yet"
			return r, true, nil
		}
	}
	return r, false, nil
}

// readAgain is how long until this profile looks at the chat again. A send of
// its own that is in doubt is looked into at once.
func (g *generate) readAgain(j jobFiles) time.Duration {
	dir, err := g.set.profileDir()
	if err != nil || j.address == "" || j.doubted != "" && slices.Contains(qwen.Owners(dir), j.doubted) {
		return 0
	}
	last := qwen.LastRead(dir, j.address)
	if last.IsZero() {
		return 0
	}
	return g.set.poll - time.Since(last)
}

// online takes a step for the files that need the chat: itself, or, when
// another program of this user holds the profile, through that.
func (g *generate) online(ctx context.Context, files []string, open []int, results []watch.Result) error {
	dir, err := g.set.profileDir()
	if err != nil {
		return err
	}
	if g.wait.on && g.wait.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.wait.limit)
		defer cancel()
	}
	logs, err := g.openLog(zerolog.WarnLevel)
	if err != nil {
		return err
	}
	defer logs.close()
	for end := time.Now().Add(stepPatience); ; {
		s, err := g.openSession(dir, logs.Logger, func(c *watch.Config) {
			c.Progress = logs.live.progress
			if ownTrouble(c.Pause.Class) {
				c.Pause.Until = time.Now()
			}
		})
		switch {
		case err == nil:
			if again, err := g.own(ctx, dir, s, files, open, results); !again {
				return err
			}
			continue
		case !errors.Is(err, qwen.ErrHeld):
			return g.noSession(err, open, results)
		}
		open, err = g.ask(ctx, dir, files, open, results)
		if err != nil {
			return g.noSession(err, open, results)
		}
		if len(open) == 0 || ctx.Err() != nil || time.Now().After(end) {
			return nil
		}
		// The holder is just ending, or just beginning.
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// own takes the steps in this process, as the profile's holder. When another
// program asks for the profile meanwhile (a login), it gets it, and again says
// to go on after that.
func (g *generate) own(ctx context.Context, dir string, s *session, files []string, open []int, results []watch.Result) (again bool, err error) {
	h, err := listen(dir, holderInfo{PID: os.Getpid(), Command: "generate"})
	if err != nil {
		s.close()
		return false, g.noSession(err, open, results)
	}
	defer h.close()
	h.choices = g.set.choices
	h.use(s.agent)
	stepping, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- g.step(stepping, s, files, open, results) }()
	select {
	case err = <-ended:
		s.close()
		return false, err
	case y := <-h.yield:
		stop()
		err = <-ended
		h.use(nil)
		s.close()
		y.wait(ctx)
		return err == nil && ctx.Err() == nil, err
	}
}

// step runs the agent for the open files and puts what it says in its place.
func (g *generate) step(ctx context.Context, s *session, files []string, open []int, results []watch.Result) error {
	if err := g.checkChoices(ctx, s, files, open, results); err != nil {
		return err
	}
	step := s.agent.Generate
	if g.wait.on {
		step = s.agent.Wait
	}
	names := make([]string, len(open))
	for i, at := range open {
		names[i] = files[at]
	}
	got, err := step(ctx, names...)
	if errors.Is(err, fs.ErrNotExist) {
		err = usageError{err}
	}
	for i, at := range open {
		results[at] = got[i]
	}
	if err == nil || isUsage(err) || ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return usageOnly(err) // the end of ctx is no error: report tells which it was
	}
	for _, at := range open {
		if r := &results[at]; r.Reason == "" && r.Outcome == watch.InProgress {
			*r = unknown(*r, err, g.set.poll)
		}
	}
	return nil
}

// usageOnly lets nothing but a mistake in the call through.
func usageOnly(err error) error {
	if isUsage(err) {
		return err
	}
	return nil
}

// ask has the holder take the steps, and returns the files for which nobody
// answered. A holder that is silent is no failure: it is at work, or stopped.
func (g *generate) ask(ctx context.Context, dir string, files []string, open []int, results []watch.Result) ([]int, error) {
	c, err := callHolder(dir)
	if err != nil {
		return open, err
	}
	defer c.close()
	who, err := c.hello(ctx)
	for _, at := range open {
		r := &results[at]
		r.Outcome, r.Class, r.Next = watch.InProgress, string(qwen.KindBusy), g.set.poll
		r.Reason = "another program uses this profile and does not answer"
		if err == nil {
			r.Reason = fmt.Sprintf("another program uses this profile (%s, process %d)", who.Command, who.PID)
		}
	}
	if err != nil {
		return stillOpen(ctx, err, open)
	}
	var asked sync.WaitGroup
	answers := make([]error, len(open))
	for i, at := range open {
		asked.Go(func() { answers[i] = g.askOne(ctx, c, files[at], &results[at]) })
	}
	asked.Wait()
	var left []int
	for i, at := range open {
		switch err := answers[i]; {
		case isUsage(err):
			return nil, err
		case errors.Is(err, errNoHolder):
			left = append(left, at)
		case err != nil:
			results[at] = unknown(results[at], err, g.set.poll)
		}
	}
	return left, nil
}

// stillOpen tells a holder that ended (try again) from one that is silent.
func stillOpen(ctx context.Context, err error, open []int) ([]int, error) {
	if errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return nil, nil
	}
	return open, nil
}

// askOne has the holder take a step for one file; with --wait, until there is
// no more to wait for.
func (g *generate) askOne(ctx context.Context, c *caller, file string, r *watch.Result) error {
	for {
		var asks choices
		if r.Phase == state.New {
			asks = g.set.choices
		}
		got, err := c.step(ctx, file, asks)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
				return nil
			}
			return err
		}
		*r = got
		if !g.wait.on || got.Outcome != watch.InProgress && got.Outcome != watch.SentNow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(max(got.Next, time.Second), g.set.poll)):
		}
	}
}

// noSession answers for all when the profile can't be used.
func (g *generate) noSession(err error, open []int, results []watch.Result) error {
	if isUsage(err) {
		return err
	}
	fault := watch.FaultOf(err)
	for _, at := range open {
		r := &results[at]
		if r.Phase == state.Failed && r.Outcome == watch.Failed {
			continue // its files said so already
		}
		if fault == nil {
			*r = unknown(*r, err, g.set.poll)
			continue
		}
		r.Class, r.Reason, r.Hint = fault.Class(), fault.Error(), fault.Hint()
		r.Outcome, r.Next = watch.InProgress, g.set.poll
		if r.Phase == state.New {
			r.Outcome, r.Next = watch.CannotSend, 0
		}
	}
	return nil
}

// unknown is the answer for a job of which an error of the program's own keeps
// from saying more: call again.
func unknown(r watch.Result, err error, next time.Duration) watch.Result {
	r.Outcome, r.Reason, r.Next = watch.InProgress, err.Error(), next
	return r
}
