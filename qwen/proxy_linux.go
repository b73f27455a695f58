package qwen

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// userTimeout is how long the kernel keeps trying to deliver what was handed
// to it; after that a dead path is an error.
const userTimeout = 30 * time.Second

// hardenSocket makes a dead program leave nothing behind: with SO_LINGER 0 the
// kernel drops what it holds instead of delivering it later, and
// TCP_USER_TIMEOUT bounds how long bytes can be under way.
func hardenSocket(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
		if failed == nil {
			failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(userTimeout.Milliseconds()))
		}
	})
	if err != nil {
		return err
	}
	return failed
}

// sameUser reports whether the peer of a loopback connection belongs to this
// user: another user of the machine must not use a logged-in way out. The
// kernel's socket tables name the owner.
func sameUser(conn net.Conn) bool {
	peer, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return false
	}
	want := fmt.Sprintf("%s:%04X", hexIPv4(peer.IP), peer.Port)
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > 7 && fields[1] == want {
			uid, err := strconv.Atoi(fields[7])
			return err == nil && uid == os.Geteuid()
		}
	}
	return false
}

// hexIPv4 is an address as /proc/net/tcp prints it: little-endian hex.
func hexIPv4(ip net.IP) string {
	v4 := ip.To4()
	if v4 == nil {
		return ""
	}
	return fmt.Sprintf("%02X%02X%02X%02X", v4[3], v4[2], v4[1], v4[0])
}
