//go:build !linux

package qwen

import (
	"os"
	"syscall"
)

// processAttributes has nothing to add here: the browser ends when its control
// pipe breaks.
func processAttributes() *syscall.SysProcAttr { return nil }

func killGroup(p *os.Process) error { return p.Kill() }
