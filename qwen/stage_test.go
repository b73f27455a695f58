package qwen_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

var modes = map[string]qwentest.Mode{"http": qwentest.ModeHTTP, "h1": qwentest.ModeHTTPS1, "h2": qwentest.ModeHTTPS2}

// brisk is the site at a pace that a test need not wait for.
var brisk = qwentest.Options{Hydration: 80 * time.Millisecond, Ready: 40 * time.Millisecond, ChunkDelay: time.Millisecond, FirstByte: time.Millisecond}

// busy is brisk with a page that keeps its connections in use: it asks for
// something ten times a second.
func busy() qwentest.Options {
	o := brisk
	o.Background = 100 * time.Millisecond
	return o
}

// stage is a rehearsal site and a client that is logged in to it.
type stage struct {
	site    *qwentest.Site
	server  *qwentest.Server
	client  *qwen.Client
	profile *qwen.Profile
	log     *logWriter
	dir     string // of a shared stage

	mu    sync.Mutex
	step  func(string)
	ended []string
}

// logWriter writes the client's log to the test that runs now.
type logWriter struct {
	mu sync.Mutex
	t  testing.TB
}

func (w *logWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.t != nil {
		w.t.Logf("%s", b)
	}
	return len(b), nil
}

func (w *logWriter) to(t testing.TB) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t = t
}

// open starts a site and a client on a profile in dir; change may alter the
// client's options.
func open(mode qwentest.Mode, site qwentest.Options, dir string, change func(*qwen.Options)) (*stage, error) {
	s := &stage{site: qwentest.New(site), log: &logWriter{}}
	var err error
	if s.server, err = s.site.Start(mode); err != nil {
		return nil, err
	}
	if s.profile, err = qwen.OpenProfile(dir); err != nil {
		return nil, err
	}
	o := qwen.Options{
		Site: s.server.URL, Table: qwen.DefaultSite(), Profile: s.profile, PageAge: 150 * time.Millisecond,
		TrustSPKI: s.server.SPKI, Log: zerolog.New(s.log).Level(zerolog.WarnLevel),
		Step: func(name string) {
			s.mu.Lock()
			step := s.step
			s.mu.Unlock()
			if step != nil {
				step(name)
			}
		},
		Ended: func(address string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.ended = append(s.ended, address)
		},
	}
	if change != nil {
		change(&o)
	}
	s.client, err = qwen.New(o)
	return s, err
}

func (s *stage) close() {
	s.client.Close()
	s.profile.Close()
	s.server.Close()
}

