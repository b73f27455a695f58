package qwen

import (
	"context"
	"net/url"
	"time"
)

// Stop asks the site to end the answer that it is writing in the chat, as the
// page's stop button does. It is an effort, not a promise: what the site makes
// of it, the next read shows. The site knows its own answer, so the message is
// not needed.
func (c *Client) Stop(ctx context.Context, address, _ string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	const op = "stop the answer"
	id, err := c.site.chatID(address)
	if err != nil {
		return err
	}
	p, err := c.current(ctx)
	if err != nil {
		return err
	}
	r, err := p.post(ctx, c.options.Table.StopAnswer+"?chat_id="+url.QueryEscape(id), map[string]string{"chat_id": id})
	if err == nil {
		err = r.check(op, time.Now())
	}
	return c.leave(ctx, err)
}

// post sends a small body to a path of the site from inside the page. The gate
// sees it like any request of the page: it carries no prompt.
func (p *page) post(ctx context.Context, path string, body map[string]string) (reply, error) {
	tab, cancel := p.within(ctx)
	defer cancel()
	tab, cancelTime := context.WithTimeout(tab, replyTimeout+commandTimeout)
	defer cancelTime()
	r, err := call[reply](tab, "post", path, body, replyTimeout.Milliseconds())
	if err != nil {
		return reply{}, fail(KindUnreachable, "ask the site for "+path, "%w", err)
	}
	return r, nil
}
