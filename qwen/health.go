package qwen

import "time"

// Health is what there is to know of the driver's browser, for people and
// programs that watch over it.
type Health struct {
	Running  bool
	Version  string        // as the last browser names itself
	Age      time.Duration // of the one that runs
	Memory   int64         // bytes that its processes use, as far as they show it (docs/browser.md); 0 if none runs
	Starts   int           // browsers started so far
	Recycled int           // of those: replaced for their age, jobs, memory or an upgrade
	Deaths   int           // browsers or pages that ended by themselves
}

// Health tells of the browser. It waits for no call that is under way.
func (c *Client) Health() Health {
	h := c.keeper.health()
	if b := c.latest.Load(); b != nil && b.ctx.Err() == nil {
		h.Running, h.Version, h.Age, h.Memory = true, b.version, time.Since(b.born), treeMemory(b.pid)
	}
	return h
}

// health tells what was counted.
func (k *keeper) health() Health {
	k.mu.Lock()
	defer k.mu.Unlock()
	return Health{Starts: k.starts, Recycled: k.recycled, Deaths: k.deaths}
}
