package main

import (
	"fmt"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/adrg/xdg"
	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"watcher/qwen"
	"watcher/watch"
)

// settings are the flags that every command shares.
type settings struct {
	site, profile, browser      string
	siteFile                    string
	choices                     choices
	fallback                    fallback
	sources                     bool
	maxChars, goOn              int
	life                        browserLife
	visible, recursive, ready   bool
	poll, settle, rescan, grace time.Duration
	stall, expire, gap          time.Duration
	inFlight                    int
	logFormat, logLevel         string
	logFile                     string
	quiet                       bool

	table qwen.Site // what is known of the site's page; set by finish

	// For rehearsals on this machine; hidden.
	trust   string
	pageAge time.Duration
}

// register declares the flags with their defaults.
func (s *settings) register(f *pflag.FlagSet) {
	d := watch.Defaults()
	f.StringVar(&s.site, "site", "https://chat.qwen.ai", "the chat's address; plain http for this machine only")
	f.StringVar(&s.siteFile, "site-file", "", "JSON file that corrects what is known of the site's page (docs/site-file.md)")
	f.StringVar(&s.profile, "profile", "", "folder of the browser's login (default $XDG_STATE_HOME/watcher/profile)")
	f.StringVar(&s.browser, "browser", "", "Chromium or Chrome to use, or headless-shell (default: found in PATH and the usual places)")
	s.life.register(f)
	f.BoolVar(&s.visible, "visible", false, "show the browser's window")
	f.StringVar(&s.choices.Model, "model", "", "lower-case id of the model that the site must use (default: the page's own choice)")
	f.StringVar(&s.choices.Thinking, "thinking", "", "auto, on or off (default: the page's own choice)")
	f.StringVar(&s.choices.Search, "search", "", "let the model search the web: on or off (default: the page's own choice)")
	f.StringVar(&s.choices.FrontMatter, "front-matter", "on", "off: a prompt's first lines are text, whatever they look like (docs/front-matter.md)")
	s.fallback.register(f)
	f.BoolVar(&s.sources, "sources", false, "list what the model's web search found at the end of name.md")
	f.IntVar(&s.goOn, "continue", 30, "have the site go on this often with an answer that it ends at its length limit; 0: never")
	f.IntVar(&s.maxChars, "max-chars", qwen.MaxChars, "a prompt of more characters is refused before anything is sent; 0: no limit")
	f.DurationVar(&s.poll, "poll", d.Poll, "look at an unanswered chat this often")
	f.DurationVar(&s.settle, "settle", d.Settle, "a prompt must not change for so long before it is sent")
	f.DurationVar(&s.rescan, "rescan", d.Rescan, "look through the folders this often, events or not")
	f.DurationVar(&s.grace, "grace", d.Grace, "after a crash: wait so long before a chat counts as empty")
	f.DurationVar(&s.stall, "stall", d.Stall, "an answer that does not grow for so long has failed")
	f.DurationVar(&s.expire, "expire", d.Expire, "a chat without an answer after so long has failed")
	f.DurationVar(&s.gap, "send-gap", d.SendGap, "wait so long between two sends (0 for a site on this machine)")
	f.IntVar(&s.inFlight, "in-flight", d.InFlight, "at most so many chats without an answer")
	f.BoolVar(&s.recursive, "recursive", d.Recursive, "watch subfolders too")
	f.BoolVar(&s.ready, "require-ready", d.RequireReady, "send name.prompt only when name.prompt.ready is there")
	f.StringVar(&s.logFormat, "log-format", logAuto, "console, json, or auto: console, in the systemd journal with its own fields")
	f.StringVar(&s.logFile, "log-file", "", "append the log to this file; opened again when it was renamed or removed, and on SIGHUP")
	f.StringVar(&s.logLevel, "log-level", "", "debug, info, warn or error (default: info for run, warn for the others)")
	f.BoolVarP(&s.quiet, "quiet", "q", false, "say nothing but errors")

	f.StringVar(&s.trust, "trust-spki", "", "accept this certificate of a site on this machine")
	f.DurationVar(&s.pageAge, "page-age", 3*time.Second, "how old a page must be before text is put into it")
	for _, name := range []string{"trust-spki", "page-age"} {
		_ = f.MarkHidden(name) // it exists: the line above made it
	}
}

