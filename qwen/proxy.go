package qwen

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// proxyMode is what the proxy lets through to the site. Other hosts (scripts,
// images) pass in every mode but modeClosed.
type proxyMode int32

const (
	modeClosed   proxyMode = iota // nothing at all: the gate isn't armed yet
	modeOpen                      // everything
	modeShut                      // nothing to the site; its tunnels are cut
	modeAllowOne                  // one new tunnel to the site; more wait until it ends
)

// errShut is the answer to a tunnel that the mode forbids.
var errShut = errors.New("the proxy is shut")

// proxy is a SOCKS5 server on loopback, the browser's only way out. http and
// https are tunnels alike; TLS stays end to end. It owns every tunnel, so
// that those to the site can be cut at once and counted.
type proxy struct {
	site  string // host:port of the site
	ln    net.Listener
	dial  dialFunc
	owner func(net.Conn) bool // is the peer one of ours?

	mu      sync.Mutex
	mode    proxyMode
	one     *tunnel       // the tunnel that modeAllowOne let through
	body    int           // bytes of the body that the one tunnel may carry once; 0 if unknown
	moved   chan struct{} // closed when the mode changes
	tunnels map[*tunnel]struct{}
	asked   time.Time // when a tunnel to the site was last asked for or cut

	wg sync.WaitGroup
}

// dialFunc opens a connection towards host:port, resolving names.
type dialFunc func(ctx context.Context, hostPort string) (net.Conn, error)

// newProxy listens on a free loopback port. The proxy starts closed. owner
// says whether a connection comes from somebody who may use it.
func newProxy(site string, dial dialFunc, owner func(net.Conn) bool) (*proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fail(KindBrowser, "open the browser's way out", "%w", err)
	}
	p := &proxy{site: site, ln: ln, dial: dial, owner: owner, tunnels: map[*tunnel]struct{}{}, moved: make(chan struct{})}
	p.wg.Go(p.accept)
	return p, nil
}

// address is host:port of the listener.
func (p *proxy) address() string { return p.ln.Addr().String() }

// close cuts everything and waits for the goroutines.
func (p *proxy) close() {
	p.ln.Close()
	p.setMode(modeClosed)
	p.wg.Wait()
}

func (p *proxy) accept() {
	for {
		conn, err := p.ln.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(conn) })
	}
}

// setMode changes what may pass. Shutting cuts every tunnel to the site before
// it returns; closing cuts all of them.
func (p *proxy) setMode(m proxyMode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set(m)
}

// allowOne is setMode(modeAllowOne) for a request with a body of so many bytes,
// which goes through no second time before the mode changes again.
func (p *proxy) allowOne(body int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set(modeAllowOne)
	p.body = body
}

// set is setMode with the lock held.
func (p *proxy) set(m proxyMode) {
	if p.one != nil && p.one.once != nil && m == modeOpen {
		p.one.once.lift()
	}
	p.mode = m
	p.one, p.body = nil, 0
	close(p.moved)
	p.moved = make(chan struct{})
	for t := range p.tunnels {
		if m == modeClosed || (m == modeShut && t.site) {
			t.close()
			p.asked = time.Now()
		}
	}
}

// How long the browser must not have asked for the site, and how long at most
// that is waited for.
const (
	drainQuiet = 60 * time.Millisecond
	drainLimit = 2 * time.Second
)

// drain waits, with the site out of reach, until the browser has stopped
// asking for it: what the cut broke has failed by then. Earlier, a broken
// request might take the one connection that the send will get.
func (p *proxy) drain() {
	for end := time.Now().Add(drainLimit); time.Now().Before(end); {
		p.mu.Lock()
		quiet := time.Since(p.asked)
		p.mu.Unlock()
		if quiet >= drainQuiet {
			return
		}
		time.Sleep(drainQuiet - quiet)
	}
}

// shut is setMode(modeShut) that tells how many bytes went towards the site
// through the one tunnel that modeAllowOne let through. 0 is proof that nothing
// left since the proxy was shut before: the tunnel is cut first, under the lock
// under which it came about, and a tunnel counts before it writes, so what is
// not counted by now can't be written.
func (p *proxy) shut() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.one
	p.set(modeShut)
	if one == nil {
		return 0
	}
	return one.sent.Load()
}

// enter registers a tunnel if the mode lets it through. While one is allowed,
// more wait: the browser starts a second attempt for one request when the
// first is slow, and must not take our refusal of that for the request's end.
// When the one has ended they are refused: that is Chromium's own repeat.
func (p *proxy) enter(t *tunnel) error {
	for {
		wait, err := p.tryEnter(t)
		if err != nil || wait == nil {
			return err
		}
		select {
		case <-wait.moved:
		case <-wait.ended:
			return errShut
		}
	}
}

// parked is what a tunnel waits for: another mode, or the one tunnel's end.
type parked struct{ moved, ended <-chan struct{} }

// tryEnter registers a tunnel, refuses it, or says what to wait for.
func (p *proxy) tryEnter(t *tunnel) (wait *parked, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.site {
		p.asked = time.Now()
	}
	switch {
	case p.mode == modeClosed, t.site && p.mode == modeShut:
		return nil, errShut
	case t.site && p.mode == modeAllowOne && p.one != nil:
		return &parked{p.moved, p.one.ended}, nil
	case t.site && p.mode == modeAllowOne:
		p.one = t
		if p.body > 0 {
			t.once = &once{body: p.body}
		}
	}
	p.tunnels[t] = struct{}{}
	return nil, nil
}

func (p *proxy) leave(t *tunnel) {
	t.close()
	p.mu.Lock()
	delete(p.tunnels, t)
	p.mu.Unlock()
}

// serve speaks SOCKS5 with one connection of the browser and carries it.
func (p *proxy) serve(conn net.Conn) {
	defer conn.Close()
	if !p.owner(conn) {
		return
	}
	target, err := socksRequest(conn)
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	t := &tunnel{site: target == p.site, client: conn, cancel: cancel, ended: make(chan struct{})}
	if err := p.enter(t); err != nil {
		socksReply(conn, socksNotAllowed)
		return
	}
	defer p.leave(t)
	upstream, err := p.dial(ctx, target)
	if err != nil || !t.attach(upstream) {
		socksReply(conn, socksUnreachable)
		return
	}
	if err := socksReply(conn, socksOK); err != nil {
		return
	}
	t.carry()
}
