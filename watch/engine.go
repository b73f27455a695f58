package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"watcher/state"
	"watcher/watch/frontmatter"
)

// EngineRouter is what the markers of another engine's prompts call it, and what
// a prompt's options say to ask for it.
const EngineRouter = frontmatter.EngineRouter

// Engine is another engine than the chat: it takes a prompt and returns its
// answer in one call, of which nothing is left to come back to. It is declared
// here, where it is used, and in built-in types only.
type Engine interface {
	// Address is where a call goes, an address of the web without a fragment. It
	// stands in the markers.
	Address() string

	// Reach tells, without sending anything of a prompt, whether anybody is
	// there; nil when it cannot be told. Its error is of no consequence but to
	// wait.
	Reach(ctx context.Context) error

	// Complete makes one request and returns the whole answer. An empty model is
	// the engine's own choice. With an error the
	// text is what there was of it. The error implements [Fault]; where
	// MayHaveLeft is false, no byte of the prompt left. It may also have a method
	// Refused() bool, which says that the engine itself, before any work, did
	// not take the prompt.
	Complete(ctx context.Context, model, prompt string) (text string, err error)
}

// Fallback says which prompts go to another engine. The zero one lets none go.
type Fallback struct {
	Engine Engine
	By     string   // the owner's id in its markers
	On     []string // the classes of a pause or a failure that make a prompt go there
	// Again lets a call that was cut off be made again, though it may have been
	// done, and paid for.
	Again bool
	// Owns says whether an owner's id in a marker is one of this profile's. It
	// is needed even where no prompt may go to another engine any more.
	Owns func(by string) bool
	// Pause is the engine's own to begin with, as Config.Pause is the chat's.
	Pause Pause
	// OnPause, if set, hears when that pause begins, changes or ends. It must
	// not block.
	OnPause func(Pause)
}

// CanFallBack reports whether a class may be in Fallback.On. The others speak of
// prompts that nobody may send, or that may have been taken.
func CanFallBack(class string) bool {
	switch class {
	case ClassInvalid, ClassAmbiguous, ClassCancelled, ClassDisk, ClassKeysGone:
		return false
	}
	return endsJob(class) || slices.Contains(queueClasses, class)
}

var queueClasses = []string{ClassLogin, ClassChallenge, ClassQuota, ClassUnreachable, ClassSiteChanged, ClassBrowser}

// check refuses what cannot work.
func (f *Fallback) check() error {
	if f.Engine == nil {
		return nil
	}
	if f.By == "" || !f.owns(f.By) {
		return errors.New("set up the agent: another engine needs an owner's id that is ours")
	}
	for _, class := range f.On {
		if !CanFallBack(class) {
			return fmt.Errorf("set up the agent: no other engine can be asked after %q", class)
		}
	}
	return nil
}

func (f *Fallback) owns(by string) bool { return f.Owns != nil && by != "" && f.Owns(by) }

func (f *Fallback) takes(class string) bool { return f.Engine != nil && slices.Contains(f.On, class) }

const reasonAsking = "another engine is being asked"

// otherView is the part of a view that speaks of another engine.
type otherView struct {
	there   bool   // there is one
	wanted  bool   // the prompt asks for it
	pause   bool   // it takes the prompts that the chat's pause keeps
	failure bool   // it takes this failed job, as far as is known
	owned   bool   // the marker is of this profile
	again   bool   // a call that was cut off may be made again
	kept    bool   // its answer is in memory, and has to be written
	barred  bool   // this process tried, and must not as the files are
	brake   Pause  // the engine's own
	folder  Pause  // the folder's own, whatever the chat's is
	class   string // of the failure
}

// routes decides about a job that another engine is to get.
func (v view) routes(reason string) action {
	o, a := v.other, action{verb: wait, queue: true}
	switch {
	case v.folderHold:
		a.reason = reasonFolderHold
	case o.folder.Class != "" && v.now.Before(o.folder.Until):
		a.reason, a.at = o.folder.Reason, o.folder.Until
	case o.brake.Class != "" && v.now.Before(o.brake.Until):
		a.reason, a.at = o.brake.Reason, o.brake.Until
		if v.brake.Class != "" && v.files.Phase() == state.New && !o.wanted {
			a.reason = v.brake.Reason + "; and " + o.brake.Reason
			a.at = sooner(a.at, v.brake.Until)
		}
	default:
		return action{verb: route, reason: reason}
	}
	return a
}

