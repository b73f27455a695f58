package qwen

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// How long the send may take to come, and how often a click without effect is
// repeated. Variables, as a rehearsal need not be that patient.
var (
	holdTimeout = 45 * time.Second // from the click to the held request
	pressAgain  = 5 * time.Second
)

// quietLeast is how many characters a text must have for a page that ignores the
// button to be taken as refusing the text: that speaks of this text only, while a
// page that ignores a short one is broken for all.
//
// Source: a client of 2026 that met such silence. It shortened the text until it
// went through, down to 4000 characters; what the page's limit is nobody knows.
const quietLeast = 10_000

// pressMost is how many clicks a page may leave without any sign of having
// noticed: it then refuses the text.
const pressMost = 4

// hold presses the button and waits until the gate holds the send. A click
// that has no effect is repeated: nothing can leave while the gate stands, and
// it holds one send only.
func (s *sending) hold(ctx context.Context) error {
	const op = "press the send button"
	p := s.page
	p.gate.expect()
	deadline := time.After(holdTimeout)
	again := time.NewTicker(pressAgain)
	defer again.Stop()
	if err := s.press(ctx); err != nil {
		return err
	}
	s.step(StepPressed)
	for presses := 1; ; {
		select {
		case held := <-p.gate.held:
			s.held = &held
			s.step(StepHeld)
			return nil
		case err := <-p.gate.refused:
			return err
		case <-ctx.Done():
			return fail(KindUnreachable, op, "%w", ctx.Err())
		case <-p.live.Done():
			return fail(KindBrowser, op, "the browser ended, or the page crashed")
		case <-again.C:
			again, err := s.pressIfIdle(ctx)
			if err != nil {
				return err
			}
			if again {
				presses++
			}
			if presses > pressMost {
				return s.notSent(ctx, op)
			}
		case <-deadline:
			return s.notSent(ctx, op)
		}
	}
}

// press clicks where a person would, or from within the page when something
// lies over the button.
func (s *sending) press(ctx context.Context) error {
	const op = "press the send button"
	tab, cancel := s.page.within(ctx)
	defer cancel()
	tab, cancelTime := context.WithTimeout(tab, commandTimeout)
	defer cancelTime()
	table := s.page.client.options.Table
	at, err := call[*struct {
		X       float64 `json:"x"`
		Y       float64 `json:"y"`
		Covered bool    `json:"covered"`
	}](tab, "aim", table)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil // the page is busy, perhaps with the click before; the caller waits
	case err != nil:
		return fail(KindBrowser, op, "%w", err)
	case at == nil:
		return fail(KindSiteChanged, op, "it is gone")
	case at.Covered:
		_, err = call[bool](tab, "press", table)
	default:
		err = click(tab, at.X, at.Y)
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fail(KindBrowser, op, "%w", err)
	}
	return nil
}

// click is a mouse's press and release at a point of the page.
func click(tab context.Context, x, y float64) error {
	for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMouseMoved,
		input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		event := input.DispatchMouseEventParams{Type: kind, X: x, Y: y}
		if kind != input.DispatchMouseEventTypeMouseMoved {
			event.Button, event.ClickCount = input.MouseButtonLeft, 1
		}
		if _, err := chromedp.Call(tab, input.DispatchMouseEvent, event); err != nil {
			return err
		}
	}
	return nil
}

// pressIfIdle presses again when the page shows no sign of the click before:
// nothing runs, and no chat was asked for. A page that had not finished its
// start may have thrown the text away after the click; then it is put in again.
func (s *sending) pressIfIdle(ctx context.Context) (again bool, err error) {
	state, err := s.page.look(ctx)
	if err != nil {
		return false, nil // the page is busy; the deadline decides
	}
	if trouble := s.page.trouble(state); trouble != nil {
		return false, trouble
	}
	switch {
	case state.Stop || s.page.gate.asked() || len(s.page.gate.given()) > 0:
		return false, nil
	case state.Composer != "" && state.Length == 0:
		f := filling{sending: s}
		if _, err := s.page.until(ctx, composeTimeout, func(state pageState) (bool, error) { return f.look(ctx, state) }, f.late); err != nil {
			return false, err
		}
	case state.Length == 0 || state.Send == "":
		return false, nil
	}
	return true, s.press(ctx)
}

// notSent says what is known when no send came.
func (s *sending) notSent(ctx context.Context, op string) error {
	if strange := s.page.gate.strangers(); len(strange) > 0 {
		return fail(KindSiteChanged, op, "the page sends the text in a way that is not known (%s); it was refused", strange[0])
	}
	if state, err := s.page.look(ctx); err == nil {
		if trouble := s.page.trouble(state); trouble != nil {
			return trouble
		}
	}
	if s.page.gate.asked() {
		return fail(KindSiteChanged, op, "the page asks for a chat, and then sends nothing")
	}
	n := utf8.RuneCountInString(s.prompt)
	if n < quietLeast {
		return fail(KindSiteChanged, op, "the page sends nothing, and doesn't say why")
	}
	e := fail(KindInvalid, op, "the page sends nothing: it seems to refuse a text of %d characters", n)
	e.Advice = adviceShorten
	return e
}