// finish checks what flags can't check alone.
func (s *settings) finish(f *pflag.FlagSet) error {
	switch s.logFormat {
	case logAuto, logConsole, logJSON:
	default:
		return usagef("--log-format %q: it is auto, console or json", s.logFormat)
	}
	if _, err := zerolog.ParseLevel(s.logLevel); err != nil {
		return usagef("--log-level %q: it is debug, info, warn or error", s.logLevel)
	}
	if s.inFlight < 1 {
		return usagef("--in-flight %d: at least 1", s.inFlight)
	}
	if s.maxChars < 0 {
		return usagef("--max-chars %d: 0 means no limit", s.maxChars)
	}
	if s.goOn < 0 {
		return usagef("--continue %d: 0 means never", s.goOn)
	}
	if err := s.life.check(); err != nil {
		return err
	}
	if err := s.choices.check(); err != nil {
		return err
	}
	if err := s.fallback.finish(f); err != nil {
		return err
	}
	if err := s.readTable(); err != nil {
		return usageError{err}
	}
	if !f.Changed("send-gap") && isLocal(s.site) {
		s.gap = 0
	}
	return nil
}

// readTable reads the site file; without one the built-in table is used.
func (s *settings) readTable() error {
	s.table = qwen.DefaultSite()
	if s.siteFile == "" {
		return nil
	}
	f, err := os.Open(s.siteFile)
	if err != nil {
		return fmt.Errorf("read the site file: %w", err)
	}
	defer f.Close()
	if s.table, err = qwen.ReadSite(f); err != nil {
		return fmt.Errorf("%s: %w", s.siteFile, err)
	}
	return nil
}

// isLocal reports whether the site runs on this machine, where no person's
// pace is owed.
func isLocal(site string) bool {
	u, err := url.Parse(site)
	return err == nil && (u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1")
}

// profileDir is the profile's folder: the flag, else below the XDG state
// folder. Without HOME, as in some services, the user database says.
func (s *settings) profileDir() (string, error) {
	if s.profile != "" {
		return filepath.Abs(s.profile)
	}
	if dir := stateFolder(); dir != "" {
		return filepath.Join(dir, "profile"), nil
	}
	return "", usagef("find the profile: neither HOME nor XDG_STATE_HOME is set; name a folder with --profile")
}

// stateFolder is the program's folder below the XDG state folder; "" where
// there is none.
func stateFolder() string {
	if os.Getenv("HOME") != "" || filepath.IsAbs(os.Getenv("XDG_STATE_HOME")) {
		return filepath.Join(xdg.StateHome, "watcher")
	}
	if u, err := user.Current(); err == nil && filepath.IsAbs(u.HomeDir) && u.HomeDir != "/" {
		return filepath.Join(u.HomeDir, ".local", "state", "watcher")
	}
	return ""
}

// evidenceDir holds what the page showed when it was not understood; "" where
// nothing can be kept.
func evidenceDir() string {
	if dir := stateFolder(); dir != "" {
		return filepath.Join(dir, "evidence")
	}
	return ""
}

// chatOptions are the driver's part of the settings.
func (s *settings) chatOptions(p *qwen.Profile, log zerolog.Logger) qwen.Options {
	return qwen.Options{
		Site: s.site, Table: s.table, Profile: p, Browser: s.browser, Visible: s.visible,
		Model: s.choices.Model, Thinking: qwen.Thinking(s.choices.Thinking), Search: qwen.Search(s.choices.Search),
		Sources: s.sources, Continue: s.goOn, PageAge: s.pageAge, TrustSPKI: s.trust, Log: log,
		Life:     s.life.bounds(),
		Evidence: evidenceDir(), Version: versionText(),
	}
}

// agentConfig is the agent's part of the settings.
func (s *settings) agentConfig(chat watch.Chat, id string, log zerolog.Logger) watch.Config {
	c := watch.Defaults()
	c.Chat, c.ID, c.Log = chat, id, log
	c.Recursive, c.RequireReady = s.recursive, s.ready
	c.Settle, c.Rescan, c.Poll, c.Grace = s.settle, s.rescan, s.poll, s.grace
	c.Stall, c.Expire, c.SendGap, c.InFlight = s.stall, s.expire, s.gap, s.inFlight
	c.Fallback = s.fallback.config()
	c.MaxChars, c.PlainText, c.CheckFile = s.maxChars, s.plain(), qwen.CheckFile
	return c
}

// plain reports whether no prompt has options.
func (s *settings) plain() bool { return s.choices.FrontMatter == "off" }

// seconds prints a duration as people write them: 60s, 1m30s.
func seconds(d time.Duration) string {
	return fmt.Sprint(d.Round(time.Second))
}
