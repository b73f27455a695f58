//go:build crash

package main

import (
	"testing"
	"time"

	"github.com/rs/zerolog"

	"watcher/qwen"
	"watcher/qwen/qwentest"
	"watcher/watch/watchtest"
)

// TestConformance runs the suite that every chat must pass on the driver, with
// a real browser against a rehearsal site. Neither knows the other, so the
// suite runs here. The cases share one browser; each sees only what came since
// it began.
func TestConformance(t *testing.T) {
	t.Parallel()
	site := qwentest.New(qwentest.Options{})
	server, err := site.Start(qwentest.ModeHTTP)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	profile, err := qwen.OpenProfile(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer profile.Close()
	client, err := qwen.New(qwen.Options{Site: server.URL, Table: qwen.DefaultSite(), Profile: profile, Browser: lightBrowser(),
		PageAge: 350 * time.Millisecond, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.UseToken(t.Context(), site.Token()); err != nil {
		t.Fatal(err)
	}
	watchtest.Run(t, func(*testing.T) watchtest.Subject {
		before := len(site.Taken())
		return watchtest.Subject{
			Chat:    client,
			Taken:   func() []string { return site.Taken()[before:] },
			Answer:  qwentest.Answer,
			Unknown: server.URL + "/c/00000000-0000-4000-8000-000000000000",
			Every:   100 * time.Millisecond,
		}
	})
}
