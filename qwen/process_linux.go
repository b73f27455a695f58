package qwen

import (
	"os"
	"syscall"
)

// processAttributes: an own process group, and death with this program. The
// allocator starts the process from a thread that it keeps until the end, as
// the signal is bound to that thread.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup kills the browser and all its helpers.
func killGroup(p *os.Process) error {
	if err := syscall.Kill(-p.Pid, syscall.SIGKILL); err != nil {
		return p.Kill()
	}
	return nil
}
