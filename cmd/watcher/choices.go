package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"watcher/qwen"
	"watcher/state"
	"watcher/watch"
)

// choices are what a send asks of the site; "" takes what its page has.
type choices struct {
	Model    string `json:"model,omitempty"`
	Thinking string `json:"thinking,omitempty"`
	Search   string `json:"search,omitempty"`
	// FrontMatter says whether a prompt's first lines can be options: on or off.
	FrontMatter string `json:"front_matter,omitempty"`
}

// check refuses what can be no choice, whatever the site has.
func (c choices) check() error {
	switch c.Thinking {
	case "", string(qwen.ThinkingAuto), string(qwen.ThinkingOn), string(qwen.ThinkingOff):
	default:
		return usagef("--thinking %q: it is auto, on or off", c.Thinking)
	}
	switch c.Search {
	case "", string(qwen.SearchOn), string(qwen.SearchOff):
	default:
		return usagef("--search %q: it is on or off", c.Search)
	}
	switch c.FrontMatter {
	case "on", "off":
	default:
		return usagef("--front-matter %q: it is on or off", c.FrontMatter)
	}
	if id := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(c.Model)), " ", "-"); id != c.Model {
		return usagef("--model %q: name it by its id, which is in lower case: %s", c.Model, id)
	}
	return nil
}

// differs says what of the choices that were made is not the other's.
func (c choices) differs(other choices) string {
	for _, one := range []struct{ flag, mine, theirs string }{
		{"--model", c.Model, other.Model}, {"--thinking", c.Thinking, other.Thinking}, {"--search", c.Search, other.Search},
		{"--front-matter", c.FrontMatter, other.FrontMatter},
	} {
		switch {
		case one.mine == "" || one.mine == one.theirs:
		case one.theirs == "":
			return fmt.Sprintf("%s %s: the program that holds the profile was started without %s", one.flag, one.mine, one.flag)
		default:
			return fmt.Sprintf("%s %s: the program that holds the profile was started with %s %s", one.flag, one.mine, one.flag, one.theirs)
		}
	}
	return ""
}

// checkChoices has the driver look for the model in the site's list before
// anything is sent, when a prompt may be sent now. A model that isn't there is a
// mistake in the call: it fails no job and pauses nothing.
func (g *generate) checkChoices(ctx context.Context, s *session, files []string, open []int, results []watch.Result) error {
	site, ok := s.driver.(interface{ CheckChoices(context.Context) error })
	if !ok || g.set.choices.Model == "" {
		return nil
	}
	if p := loadPause(s.profile.Dir()); p.Class != "" && time.Now().Before(p.Until) {
		return nil
	}
	for _, at := range open {
		if results[at].Phase != state.New || !g.maySend(files[at]) {
			continue
		}
		err := site.CheckChoices(ctx)
		var e *qwen.Error
		if errors.As(err, &e) && e.Kind == qwen.KindInvalid {
			return usageError{fmt.Errorf("%w; %s", err, e.Hint())}
		}
		return nil // any other trouble the send will meet, and tell of
	}
	return nil
}

// maySend reports whether a new prompt is not empty, not held, and waits for
// nothing that its options speak of: the others need no browser.
func (g *generate) maySend(file string) bool {
	info, err := os.Stat(file)
	if err != nil || info.Size() == 0 {
		return false
	}
	for _, hold := range []string{file + ".hold", filepath.Join(filepath.Dir(file), "watcher.hold")} {
		if _, err := os.Lstat(hold); err == nil {
			return false
		}
	}
	dir, err := state.OpenDir(filepath.Dir(file), "")
	if err != nil {
		return true // who takes the step is told
	}
	defer dir.Close()
	name, _, _ := state.Parse(filepath.Base(file)) // it was looked at by this name
	p, err := watch.ReadPrompt(dir, name, g.set.plain())
	c := g.set.agentConfig(nil, "", zerolog.Nop())
	wait, _, _ := c.Outlook(dir, name, p, nil, nil, time.Now())
	return err != nil || wait == "" && p.Options.Engine != watch.EngineRouter
}
