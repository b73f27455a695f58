package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"watcher/qwen"
	"watcher/qwen/qwentest"
	"watcher/state"
)

// rehearsal is the site that all tests share, with a profile that is logged in
// to it; each test works on a copy of the profile.
var rehearsal = sync.OnceValues(func() (*stage, error) {
	site := qwentest.New(qwentest.Options{Background: 100 * time.Millisecond})
	server, err := site.Start(qwentest.ModeHTTPS2)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "watcher-test-")
	if err != nil {
		return nil, err
	}
	s := &stage{site: site, server: server, template: dir}
	return s, s.logIn()
})

type stage struct {
	site     *qwentest.Site
	server   *qwentest.Server
	template string // a profile that is logged in
}

func (s *stage) logIn() error {
	p, err := qwen.OpenProfile(s.template)
	if err != nil {
		return err
	}
	defer p.Close()
	c, err := qwen.New(qwen.Options{Site: s.server.URL, Table: qwen.DefaultSite(), Profile: p,
		TrustSPKI: s.server.SPKI, Log: zerolog.Nop()})
	if err != nil {
		return err
	}
	defer c.Close()
	return c.UseToken(context.Background(), s.site.Token())
}

func theStage(t testing.TB) *stage {
	t.Helper()
	s, err := rehearsal()
	if err != nil {
		t.Fatalf("set the rehearsal site up: %v", err)
	}
	return s
}

// environment is that of the program under test.
func (s *stage) environment(home string) []string {
	return []string{
		"HOME=" + home,
		"TMPDIR=" + filepath.Join(home, "tmp"),
		"PATH=" + os.Getenv("PATH"),
		"WATCHER_SITE=" + s.server.URL,
		"WATCHER_TRUST_SPKI=" + s.server.SPKI,
		"WATCHER_PROFILE=" + filepath.Join(home, "profile"),
		"WATCHER_PAGE_AGE=350ms",
		"WATCHER_SETTLE=50ms",
		"WATCHER_POLL=300ms",
		"WATCHER_RESCAN=500ms",
		"WATCHER_GRACE=2s",
		"WATCHER_LOG_FORMAT=json",
	}
}

// profileFor copies the logged-in profile to home.
func (s *stage) profileFor(home string) error {
	dir := filepath.Join(home, "profile")
	if err := os.CopyFS(dir, os.DirFS(s.template)); err != nil {
		return err
	}
	return os.Chmod(dir, 0o700)
}

// lightBrowser is Debian's Chromium without a user interface, which costs half
// as much work; "" (the usual one) where there is none, and with -full.
func lightBrowser() string {
	const path = "/usr/lib/chromium/chromium-headless-shell"
	if _, err := os.Stat(path); err != nil || *full {
		return ""
	}
	return path
}

// desk is a home with a folder of prompts, for tests that drive real processes.
type desk struct {
	*stage
	t    *testing.T
	home string
	dir  string
	// browser is the one to use, "" for the usual one.
	browser string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{stage: theStage(t), t: t, home: t.TempDir(), browser: lightBrowser()}
	d.dir = filepath.Join(d.home, "in")
	if err := errors.Join(os.Mkdir(d.dir, 0o755), os.Mkdir(filepath.Join(d.home, "tmp"), 0o700), d.profileFor(d.home)); err != nil {
		t.Fatal(err)
	}
	return d
}

// drop writes a prompt.
func (d *desk) drop(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(d.path(name+".prompt"), []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) path(name string) string { return filepath.Join(d.dir, name) }

// command is the program as a process of its own.
func (d *desk) command(extra []string, args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	// The test binary is the program when it is called by the program's name.
	bin := filepath.Join(d.home, "watcher")
	if _, err := os.Lstat(bin); err != nil {
		if err := os.Symlink(self, bin); err != nil {
			d.t.Fatal(err)
		}
	}
	cmd := exec.Command(bin, args...)
	cmd.Dir = d.dir
	cmd.Env = append(append(d.environment(d.home), "WATCHER_BROWSER="+d.browser), extra...)
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run runs the program to its end and returns its exit code (-1: killed).
func (d *desk) run(extra []string, args ...string) (code int, output string) {
	d.t.Helper()
	cmd := d.command(extra, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		d.t.Fatalf("watcher %s: %v", strings.Join(args, " "), err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// once demands that the site has the text exactly once.
func (d *desk) once(text string) {
	d.t.Helper()
	if e := d.site.Find(text); e.Posted != 1 || e.Accepted != 1 || len(e.Elsewhere) > 0 {
		d.t.Errorf("posted %d, accepted %d, elsewhere %v; want 1, 1, nowhere", e.Posted, e.Accepted, e.Elsewhere)
	}
}

// answered demands that the answer is there, whole.
func (d *desk) answered(name, text string) {
	d.t.Helper()
	got, err := os.ReadFile(d.path(name + ".md"))
	if err != nil {
		d.t.Error(err)
		return
	}
	if want := qwentest.Answer(text); strings.TrimRight(string(got), "\n") != strings.TrimRight(want, "\n") {
		d.t.Errorf("%s.md holds %d bytes that are not the answer (%d bytes)", name, len(got), len(want))
	}
}

// archived is a file that was put aside.
var archived = regexp.MustCompile(`\.md(\.url|\.err)?\.[0-9]+$`)

// tidy demands that the folder holds nothing but what the jobs' files are.
func (d *desk) tidy() {
	d.t.Helper()
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range entries {
		_, _, known := state.Parse(e.Name())
		if !known && !archived.MatchString(e.Name()) {
			d.t.Errorf("left behind: %s", e.Name())
		}
	}
	if left := d.browsers(); len(left) > 0 {
		d.t.Errorf("browsers left behind: %v", left)
	}
}

// browsers lists the processes that use this desk's profile.
func (d *desk) browsers() []string {
	var found []string
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range processes {
		b, err := os.ReadFile(path)
		if err == nil && bytes.Contains(b, []byte("--user-data-dir="+filepath.Join(d.home, "profile"))) {
			found = append(found, filepath.Base(filepath.Dir(path)))
		}
	}
	return found
}

// finish runs the program until the prompt is answered.
func (d *desk) finish(name string) {
	d.t.Helper()
	start := time.Now()
	code, out := d.run(nil, "generate", "--wait=60s", "--log-level=debug", name+".prompt")
	if code != codeDone {
		d.t.Fatalf("generate --wait: exit code %d\n%s", code, out)
	}
	d.t.Logf("finished in %v\n%s", time.Since(start), out)
}

// unique is a prompt's text that no other test has.
func (d *desk) unique(format string, args ...any) string {
	return fmt.Sprintf("%s (%s, %s)\n", fmt.Sprintf(format, args...), d.t.Name(), filepath.Base(d.home))
}
