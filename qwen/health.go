package qwen

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Health is what there is to know of the driver's browser, for people and
// programs that watch over it.
type Health struct {
	Running bool
	Version string        // as the last browser names itself
	Age     time.Duration // of the one that runs
	Memory  int64         // bytes that its processes have in memory, shared ones counted more than once; 0 if none runs
	Starts  int           // browsers started so far
}

// Health tells of the browser. It waits for no call that is under way.
func (c *Client) Health() Health {
	h := Health{Starts: int(c.starts.Load())}
	if b := c.latest.Load(); b != nil && b.ctx.Err() == nil {
		h.Running, h.Version, h.Age, h.Memory = true, b.version, time.Since(b.born), groupMemory(b.pid)
	}
	return h
}

// groupMemory adds up what the processes of a process group have in memory.
func groupMemory(group int) (sum int64) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it ended
		}
		sum += memoryIn(b, group)
	}
	return sum
}

// memoryIn reads a process's stat (proc(5)): fields are counted after its name,
// which may hold anything, and pages are resident ones.
func memoryIn(stat []byte, group int) int64 {
	end := bytes.LastIndexByte(stat, ')')
	fields := bytes.Fields(stat[end+1:])
	if end < 0 || len(fields) < 22 || string(fields[2]) != strconv.Itoa(group) {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[21]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
