package qwen

import (
	"context"
	"time"
)

// How long the text may take to stay in the page.
const (
	fillTimeout = 30 * time.Second // one try
	changesMost = 10               // so often the page may make another text of it at once
)

// composeTimeout is for what should show on the page; a rehearsal is less patient.
var composeTimeout = 60 * time.Second

// steady is how long the text must stay: a tenth of the age that a page needs.
func (o *Options) steady() time.Duration { return o.PageAge / 10 }

// compose puts the text into an old enough page and sees that it stays.
func (s *sending) compose(ctx context.Context) error {
	p, since := s.page, time.Now()
	_, err := p.until(ctx, composeTimeout, func(state pageState) (bool, error) {
		old := state.Age >= float64(p.client.options.PageAge.Milliseconds())
		if err := p.trouble(state); err != nil {
			return false, err
		}
		return state.Composer != "" && old, state.blocked(since)
	}, func(pageState, error) error {
		return fail(KindSiteChanged, "find the composer", "the page has none that is known")
	})
	if err != nil {
		return err
	}
	if err := p.choose(ctx, s.wish); err != nil {
		return err
	}
	if err := p.set(ctx, s.wish.choice); err != nil {
		return err
	}
	s.step(StepLoaded)
	if err := s.attach(ctx); err != nil {
		return err
	}
	p.gate.lookFor(s.prompt)
	f := filling{sending: s}
	if _, err := p.until(ctx, composeTimeout, func(state pageState) (bool, error) {
		return f.look(ctx, state)
	}, f.late); err != nil {
		return err
	}
	s.step(StepFilled)
	return nil
}

// chooserTimeout is how long the question which of two answers is better may
// block the composer before a person is asked to answer it.
const chooserTimeout = 5 * time.Second

// blocked is the error of a page whose composer is off because it asks something
// that only a person can answer.
func (s pageState) blocked(since time.Time) error {
	if s.Composer != "" || !s.Chooser || time.Since(since) < chooserTimeout {
		return nil
	}
	e := fail(KindChallenge, "find the composer", "the site asks which of two answers is better, and takes no prompt before that")
	e.Advice = "run 'watcher login' and choose one in the window that opens"
	return e
}

// filling is the text on its way into the composer: a page that starts up, or
// restores a draft, may throw it away, so it is put in until it stays.
type filling struct {
	*sending
	got     string    // what the composer held last
	since   time.Time // how long it has held the whole text
	changes int       // how often the page made another text of it at once
}

func (f *filling) look(ctx context.Context, state pageState) (bool, error) {
	p := f.page
	if err := p.trouble(state); err != nil {
		return false, err
	}
	select {
	case err := <-p.gate.refused: // the send is spoiled
		return false, err
	default:
	}
	tab, cancel := p.within(ctx)
	defer cancel()
	tab, cancelTime := context.WithTimeout(tab, fillTimeout)
	defer cancelTime()
	got, err := call[*string](tab, "value", p.client.options.Table)
	if err != nil || got == nil {
		return false, nil
	}
	if f.got = *got; f.got != f.prompt {
		return false, f.fill(tab)
	}
	if f.since.IsZero() {
		f.since = time.Now()
	}
	return state.Send != "" && time.Since(f.since) >= p.client.options.steady(), nil
}

// fill puts the text in. A page that makes another text of it at once, time
// and again, changes texts.
func (f *filling) fill(tab context.Context) error {
	f.since = time.Time{}
	got, err := call[*string](tab, "fill", f.page.client.options.Table, f.prompt)
	if err != nil || got == nil {
		return nil
	}
	if f.got = *got; f.got != "" && f.got != f.prompt {
		f.changes++
	}
	if f.changes >= changesMost {
		return altered(f.prompt, f.got)
	}
	return nil
}

// late says why the text isn't in, or why it can't be sent.
func (f *filling) late(state pageState, err error) error {
	const op = "put the text into the page"
	switch {
	case err != nil:
		return fail(KindBrowser, op, "%w", err)
	case f.got == f.prompt:
		return fail(KindSiteChanged, "find the send button", "the page has none that is known and takes clicks")
	case f.got != "":
		return altered(f.prompt, f.got)
	}
	return fail(KindSiteChanged, op, "it does not stay (composer found by %q)", state.Composer)
}