// newStage is a stage of the test's own with the light browser, logged out.
func newStage(t *testing.T, mode qwentest.Mode, site qwentest.Options, change func(*qwen.Options)) *stage {
	t.Helper()
	s, err := open(mode, site, t.TempDir(), func(o *qwen.Options) {
		o.Browser = lightBrowser()
		if change != nil {
			change(o)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s.log.to(t)
	t.Cleanup(func() { s.close(); s.log.to(nil) })
	return s
}

// shared are the stages that many tests use: a browser's start costs more than
// most tests. More of them than the machine has work for only slow each other.
var shared = map[string]pool{"http": newPool(), "h1": newPool(), "h2": newPool(),
	"light http": newPool(), "light h1": newPool(), "light h2": newPool()}

// pool are the stages of a mode that no test uses now; one is opened when a
// test first gets it.
type pool chan *stage

func newPool() pool {
	p := make(pool, 1)
	p <- &stage{}
	return p
}

// lightBrowser is the light browser; "" (the usual one) where there is none, and
// with -full.
func lightBrowser() string {
	if *full {
		return ""
	}
	return lightPath()
}

// lightPath is Debian's Chromium without a user interface, which costs half as
// much work; "" where there is none.
func lightPath() string {
	const path = "/usr/lib/chromium/chromium-headless-shell"
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// onLight is onShared with the light browser: for what hangs on the page and
// the site, not on the browser.
func onLight(t *testing.T, mode string, site qwentest.Options) *stage {
	t.Helper()
	return onShared(t, "light "+mode, site)
}

// onShared is a shared stage of a mode with the site's options set to these,
// and all faults cleared, for the time of the test. No other test uses it then.
func onShared(t *testing.T, mode string, site qwentest.Options) *stage {
	t.Helper()
	p := shared[mode]
	s := <-p
	t.Cleanup(func() { p <- s })
	if s.client == nil {
		opened, err := openShared(mode)
		if err != nil {
			t.Fatal(err)
		}
		s = opened
	}
	s.log.to(t)
	s.site.ClearLedger()
	s.configure(site)
	t.Cleanup(func() {
		s.site.Clear()
		s.configure(brisk)
		s.onStep(nil)
		s.log.to(nil)
	})
	return s
}

// openShared is a stage that is logged in, in a folder that closeShared removes.
func openShared(mode string) (*stage, error) {
	dir, err := os.MkdirTemp("", "qwen-test")
	if err != nil {
		return nil, err
	}
	name, light := strings.CutPrefix(mode, "light ")
	s, err := open(modes[name], brisk, dir, func(o *qwen.Options) {
		if light {
			o.Browser = lightBrowser()
		}
		o.Continue = 3
	})
	if err != nil {
		return nil, err
	}
	s.dir = dir
	return s, s.client.UseToken(context.Background(), s.site.Token())
}

func closeShared() {
	for _, p := range shared {
		for range cap(p) {
			if s := <-p; s.client != nil {
				s.close()
				os.RemoveAll(s.dir)
			}
		}
	}
}

// configure sets the site's options; the next call loads a page with them.
func (s *stage) configure(o qwentest.Options) {
	s.client.Forget()
	s.site.Configure(func(now *qwentest.Options) { *now = o })
}

// onStep makes f be called at each step of a send.
func (s *stage) onStep(f func(string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step = f
}

// login brings the default account's token in.
func (s *stage) login(t *testing.T) {
	t.Helper()
	if err := s.client.UseToken(t.Context(), s.site.Token()); err != nil {
		t.Fatal(err)
	}
}

// send sends a prompt and returns the address that was committed.
func (s *stage) send(ctx context.Context, prompt string) (address, message string, err error) {
	message, err = s.client.Send(ctx, qwen.Outgoing{Prompt: prompt}, func(a, _ string) error { address = a; return nil })
	return address, message, err
}

// mustSend sends a prompt, and demands that the site has it once, whole.
func (s *stage) mustSend(t *testing.T, prompt string) (address, message string) {
	t.Helper()
	address, message, err := s.send(t.Context(), prompt)
	if err != nil {
		t.Fatalf("send %.60q: %v", prompt, err)
	}
	if e := s.site.Find(prompt); e.Posted != 1 || e.Accepted != 1 || e.Size != len(prompt) || (len(prompt) > 15 && len(e.Elsewhere) > 0) {
		t.Fatalf("send %.60q: posted %d, accepted %d, %d of %d bytes, also to %v", prompt, e.Posted, e.Accepted, e.Size, len(prompt), e.Elsewhere)
	}
	return address, message
}

// answer reads the chat until it is done.
func (s *stage) answer(t *testing.T, address, message string) qwen.Turn {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		turn, err := s.client.Read(t.Context(), address, message, "")
		if err != nil {
			t.Fatal(err)
		}
		if turn.Done {
			return turn
		}
		if time.Now().After(deadline) {
			t.Fatalf("no whole answer in time; so far %d characters", len(turn.Text))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// fault returns the driver's error in err, nil if there is none.
func fault(err error) *qwen.Error {
	var e *qwen.Error
	errors.As(err, &e)
	return e
}

// kind is the kind of an error, "" for nil.
func kind(err error) qwen.Kind {
	if e := fault(err); e != nil {
		return e.Kind
	}
	return ""
}

// writeScript makes a program of shell commands.
func writeScript(t *testing.T, path, commands string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+commands+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }
