package qwen

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fakeBrowser makes a file that can be run and returns its path.
func fakeBrowser(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFindBrowser(t *testing.T) {
	t.Setenv("CHROME_PATH", "")
	t.Setenv("CHROMIUM", "")
	named, env, inPath := fakeBrowser(t, "mine"), fakeBrowser(t, "env"), fakeBrowser(t, "chromium")
	t.Setenv("PATH", filepath.Dir(inPath))
	if got, err := FindBrowser(""); err != nil || got != inPath {
		t.Errorf("in PATH: %q, %v", got, err)
	}
	t.Setenv("CHROMIUM", env)
	if got, err := FindBrowser(""); err != nil || got != env {
		t.Errorf("by the environment: %q, %v", got, err)
	}
	if got, err := FindBrowser(named); err != nil || got != named {
		t.Errorf("named: %q, %v", got, err)
	}
	for _, missing := range []string{"/no/such/browser", t.TempDir(), "no-such-name"} {
		if _, err := FindBrowser(missing); kindOf(err) != KindBrowser || !strings.Contains(err.Error(), missing) {
			t.Errorf("%s: %v", missing, err)
		}
	}
}

// TestFindBrowserListsWhatWasTried, so that a person sees where to put one.
func TestFindBrowserListsWhatWasTried(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CHROME_PATH", "/no/such/chrome")
	t.Setenv("CHROMIUM", "")
	places := browserPaths
	t.Cleanup(func() { browserPaths = places })
	browserPaths = []string{"/no/such/place"}
	_, err := FindBrowser("")
	if kindOf(err) != KindBrowser {
		t.Fatal(err)
	}
	for _, want := range append([]string{"$CHROME_PATH=/no/such/chrome", "/no/such/place"}, browserNames...) {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	if !strings.Contains(asError(err, "", "").Hint(), "--browser") {
		t.Error("no advice")
	}
}

// TestBrowserEnvironment: what would change how the browser is driven, and
// what it need not know, is left out.
func TestBrowserEnvironment(t *testing.T) {
	p := openTestProfile(t, t.TempDir())
	for _, name := range []string{"CHROMEDP_VISIBLEWINDOW", "WATCHER_TOKEN", "TMPDIR", "NOTIFY_SOCKET", "WATCHDOG_USEC"} {
		t.Setenv(name, "/secret")
	}
	t.Setenv("LANG", "de_DE.UTF-8")
	env := environment(p)
	if !slices.Contains(env, "LANG=de_DE.UTF-8") || !slices.Contains(env, "TMPDIR="+p.tempDir()) {
		t.Errorf("%v lacks the language or the temporary folder", env)
	}
	for _, v := range env {
		if strings.Contains(v, "/secret") {
			t.Errorf("%s is handed on", v)
		}
	}
}

func TestTail(t *testing.T) {
	out := &tail{limit: 64}
	for range 100 {
		out.Write([]byte("a line of no interest\n"))
	}
	if got := out.indented(); len(got) > 80 || !strings.Contains(got, "\n  a line") {
		t.Errorf("%q", got)
	}
	out.Write([]byte("[1:1:FATAL:x] No usable sandbox!\nlater\n"))
	if got := out.indented(); got != "\n  [1:1:FATAL:x] No usable sandbox!" {
		t.Errorf("%q", got)
	}
}

func TestNearestModels(t *testing.T) {
	list := []siteModel{{ID: "qwen3-coder-plus"}, {ID: "qwen3.7-plus"}, {ID: "qwen3.8-max"}, {ID: "qwen3.7-max"}, {ID: "a"}, {ID: "b"}, {ID: "c"}}
	if got := nearest("qwen3.8max", list); len(got) != nearestMost || got[0] != "qwen3.8-max" || got[1] != "qwen3.7-max" {
		t.Errorf("%v", got)
	}
	for _, c := range []struct {
		a, b string
		n    int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"Äb", "äb", 0}, {"flaw", "lawn", 2}} {
		if got := distance(c.a, c.b); got != c.n {
			t.Errorf("%q, %q: %d, want %d", c.a, c.b, got, c.n)
		}
	}
}

// TestFindHeadlessShell: it is found by each of its names, told how to be
// installed where it is not, and refused where a window is wanted.
func TestFindHeadlessShell(t *testing.T) {
	names := headlessShells
	t.Cleanup(func() { headlessShells = names })
	headlessShells = slices.DeleteFunc(slices.Clone(names), filepath.IsAbs)
	t.Setenv("PATH", t.TempDir())
	_, err := FindBrowser(HeadlessShell)
	if kindOf(err) != KindBrowser || !strings.Contains(asError(err, "", "").Hint(), "apt install chromium-headless-shell") {
		t.Errorf("none is there: %v", err)
	}
	for _, name := range headlessShells {
		path := fakeBrowser(t, name)
		t.Setenv("PATH", filepath.Dir(path))
		if got, err := FindBrowser(HeadlessShell); err != nil || got != path || !windowless(got) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if _, err := startBrowser(t.Context(), &Options{Browser: HeadlessShell, Visible: true}, origin{}); kindOf(err) != KindBrowser || !strings.Contains(err.Error(), "no window") {
			t.Errorf("%s, visible: %v", name, err)
		}
	}
	if windowless("/usr/bin/chromium") || windowless("/opt/google/chrome/chrome") {
		t.Error("a browser with windows is taken for one without")
	}
}
