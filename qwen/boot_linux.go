package qwen

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootTime is a clock that only goes forward and counts suspended time too.
func bootTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return time.Since(processStart)
	}
	return time.Duration(ts.Nano())
}

var processStart = time.Now()
