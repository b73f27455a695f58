package qwen

import "time"

// Impatient shortens the waits for a page or a site that does nothing.
func Impatient() {
	holdTimeout, pressAgain = 20*time.Second, 500*time.Millisecond
	headersTimeout, checkTimeout, replyTimeout = 10*time.Second, 3*time.Second, 3*time.Second
}

// Forget makes the next call load a new page.
func (c *Client) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.discard(c.page)
}
