//go:build !linux

package qwen

import "time"

// bootTime is a clock that only goes forward.
func bootTime() time.Duration { return time.Since(processStart) }

var processStart = time.Now()
