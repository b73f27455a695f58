//go:build !linux

package qwen

import (
	"net"
	"syscall"
)

// hardenSocket does nothing where the kernel has other options.
func hardenSocket(_, _ string, _ syscall.RawConn) error { return nil }

// sameUser can't be told here; the listener is on loopback only.
func sameUser(net.Conn) bool { return true }
