package qwen_test

import (
	"strings"
	"testing"
	"time"

	"watcher/qwen"
	"watcher/qwen/qwentest"
)

// site makes the check of the site, and demands that nothing of it came there.
func (s *stage) checkSite(t *testing.T) map[string]qwen.Finding {
	t.Helper()
	const text = "This is a check of this machine's browser; no site gets it."
	found, before := map[string]qwen.Finding{}, len(s.site.Requests())
	for _, f := range s.client.CheckSite(t.Context()) {
		t.Logf("%s %s: %s (%s)", f.Level, f.Name, f.Detail, f.Hint)
		found[f.Name] = f
	}
	if e := s.site.Find(text); e.Posted > 0 || e.Accepted > 0 || len(e.Elsewhere) > 0 {
		t.Errorf("the check's text was posted %d times, and came to %v", e.Posted, e.Elsewhere)
	}
	for _, line := range s.site.Requests()[before:] {
		if line.Method == "POST" && strings.HasPrefix(line.Path, "/api/v2/chat") {
			t.Errorf("the check asked for %s", line.Path)
		}
	}
	return found
}

// TestCheckSite: the page that is there is compared with the site table. Of a
// page that saves drafts and sends with each click nothing comes to the site.
func TestCheckSite(t *testing.T) {
	t.Parallel()
	s := onLight(t, "h1", brisk)
	t.Cleanup(func() { s.client.SetTable(qwen.DefaultSite()) })
	o := brisk
	if o.Guest = true; !leftOut("guests") {
		s.configure(o)
		f := s.checkSite(t)["login"]
		if f.Level != qwen.LevelFault || !strings.Contains(f.Detail, "nobody is") || f.Hint == "" {
			t.Errorf("nobody is logged in: %+v", f)
		}
		s.configure(brisk)
		s.login(t)
	}
	o.Guest = false
	o.Autosave, o.AskTitle = true, true
	s.configure(o)
	for name, f := range s.checkSite(t) {
		if f.Level != qwen.LevelOK {
			t.Errorf("on a healthy page %s is a %s: %s", name, f.Level, f.Detail)
		}
	}
	o.Markup = qwentest.MarkupRenamed
	s.configure(o)
	found := s.checkSite(t)
	for name, says := range map[string]string{"selector composer": "third of 7", "selector send": "third of 7", "selector models": "second of 3"} {
		if f := found[name]; f.Level != qwen.LevelWarning || !strings.Contains(f.Detail, says) || !strings.Contains(f.Hint, "--site-file") {
			t.Errorf("renamed: %s: %+v", name, f)
		}
	}
	table := qwen.DefaultSite()
	table.Send, table.Model, table.Data = []string{"#gone"}, []string{"#gone"}, "__gone"
	s.client.SetTable(table)
	found = s.checkSite(t)
	for name, level := range map[string]qwen.Level{"selector composer": "warning", "selector send": "fault", "selector model": "warning",
		"models": "warning", "page's data": "warning", "login": "ok"} {
		if f := found[name]; f.Level != level {
			t.Errorf("a table that is gone: %s: %+v, want %s", name, f, level)
		}
	}
	if leftOut("a check page") {
		return
	}
	s.client.SetTable(qwen.DefaultSite())
	s.site.Fault(qwentest.Fault{Kind: qwentest.ChallengeHTML, On: qwentest.OnPage, Times: qwentest.Always})
	if f := s.checkSite(t)["site"]; f.Level != qwen.LevelFault || !strings.Contains(f.Hint, "watcher login") {
		t.Errorf("a check page: %+v", f)
	}
}

// TestCheckTimes: what is made of the site's time and of a login's end.
func TestCheckTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.Local)
	for off, want := range map[time.Duration]string{
		0: "ok as the site's", 30 * time.Second: "ok 29s ahead of the site's", -30 * time.Second: "ok 30s behind the site's",
		-2 * time.Minute: "warning 2m0s behind the site's", 3 * time.Hour: "fault 2h59m59s ahead of the site's",
	} {
		f := qwen.JudgeClock(now, now.Add(off), now.Add(off))
		if got := string(f.Level) + " " + f.Detail; got != want {
			t.Errorf("%v: %s, want %s", off, got, want)
		}
	}
	for in, want := range map[time.Duration]string{
		30*24*time.Hour + time.Minute: "ok until 2026-10-01 12:01:00, 30 days from now",
		3*24*time.Hour + time.Minute:  "warning until 2026-09-04 12:01:00, 3 days from now",
		time.Hour + time.Minute:       "warning until 2026-09-01 13:01:00, 1 hours from now",
	} {
		f := qwen.JudgeLogin(now.Add(in), now)
		if got := string(f.Level) + " " + f.Detail; got != want {
			t.Errorf("%v: %s, want %s", in, got, want)
		}
	}
	if f := qwen.JudgeLogin(time.Time{}, now); f.Level != qwen.LevelOK {
		t.Errorf("no end known: %+v", f)
	}
}
