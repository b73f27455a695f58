package qwentest

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// connection is one TCP connection of a client.
type connection struct {
	id   int64
	tls  *tls.Conn // nil without TLS
	tcp  *net.TCPConn
	used atomic.Int64 // requests that came over it
}

type connectionKey struct{}

// withConnection is an http.Server's ConnContext.
func (s *Site) withConnection(ctx context.Context, c net.Conn) context.Context {
	secure, ok := c.(*tls.Conn)
	if ok {
		c = secure.NetConn()
	}
	tcp, _ := c.(*net.TCPConn)
	return context.WithValue(ctx, connectionKey{}, &connection{id: s.connections.Add(1), tls: secure, tcp: tcp})
}

func connectionOf(r *http.Request) *connection {
	if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
		return c
	}
	return &connection{}
}

// cut ends the connection under a request and the handler with it. An orderly
// end while bytes are unread would turn into a reset, so then only our half is
// closed and the rest a moment later.
func cut(r *http.Request, reset, unread bool) {
	c := connectionOf(r)
	if c.tcp != nil {
		switch {
		case reset:
			_ = c.tcp.SetLinger(0)
		case unread:
			_ = c.tcp.CloseWrite()
			select {
			case <-r.Context().Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
		_ = c.tcp.Close()
	}
	panic(http.ErrAbortHandler)
}

// hang keeps the connection and says nothing until the client leaves.
func (c *call) hang() {
	<-c.r.Context().Done()
	panic(http.ErrAbortHandler)
}
