package qwen

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/chromedp/chromedp"
	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"watcher/qwen/qwentest"
)

// Here are tests for lines of defence that stand behind another one: with one
// of the two left out nothing goes wrong yet, so each is looked at alone.

// rehearsed is a client that is logged in to a rehearsal site whose page asks
// for something ten times a second, with the light browser where there is one.
func rehearsed(t *testing.T, change func(*qwentest.Options), step func(*Client, string)) (*Client, *qwentest.Site) {
	t.Helper()
	o := qwentest.Options{Hydration: 80 * time.Millisecond, Ready: 40 * time.Millisecond, ChunkDelay: time.Millisecond,
		FirstByte: time.Millisecond, Background: 100 * time.Millisecond}
	change(&o)
	site := qwentest.New(o)
	server, err := site.Start(qwentest.ModeHTTP)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	profile, err := OpenProfile(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { profile.Close() })
	var c *Client
	options := Options{Site: server.URL, Table: DefaultSite(), Profile: profile, PageAge: 150 * time.Millisecond,
		Log: zerolog.Nop(), Step: func(name string) { step(c, name) }}
	const light = "/usr/lib/chromium/chromium-headless-shell"
	if _, err := os.Stat(light); err == nil {
		options.Browser = light
	}
	if c, err = New(options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.UseToken(t.Context(), site.Token()); err != nil {
		t.Fatal(err)
	}
	return c, site
}

// TestShutWhileHeld: from the hold to the release the site is out of reach, not
// only for the send; then for all but one connection.
func TestShutWhileHeld(t *testing.T) {
	t.Parallel()
	want := map[string]proxyMode{StepHeld: modeShut, StepVerified: modeShut, StepCommitted: modeShut,
		StepReleased: modeAllowOne, StepHeaders: modeAllowOne, StepNamed: modeOpen}
	c, site := rehearsed(t, func(*qwentest.Options) {}, func(c *Client, step string) {
		mode, known := want[step]
		if !known {
			return
		}
		p := c.page.browser.proxy
		p.mu.Lock()
		got := p.mode
		p.mu.Unlock()
		if got != mode {
			t.Errorf("%s: the proxy's mode is %d, want %d", step, got, mode)
		}
		if mode == modeShut {
			if _, err := through(t, p, p.site); err == nil {
				t.Errorf("%s: the site can be reached", step)
			}
		}
	})
	prompt := "Who else can reach the site while this is held?"
	if _, err := c.Send(t.Context(), Outgoing{Prompt: prompt}, func(string, string) error { return nil }); err != nil || site.Find(prompt).Posted != 1 {
		t.Errorf("%v, %+v", err, site.Find(prompt))
	}
}

// TestAbandonedNeverLeaves: a held request that was refused is gone, even when
// the site comes back into reach and the page ends, which would let go one that
// is still held.
func TestAbandonedNeverLeaves(t *testing.T) {
	t.Parallel()
	c, site := rehearsed(t, func(*qwentest.Options) {}, func(c *Client, step string) {
		if step != StepPressed {
			return
		}
		p := c.page
		held := <-p.gate.held // the send has to do without
		if err := p.gate.abandon(&held); err != nil {
			t.Error(err)
		}
		p.browser.proxy.setMode(modeOpen)
		page := chromedp.FromContext(p.ctx).Target.TargetID
		p.cancel()
		for c.browser.guard.exists(t.Context(), page) {
			time.Sleep(10 * time.Millisecond)
		}
		p.browser.proxy.drain() // what it lets go now asks for the site
	})
	prompt := "Refused while it was held, and never heard of again."
	if _, err := c.Send(t.Context(), Outgoing{Prompt: prompt}, func(string, string) error { return nil }); err == nil {
		t.Error("it was sent")
	}
	if got := site.Find(prompt); got.Posted != 0 || len(got.Elsewhere) > 0 {
		t.Errorf("it left: %+v", got)
	}
}

// TestServiceWorkerIsBypassed: a page whose requests go through a service
// worker is sent from all the same, as they do not.
func TestServiceWorkerIsBypassed(t *testing.T) {
	t.Parallel()
	c, site := rehearsed(t, func(o *qwentest.Options) { o.ServiceWorker = "claim" }, func(*Client, string) {})
	prompt := "Does this pass by the service worker?"
	if _, err := c.Send(t.Context(), Outgoing{Prompt: prompt}, func(string, string) error { return nil }); err != nil || site.Find(prompt).Accepted != 1 {
		t.Errorf("%v, %+v", err, site.Find(prompt))
	}
}

// TestCountedBeforeItLeaves: a tunnel counts what it is about to write. That it
// counted nothing is taken for a proof.
func TestCountedBeforeItLeaves(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	tunnel := &tunnel{upstream: near}
	done := make(chan error, 1)
	go func() { _, err := countingWriter{tunnel}.Write([]byte("text")); done <- err }()
	if _, err := far.Read(make([]byte, 1)); err != nil || tunnel.sent.Load() != 4 {
		t.Errorf("a byte is out, %d are counted: %v", tunnel.sent.Load(), err)
	}
	near.Close()
	<-done
}

// TestVerifyOnlyTheNewChat: a send that names one chat throughout, and another
// one than this page was just given.
func TestVerifyOnlyTheNewChat(t *testing.T) {
	address := strings.Replace(goodURL, chatA, chatB, 1)
	id, err := verified(t, wantChatA("text"), address, func(b, _ map[string]any) { b["chat_id"], b["chatId"] = chatB, chatB })
	if kindOf(err) != KindSiteChanged || id != "" {
		t.Errorf("%q, %v", id, err)
	}
}

// TestLostSendEndsTheBrowser: what could send a prompt again that got no
// answer is dead when Send returns.
func TestLostSendEndsTheBrowser(t *testing.T) {
	t.Parallel()
	c, site := rehearsed(t, func(*qwentest.Options) {}, func(*Client, string) {})
	site.Fault(qwentest.Fault{Kind: qwentest.DropRST, Times: qwentest.Always})
	b := c.browser
	_, err := c.Send(t.Context(), Outgoing{Prompt: "Lost on its way back, this prompt."}, func(string, string) error { return nil })
	if e, ok := err.(*Error); !ok || !e.MayHaveLeft() || b == nil || b.ctx.Err() == nil {
		t.Errorf("%v; the browser lives", err)
	}
}

// TestSocketsLeaveNothing: a connection to the site drops what the kernel holds
// when its program ends, and gives up on a dead path in bounded time.
func TestSocketsLeaveNothing(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	conn, err := directDialer.DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		linger := unix.Linger{}
		size := uint32(unsafe.Sizeof(linger))
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_LINGER,
			uintptr(unsafe.Pointer(&linger)), uintptr(unsafe.Pointer(&size)), 0)
		limit, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
		if errno != 0 || linger != (unix.Linger{Onoff: 1}) || err != nil || limit != int(userTimeout.Milliseconds()) {
			t.Errorf("linger %+v, user timeout %d ms: %v, %v", linger, limit, errno, err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
