package qwen

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// userProxy is a proxy as a user may have one, HTTP or SOCKS5, with a password.
type userProxy struct {
	ln net.Listener
	wg sync.WaitGroup

	mu    sync.Mutex
	asked []string
}

func newUserProxy(t *testing.T, serve func(*userProxy, net.Conn)) *userProxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u := &userProxy{ln: ln}
	u.wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			u.wg.Go(func() { defer conn.Close(); serve(u, conn) })
		}
	})
	t.Cleanup(func() { ln.Close(); u.wg.Wait() })
	return u
}

func (u *userProxy) note(what string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = append(u.asked, what)
}

func (u *userProxy) notes() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return strings.Join(u.asked, "; ")
}

// httpProxy answers CONNECT as a proxy with a password does, then echoes.
func httpProxy(u *userProxy, conn net.Conn) {
	r := bufio.NewReader(conn)
	request, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	u.note(request.Method + " " + request.Host + " " + request.Header.Get("Proxy-Authorization"))
	switch {
	case request.Header.Get("Proxy-Authorization") == "":
		io.WriteString(conn, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
	case request.Host == "early.example:443":
		io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\nearly")
	default:
		io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
		io.Copy(conn, r)
	}
}

// socksProxy speaks SOCKS5 with user name and password, then echoes.
func socksProxy(u *userProxy, conn net.Conn) {
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	head := make([]byte, 2)
	io.ReadFull(conn, head)
	io.ReadFull(conn, make([]byte, head[1]))
	conn.Write([]byte{5, 2})
	read := func() string {
		n := make([]byte, 1)
		io.ReadFull(conn, n)
		s := make([]byte, n[0])
		io.ReadFull(conn, s)
		return string(s)
	}
	io.ReadFull(conn, make([]byte, 1))
	user, password := read(), read()
	conn.Write([]byte{1, 0})
	request := make([]byte, 4)
	io.ReadFull(conn, request)
	target, err := socksTarget(conn, request[3])
	if err != nil {
		return
	}
	u.note(user + ":" + password + " " + target)
	socksReply(conn, socksOK)
	io.Copy(conn, conn)
}

// clearProxies takes away what the environment says of proxies.
func clearProxies(t *testing.T) {
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"} {
		t.Setenv(name, "")
		t.Setenv(strings.ToLower(name), "")
	}
}

func TestUpstreamProxies(t *testing.T) {
	h, s := newUserProxy(t, httpProxy), newUserProxy(t, socksProxy)
	for _, c := range []struct {
		env, value string
		proxy      *userProxy
		asked      string
	}{
		{"HTTPS_PROXY", "http://me:secret@" + h.ln.Addr().String(), h, "CONNECT site.example:443 Basic bWU6c2VjcmV0"},
		{"ALL_PROXY", "socks5://me:secret@" + s.ln.Addr().String(), s, "me:secret site.example:443"},
		{"all_proxy", "socks5h://me:secret@" + s.ln.Addr().String(), s, "me:secret site.example:443"},
	} {
		t.Run(c.env, func(t *testing.T) {
			clearProxies(t)
			t.Setenv(c.env, c.value)
			dial, err := upstreamDialer()
			if err != nil {
				t.Fatal(err)
			}
			conn, err := dial(t.Context(), "site.example:443")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(10 * time.Second))
			if !works(conn) {
				t.Error("the tunnel carries nothing")
			}
			if got := c.proxy.notes(); !strings.Contains(got, c.asked) {
				t.Errorf("the proxy was asked %q, want %q", got, c.asked)
			}
		})
	}
}

// TestUpstreamNeverForLoopback: a rehearsal on this machine stays on it, as do
// the hosts of NO_PROXY.
func TestUpstreamNeverForLoopback(t *testing.T) {
	h, direct := newUserProxy(t, httpProxy), newEndpoint(t)
	clearProxies(t)
	t.Setenv("HTTPS_PROXY", "http://me:secret@"+h.ln.Addr().String())
	t.Setenv("NO_PROXY", "localhost.example")
	dial, err := upstreamDialer()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := dial(t.Context(), direct.address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if !works(conn) {
		t.Error("loopback is not reached")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if conn, err := dial(ctx, "localhost.example:1"); err == nil {
		conn.Close()
	}
	if got := h.notes(); got != "" {
		t.Errorf("the proxy was asked for %q", got)
	}
}

func TestUpstreamRefusals(t *testing.T) {
	h := newUserProxy(t, httpProxy)
	secret := url.UserPassword("me", "secret")
	for name, c := range map[string]struct {
		via    url.URL
		target string
		says   string
	}{
		"no password":   {url.URL{Scheme: "http", Host: h.ln.Addr().String()}, "site.example:443", "407"},
		"speaks first":  {url.URL{Scheme: "http", Host: h.ln.Addr().String(), User: secret}, "early.example:443", "200"},
		"unknown kind":  {url.URL{Scheme: "gopher", Host: "127.0.0.1:1", User: secret}, "site.example:443", "use http:// or socks5://"},
		"nobody there":  {url.URL{Scheme: "http", Host: "127.0.0.1:1", User: secret}, "site.example:443", "refused"},
		"nobody, SOCKS": {url.URL{Scheme: "socks5", Host: "127.0.0.1:1", User: secret}, "site.example:443", "refused"},
	} {
		conn, err := dialVia(t.Context(), &c.via, c.target)
		if err == nil {
			conn.Close()
			t.Errorf("%s: connected", name)
			continue
		}
		if !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want %q and no password", name, err, c.says)
		}
	}
	clearProxies(t)
	for _, bad := range []string{"http://[bad", "gopher://127.0.0.1:1", "https://127.0.0.1:1", "socks4://127.0.0.1:1", "http://host:port/path"} {
		t.Setenv("HTTPS_PROXY", bad)
		if _, err := upstreamDialer(); kindOf(err) != KindUnreachable {
			t.Errorf("the proxy %s: %v", bad, err)
		}
	}
	for _, good := range []string{"", "127.0.0.1:3128", "http://127.0.0.1:3128/", "socks5://127.0.0.1:1080"} {
		t.Setenv("HTTPS_PROXY", good)
		if _, err := upstreamDialer(); err != nil {
			t.Errorf("the proxy %q: %v", good, err)
		}
	}
}

// TestUpstreamIsCancelled: a proxy that never answers doesn't hold a tunnel
// that is cut.
func TestUpstreamIsCancelled(t *testing.T) {
	silent := newUserProxy(t, func(u *userProxy, conn net.Conn) { u.note("asked"); io.Copy(io.Discard, conn) })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := dialVia(ctx, &url.URL{Scheme: "http", Host: silent.ln.Addr().String()}, "site.example:443"); err == nil || time.Since(begin) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}
