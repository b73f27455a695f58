package qwen

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// How long files may take. Source: parsing takes 20 to 40 s under load, and
// clients give it 90 s.
var (
	parseTimeout = 90 * time.Second
	attachAgain  = 5 * time.Second // then the input is tried once more, behind its menu
)

// slowestUpload is how many bytes a second an upload must make, at least.
const slowestUpload = 100 << 10

// cards is what the page shows of its files.
type cards struct {
	Count  int  `json:"count"`
	Busy   bool `json:"busy"`
	Failed bool `json:"failed"`
}

// attach gives the page the files that go with the prompt, and waits until the
// site has them and has read them. The prompt is not in the page yet: a file may
// hold the same text.
func (s *sending) attach(ctx context.Context) error {
	var size int64
	for i, f := range s.files {
		size += f.size
		if err := s.attachOne(ctx, f, i+1); err != nil {
			return err
		}
	}
	if len(s.files) == 0 {
		return nil
	}
	limit := parseTimeout + time.Duration(size/slowestUpload)*time.Second
	var since time.Time
	_, err := s.page.until(ctx, limit, func(state pageState) (bool, error) {
		c, err := s.attached(ctx, state)
		switch {
		case err != nil:
			return false, err
		case !s.complete(c):
			since = time.Time{}
			return false, nil
		case since.IsZero():
			since = time.Now()
		}
		return time.Since(since) >= s.page.client.options.steady(), nil
	}, func(pageState, error) error {
		e := fail(KindUnreachable, opFiles, "the site does not have them whole, or has not read them, after %v", limit)
		e.Advice = "try smaller files; the program tries again by itself"
		return e
	})
	if err == nil {
		s.step(StepAttached)
	}
	return err
}

// attachOne gives the page one file and waits until it takes it up.
func (s *sending) attachOne(ctx context.Context, f enclosure, nth int) error {
	if err := s.give(ctx, f.path); err != nil {
		return err
	}
	began, again := time.Now(), false
	_, err := s.page.until(ctx, composeTimeout, func(state pageState) (bool, error) {
		c, err := s.attached(ctx, state)
		began1, _, _ := s.page.gate.uploading()
		if err != nil || c.Count >= nth || began1 >= nth {
			return err == nil, err
		}
		if !again && time.Since(began) >= attachAgain {
			again = true
			return false, s.giveBehindMenu(ctx, f.path)
		}
		return false, nil
	}, func(pageState, error) error {
		return fail(KindSiteChanged, opFiles, "the page does not take the file %q", f.name)
	})
	return err
}

// attached looks at what the page shows of the files, and at what the site said.
func (s *sending) attached(ctx context.Context, state pageState) (cards, error) {
	if err := s.page.trouble(state); err != nil {
		return cards{}, err
	}
	if _, _, err := s.page.gate.uploading(); err != nil {
		return cards{}, err
	}
	tab, cancel := s.page.within(ctx)
	defer cancel()
	tab, cancelTime := context.WithTimeout(tab, commandTimeout)
	defer cancelTime()
	c, err := call[cards](tab, "cards", s.page.client.options.Table)
	switch {
	case err != nil:
		return cards{}, nil // the page is busy
	case c.Failed:
		return c, fail(KindUnreachable, opFiles, "the page says that an upload failed")
	case c.Count > len(s.files):
		return c, fail(KindAltered, opFiles, "the page shows %d files instead of %d", c.Count, len(s.files))
	}
	return c, nil
}

// complete reports whether the site has all files and has read them: by the page's
// calls, by what it shows, or both where both are known. Pictures are not parsed,
// so of them only what is shown tells.
func (s *sending) complete(c cards) bool {
	began, parsed, _ := s.page.gate.uploading()
	texts := 0
	for _, f := range s.files {
		if !hasEnding(f.name, pictures) {
			texts++
		}
	}
	shown := c.Count == len(s.files) && !c.Busy
	known := began == len(s.files) && parsed >= texts
	switch {
	case began == 0:
		return shown
	case c.Count == 0:
		return known && texts == len(s.files)
	}
	return shown && known
}

// giveBehindMenu opens the menu in which the file input may wait, and tries again.
func (s *sending) giveBehindMenu(ctx context.Context, path string) error {
	tab, cancel := s.page.within(ctx)
	defer cancel()
	tab, cancelTime := context.WithTimeout(tab, commandTimeout)
	defer cancelTime()
	if _, err := call[bool](tab, "menu", s.page.client.options.Table); err != nil {
		return fail(KindBrowser, opFiles, "%w", err)
	}
	err := s.give(ctx, path)
	_, _ = call[bool](tab, "menu", s.page.client.options.Table) // an open menu may lie over the composer
	return err
}

// give sets a file in the page's own input.
func (s *sending) give(ctx context.Context, path string) error {
	tab, cancel := s.page.within(ctx)
	defer cancel()
	tab, cancelTime := context.WithTimeout(tab, commandTimeout)
	defer cancelTime()
	object, err := chromedp.Call(tab, runtime.Evaluate, runtime.EvaluateParams{Expression: expression("input", s.page.client.options.Table)})
	switch {
	case err != nil:
		return fail(KindBrowser, opFiles, "%w", err)
	case object.Result == nil || object.Result.ObjectID == "":
		return fail(KindSiteChanged, opFiles, "the page has no file input that is known")
	}
	_, err = chromedp.Call(tab, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{path}, ObjectID: object.Result.ObjectID})
	if err != nil {
		return fail(KindSiteChanged, opFiles, "the page's file input takes none: %w", err)
	}
	return nil
}
