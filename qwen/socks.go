package qwen

import (
	"fmt"
	"io"
	"net"
	"time"
)

// SOCKS5 (RFC 1928), as much as a browser needs: no authentication, CONNECT,
// names and addresses.
const (
	socksVersion     = 5
	socksConnect     = 1
	socksOK          = 0
	socksNotAllowed  = 2
	socksUnreachable = 4
)

// socksRequest reads the greeting and the request and returns host:port.
func socksRequest(conn net.Conn) (string, error) {
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	defer conn.SetDeadline(time.Time{})
	head := make([]byte, 2)
	if _, err := io.ReadFull(conn, head); err != nil {
		return "", err
	}
	if head[0] != socksVersion {
		return "", fmt.Errorf("not SOCKS5: version %d", head[0])
	}
	if _, err := io.ReadFull(conn, make([]byte, head[1])); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte{socksVersion, 0}); err != nil {
		return "", err
	}
	request := make([]byte, 4)
	if _, err := io.ReadFull(conn, request); err != nil {
		return "", err
	}
	if request[1] != socksConnect {
		socksReply(conn, 7)
		return "", fmt.Errorf("SOCKS command %d is not CONNECT", request[1])
	}
	return socksTarget(conn, request[3])
}

// socksTarget reads an address of the given type and a port.
func socksTarget(conn net.Conn, kind byte) (string, error) {
	var size int
	switch kind {
	case 1:
		size = net.IPv4len
	case 4:
		size = net.IPv6len
	case 3:
		length := make([]byte, 1)
		if _, err := io.ReadFull(conn, length); err != nil {
			return "", err
		}
		size = int(length[0])
	default:
		return "", fmt.Errorf("SOCKS address type %d is unknown", kind)
	}
	rest := make([]byte, size+2)
	if _, err := io.ReadFull(conn, rest); err != nil {
		return "", err
	}
	host := string(rest[:size])
	if kind != 3 {
		host = net.IP(rest[:size]).String()
	}
	return net.JoinHostPort(host, fmt.Sprint(int(rest[size])<<8|int(rest[size+1]))), nil
}

func socksReply(conn net.Conn, code byte) error {
	_, err := conn.Write([]byte{socksVersion, code, 0, 1, 0, 0, 0, 0, 0, 0})
	return err
}
