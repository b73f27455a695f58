package qwen_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

// stage is a rehearsal site and a client that is logged in to it.
type stage struct {
	site    *qwentest.Site
	server  *qwentest.Server
	client  *qwen.Client
	profile *qwen.Profile
}

// newStage starts a site and a client on a profile of its own; change may
// alter the client's options.
func newStage(t *testing.T, mode qwentest.Mode, site qwentest.Options, change func(*qwen.Options)) *stage {
	t.Helper()
	s := &stage{site: qwentest.New(site)}
	var err error
	if s.server, err = s.site.Start(mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.server.Close() })
	if s.profile, err = qwen.OpenProfile(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.profile.Close() })
	o := qwen.Options{
		Site: s.server.URL, Table: qwen.DefaultSite(), Profile: s.profile, PageAge: 350 * time.Millisecond,
		TrustSPKI: s.server.SPKI, Log: zerolog.New(zerolog.NewTestWriter(t)),
	}
	if change != nil {
		change(&o)
	}
	if s.client, err = qwen.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	return s
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
	message, err = s.client.Send(ctx, prompt, func(a string) error { address = a; return nil })
	return address, message, err
}

// answer reads the chat until it is done.
func (s *stage) answer(t *testing.T, address, message string) qwen.Turn {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
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
		time.Sleep(50 * time.Millisecond)
	}
}

func TestSendAndRead(t *testing.T) {
	for name, mode := range map[string]qwentest.Mode{"http": qwentest.ModeHTTP, "h1": qwentest.ModeHTTPS1, "h2": qwentest.ModeHTTPS2} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, mode, qwentest.Options{}, nil)
			s.login(t)
			prompt := "Explain fsync in one paragraph.\n\tSecond line: ünïcödé 👩‍👩‍👧."
			address, message, err := s.send(t.Context(), prompt)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(address, s.server.URL+"/c/") || message == "" {
				t.Fatalf("address %q, message %q", address, message)
			}
			if got := s.answer(t, address, message).Text; got != qwentest.Answer(prompt) {
				t.Errorf("the answer differs:\n%s", got)
			}
			if e := s.site.Find(prompt); e.Posted != 1 || e.Accepted != 1 {
				t.Errorf("posted %d, accepted %d, want 1 and 1", e.Posted, e.Accepted)
			}
		})
	}
}
