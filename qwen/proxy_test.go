package qwen

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	netproxy "golang.org/x/net/proxy"
)

// endpoint is a server that answers every byte with itself and keeps count.
type endpoint struct {
	ln net.Listener
	wg sync.WaitGroup
	mu sync.Mutex
	in bytes.Buffer
}

func newEndpoint(t *testing.T) *endpoint {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &endpoint{ln: ln}
	e.wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			e.wg.Go(func() {
				defer conn.Close()
				io.Copy(io.MultiWriter(conn, e), conn)
			})
		}
	})
	t.Cleanup(func() { ln.Close(); e.wg.Wait() })
	return e
}

// Write notes what came in.
func (e *endpoint) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.in.Write(b)
}

func (e *endpoint) received() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.in.String()
}

func (e *endpoint) address() string { return e.ln.Addr().String() }

func newTestProxy(t *testing.T, site string, dial dialFunc) *proxy {
	t.Helper()
	if dial == nil {
		dial = func(ctx context.Context, hostPort string) (net.Conn, error) {
			return directDialer.DialContext(ctx, "tcp", hostPort)
		}
	}
	p, err := newProxy(site, dial, sameUser)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p
}

// through connects to an address by way of the proxy.
func through(t *testing.T, p *proxy, address string) (net.Conn, error) {
	t.Helper()
	d, err := netproxy.SOCKS5("tcp", p.address(), nil, &net.Dialer{Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := d.Dial("tcp", address)
	if err == nil {
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		t.Cleanup(func() { conn.Close() })
	}
	return conn, err
}

// works reports whether a connection carries bytes there and back.
func works(conn net.Conn) bool {
	if _, err := conn.Write([]byte("ping")); err != nil {
		return false
	}
	_, err := io.ReadFull(conn, make([]byte, 4))
	return err == nil
}

func TestProxyModes(t *testing.T) {
	site, other := newEndpoint(t), newEndpoint(t)
	for _, c := range []struct {
		mode             proxyMode
		sites, elsewhere int // of two connections, so many pass
	}{{modeClosed, 0, 0}, {modeOpen, 2, 2}, {modeShut, 0, 2}} {
		p := newTestProxy(t, site.address(), nil)
		p.setMode(c.mode)
		count := func(address string) (n int) {
			for range 2 {
				if conn, err := through(t, p, address); err == nil && works(conn) {
					n++
				}
			}
			return n
		}
		if got := count(site.address()); got != c.sites {
			t.Errorf("mode %d: %d to the site, want %d", c.mode, got, c.sites)
		}
		if got := count(other.address()); got != c.elsewhere {
			t.Errorf("mode %d: %d elsewhere, want %d", c.mode, got, c.elsewhere)
		}
	}
}

// TestProxyAllowsOne: of several tunnels one passes. The others wait, and are
// refused when the one ends or the proxy is shut; when it opens they pass.
func TestProxyAllowsOne(t *testing.T) {
	for name, c := range map[string]struct {
		then   func(p *proxy, one net.Conn)
		passes bool
	}{
		"the one ends":  {func(_ *proxy, one net.Conn) { one.Close() }, false},
		"shut":          {func(p *proxy, _ net.Conn) { p.shut() }, false},
		"closed":        {func(p *proxy, _ net.Conn) { p.setMode(modeClosed) }, false},
		"open again":    {func(p *proxy, _ net.Conn) { p.setMode(modeOpen) }, true},
		"allowed again": {func(p *proxy, _ net.Conn) { p.setMode(modeAllowOne) }, true},
	} {
		site, other := newEndpoint(t), newEndpoint(t)
		p := newTestProxy(t, site.address(), nil)
		p.setMode(modeAllowOne)
		one, err := through(t, p, site.address())
		if err != nil || !works(one) {
			t.Fatalf("%s: the one: %v", name, err)
		}
		if conn, err := through(t, p, other.address()); err != nil || !works(conn) {
			t.Errorf("%s: another host: %v", name, err)
		}
		second := make(chan bool, 1)
		go func() {
			d, _ := netproxy.SOCKS5("tcp", p.address(), nil, &net.Dialer{})
			conn, err := d.Dial("tcp", site.address())
			if err == nil {
				defer conn.Close()
			}
			second <- err == nil && works(conn)
		}()
		select {
		case passed := <-second:
			t.Errorf("%s: the second does not wait (passes: %v)", name, passed)
			continue
		case <-time.After(50 * time.Millisecond):
		}
		c.then(p, one)
		if passed := <-second; passed != c.passes {
			t.Errorf("%s: the second passes: %v", name, passed)
		}
	}
}

// TestProxyCutsInFlight: shutting ends the site's tunnels before it returns,
// leaves the others, and closing ends all.
func TestProxyCutsInFlight(t *testing.T) {
	site, other := newEndpoint(t), newEndpoint(t)
	p := newTestProxy(t, site.address(), nil)
	p.setMode(modeOpen)
	toSite, err := through(t, p, site.address())
	if err != nil || !works(toSite) {
		t.Fatal(err)
	}
	toOther, err := through(t, p, other.address())
	if err != nil || !works(toOther) {
		t.Fatal(err)
	}
	p.setMode(modeShut)
	if works(toSite) {
		t.Error("the site is still reached")
	}
	if !works(toOther) {
		t.Error("the other host is cut")
	}
	if got := site.received(); got != "ping" {
		t.Errorf("the site received %q", got)
	}
	p.setMode(modeClosed)
	if works(toOther) {
		t.Error("a closed proxy carries on")
	}
}

// TestProxyCutsWhileDialling: a tunnel whose far end is not there yet when the
// proxy shuts never gets one.
func TestProxyCutsWhileDialling(t *testing.T) {
	site := newEndpoint(t)
	dialling, goOn := make(chan struct{}), make(chan struct{})
	p := newTestProxy(t, site.address(), func(ctx context.Context, hostPort string) (net.Conn, error) {
		close(dialling)
		<-goOn
		return directDialer.DialContext(context.WithoutCancel(ctx), "tcp", hostPort)
	})
	p.setMode(modeOpen)
	failed := make(chan error, 1)
	go func() {
		d, _ := netproxy.SOCKS5("tcp", p.address(), nil, &net.Dialer{})
		conn, err := d.Dial("tcp", site.address())
		if err == nil {
			conn.Close()
		}
		failed <- err
	}()
	<-dialling
	p.setMode(modeShut)
	close(goOn)
	if err := <-failed; err == nil {
		t.Error("the tunnel came about after the cut")
	}
	if got := site.received(); got != "" {
		t.Errorf("the site received %q", got)
	}
}

// TestProxyCounts: 0 means that not a byte left since the proxy was shut, and
// anything else that some may have.
func TestProxyCounts(t *testing.T) {
	site := newEndpoint(t)
	p := newTestProxy(t, site.address(), nil)
	p.setMode(modeShut)
	p.setMode(modeAllowOne)
	if got := p.shut(); got != 0 {
		t.Errorf("nothing asked: %d", got)
	}
	p.setMode(modeAllowOne)
	if _, err := through(t, p, site.address()); err != nil {
		t.Fatal(err)
	}
	if got := p.shut(); got != 0 {
		t.Errorf("connected, nothing sent: %d", got)
	}
	p.setMode(modeAllowOne)
	conn, err := through(t, p, site.address())
	if err != nil || !works(conn) {
		t.Fatal(err)
	}
	if got := p.shut(); got != 4 {
		t.Errorf("4 bytes sent: %d", got)
	}
	if got := p.shut(); got != 0 {
		t.Errorf("shut before: %d", got)
	}
}

// TestProxyCountIsProof: a client connects and writes while the proxy is shut,
// a little earlier or later each time. A count of 0 means that the site has
// nothing, then or later.
func TestProxyCountIsProof(t *testing.T) {
	zero := 0
	for round := range 100 {
		site := newEndpoint(t)
		p := newTestProxy(t, site.address(), nil)
		p.setMode(modeAllowOne)
		var client sync.WaitGroup
		client.Go(func() {
			d, _ := netproxy.SOCKS5("tcp", p.address(), nil, &net.Dialer{Timeout: 5 * time.Second})
			if conn, err := d.Dial("tcp", site.address()); err == nil {
				conn.Write([]byte("prompt"))
				conn.SetDeadline(time.Now().Add(50 * time.Millisecond))
				io.Copy(io.Discard, conn)
				conn.Close()
			}
		})
		for begin := time.Now(); time.Since(begin) < time.Duration(round)*50*time.Microsecond; {
		}
		sent := p.shut()
		client.Wait()
		p.close()
		if sent == 0 {
			zero++
			if got := site.received(); got != "" {
				t.Fatalf("the count is 0 and the site received %q", got)
			}
		}
	}
	t.Logf("%d of 100 cuts were in time", zero)
}

func TestProxyDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &proxy{moved: make(chan struct{})}
		took := func() time.Duration {
			begin := time.Now()
			p.drain()
			return time.Since(begin)
		}
		ask := func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.asked = time.Now()
		}
		if got := took(); got != 0 {
			t.Errorf("nobody asked: waited %v", got)
		}
		ask()
		if got := took(); got != drainQuiet {
			t.Errorf("asked once: waited %v", got)
		}
		ask()
		var asking sync.WaitGroup
		asking.Go(func() {
			for range 2 * int(drainLimit/drainQuiet) {
				ask()
				time.Sleep(drainQuiet - time.Millisecond)
			}
		})
		if got := took(); got < drainLimit || got > drainLimit+drainQuiet {
			t.Errorf("asked all the time: waited %v", got)
		}
		asking.Wait()
	})
}

func TestProxyRefusesForeigners(t *testing.T) {
	site := newEndpoint(t)
	p := newTestProxy(t, site.address(), nil)
	p.setMode(modeOpen)
	if conn, err := through(t, p, site.address()); err != nil || !works(conn) {
		t.Fatalf("our own user is refused: %v", err)
	}
	strict, err := newProxy(site.address(), p.dial, func(net.Conn) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	defer strict.close()
	strict.setMode(modeOpen)
	if _, err := through(t, strict, site.address()); err == nil {
		t.Error("a connection of another user is served")
	}
	if sameUser(pipeConn(t)) {
		t.Error("a connection of no known owner is taken for ours")
	}
}

// pipeConn is a connection that no socket table knows.
func pipeConn(t *testing.T) net.Conn {
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	return a
}

// TestProxySpeaksSOCKS: what isn't understood is refused or dropped, and
// addresses of all kinds are read.
func TestProxySpeaksSOCKS(t *testing.T) {
	asked := make(chan string, 1)
	p := newTestProxy(t, "site.example:443", func(_ context.Context, hostPort string) (net.Conn, error) {
		asked <- hostPort
		return nil, errors.New("no network here")
	})
	p.setMode(modeOpen)
	talk := func(bytes ...byte) []byte {
		conn, err := net.Dial("tcp", p.address())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		conn.Write(bytes)
		conn.(*net.TCPConn).CloseWrite()
		got, _ := io.ReadAll(conn)
		return got
	}
	hello := []byte{5, 1, 0}
	name := append([]byte{5, 1, 0, 3, 12}, "site.example\x01\xbb"...)
	for want, request := range map[string][]byte{
		"site.example:443": name,
		"192.0.2.1:80":     {5, 1, 0, 1, 192, 0, 2, 1, 0, 80},
		"[2001:db8::1]:80": {5, 1, 0, 4, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 80},
	} {
		got := talk(append(bytes.Clone(hello), request...)...)
		if target := <-asked; target != want || len(got) < 4 || got[3] != socksUnreachable {
			t.Errorf("asked for %s: dialled %s, answered %v", want, target, got)
		}
	}
	for what, request := range map[string][]byte{
		"SOCKS4": {4, 1, 0, 80, 1, 2, 3, 4, 0}, "nothing": {}, "half a greeting": {5}, "no methods": {5, 3, 0},
		"BIND": append(bytes.Clone(hello), 5, 2, 0, 1, 1, 2, 3, 4, 0, 80), "UDP": append(bytes.Clone(hello), 5, 3, 0, 1, 1, 2, 3, 4, 0, 80),
		"unknown address": append(bytes.Clone(hello), 5, 1, 0, 9, 1, 2, 3, 4, 0, 80), "cut": append(bytes.Clone(hello), name[:9]...), "HTTP": []byte("GET / HTTP/1.1\r\n\r\n"),
	} {
		if got := talk(request...); len(got) > 3 && got[3] == socksOK {
			t.Errorf("%s is served: %v", what, got)
		}
		select {
		case target := <-asked:
			t.Errorf("%s makes it dial %s", what, target)
		default:
		}
	}
}