// decideFailed gives a job whose chat failed to another engine, if that is
// wanted.
func decideFailed(v view) action {
	o := v.other
	chatHasIt := v.files.Has(state.KindMarker)
	switch {
	case !o.there || !o.failure || o.barred || v.files.Has(state.KindHold) || !v.files.Has(state.KindPrompt),
		chatHasIt && (v.marker.Engine != "" || v.marker.Stage != state.StageSent || !o.owned):
		return action{reason: "it failed: its .md.err says why"}
	}
	return v.routes("its chat failed (" + o.class + "), so another engine is asked")
}

// decideAsked is about a job whose marker is another engine's.
func decideAsked(v view) action {
	o, m := v.other, v.marker
	a := action{verb: collect, at: v.due, reason: "another engine was asked, and its answer is lost"}
	switch {
	case !o.owned:
		a.reason = "another program has asked another engine"
	case m.Stage == state.StageReleased && o.again && o.there && !o.barred && !o.kept && v.files.Has(state.KindPrompt) && !v.tooOld:
		again := v.routes("the call to another engine was cut off, so it is asked again")
		again.at = later(again.at, v.due)
		return again
	}
	return a
}

// weigh reads what the decision about a failed job depends on, once.
func (l *loop) weigh(j *job) {
	if l.cfg.Fallback.Engine == nil || j.weighed {
		return
	}
	f, err := j.folder.dir.ReadError(j.name)
	if err == nil {
		j.failure, j.weighed = f, true
	}
}

// mayRoute reports whether a failed job's marker has to be known.
func (l *loop) mayRoute(j *job) bool {
	return j.phase() == state.Failed && j.files.Has(state.KindMarker) && l.cfg.Fallback.takes(j.failure.Class)
}

// other gathers what a decision depends on beside the chat.
func (l *loop) otherView(j *job) otherView {
	f := &l.cfg.Fallback
	o := otherView{there: f.Engine != nil, wanted: j.wantsEngine(), again: f.Again, kept: j.kept != "", barred: j.barred && j.barredAt == j.glance, brake: l.other.Pause,
		folder: j.folder.brake.Pause, class: j.failure.Class}
	o.pause = f.takes(l.brake.Class) && !needsChat(j.wish.prompt)
	o.failure = j.phase() == state.Failed && f.takes(j.failure.Class) && j.failure.Prompt != ""
	o.owned = j.files.Has(state.KindMarker) && f.owns(j.marker.By)
	if gone := j.folder.gone; gone.Class != "" {
		o.folder, o.folder.Until = gone, time.Now().Add(24*time.Hour)
	}
	return o
}

// needsChat reports whether a prompt asks for the chat, or for what only that has.
func needsChat(p Prompt) bool {
	return p.Options.Engine == frontmatter.EngineChat || p.Options.Chat != "" || len(p.Options.Attach) > 0
}

// asking reports whether another engine is being asked for a job, or will be as
// soon as the courier is free.
func (l *loop) asking(j *job) bool {
	return l.busy(j) && l.current.verb == route || !l.busy(j) && j.action.verb == route
}

// pauseOther begins or goes on with the other engine's pause.
func (l *loop) pauseOther(j *job, t *trouble, now time.Time) {
	l.other.fail(t, now)
	if l.otherLines.fail(now) {
		l.brakeLine(l.line(zerolog.WarnLevel, j), &l.other, t).Msg("other engine paused")
	}
	if l.cfg.Fallback.OnPause != nil {
		l.cfg.Fallback.OnPause(l.other.Pause)
	}
}

// releaseOther ends it.
func (l *loop) releaseOther() {
	if l.other.Class == "" {
		return
	}
	n := l.other.end()
	l.otherLines = throttle{}
	l.log.Info().Int("count", n).Msg("other engine recovered")
	if l.cfg.Fallback.OnPause != nil {
		l.cfg.Fallback.OnPause(Pause{})
	}
}
