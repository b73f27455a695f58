package qwen

import (
	"context"
	"time"
)

// rendered waits until the page shows a message of the chat it was opened at, is
// old enough and writes nothing.
func (p *page) rendered(ctx context.Context, op, chat, message string) error {
	since := time.Now()
	shown := false
	_, err := p.until(ctx, composeTimeout, func(s pageState) (bool, error) {
		if err := p.trouble(s); err != nil {
			return false, err
		}
		if err := s.blocked(since); err != nil {
			return false, err
		}
		if id, err := p.client.site.chatID(s.Href); err != nil || id != chat || s.Stop || s.Age < float64(p.client.options.PageAge.Milliseconds()) {
			return false, nil
		}
		var err error
		shown, err = p.shows(ctx, message)
		return shown && err == nil, nil
	}, func(s pageState, err error) error {
		if id, _ := p.client.site.chatID(s.Href); id == chat && s.Stop {
			return busy(op, "%s", "the chat's page goes on writing")
		}
		return fail(KindSiteChanged, op, "the page does not show the chat: at %q, message shown %v", oneLine(s.Href, 80), shown)
	})
	return err
}

// shows reports whether the page shows a message, by its id.
func (p *page) shows(ctx context.Context, message string) (bool, error) {
	tab, cancel := p.within(ctx)
	defer cancel()
	tab, cancelTime := context.WithTimeout(tab, commandTimeout)
	defer cancelTime()
	return call[bool](tab, "shows", message)
}
