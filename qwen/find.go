package qwen

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// browserNames are looked for in PATH, in this order.
var browserNames = []string{
	"chromium", "chromium-browser", "google-chrome-stable", "google-chrome",
	"chrome", "chromium-headless-shell", "headless_shell",
}

// browserPaths are looked for when PATH has none: cron's PATH is short.
var browserPaths = []string{
	"/usr/bin/chromium", "/usr/bin/chromium-browser",
	"/usr/bin/google-chrome-stable", "/usr/bin/google-chrome",
	"/opt/google/chrome/chrome", "/usr/local/bin/chromium",
	"/usr/lib/chromium/chromium", "/snap/bin/chromium",
	"/usr/bin/chromium-headless-shell", "/usr/bin/brave-browser", "/usr/bin/microsoft-edge",
	"/Applications/Chromium.app/Contents/MacOS/Chromium",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
}

// HeadlessShell, as a browser's name, asks for the Chromium that is built without
// a window. It starts faster and needs half the memory, and can show nothing.
const HeadlessShell = "headless-shell"

// headlessShells are where that is found: Debian's, Google's, older builds'.
var headlessShells = []string{
	"chromium-headless-shell", "chrome-headless-shell", "headless_shell", HeadlessShell,
	"/usr/bin/chromium-headless-shell", "/usr/lib/chromium/chromium-headless-shell",
}

// windowless reports whether the browser of this path can show no window.
func windowless(path string) bool {
	return strings.HasSuffix(strings.ReplaceAll(filepath.Base(path), "_", "-"), HeadlessShell)
}

// findShell looks for the Chromium that is built without a window.
func findShell() (string, error) {
	for _, candidate := range headlessShells {
		if found, err := exec.LookPath(candidate); err == nil {
			return filepath.Abs(found)
		}
	}
	e := fail(KindBrowser, "find the browser", "no %s; tried %s", HeadlessShell, strings.Join(headlessShells, ", "))
	e.Advice = "install it (Debian: apt install chromium-headless-shell), or leave --browser away"
	return "", e
}

// FindBrowser returns the Chromium to use: the one named (a path, a name in PATH,
// or [HeadlessShell]), else the one that
// the environment names (CHROME_PATH, CHROMIUM), else one of PATH, else one of
// the usual places. The error lists all that was tried.
func FindBrowser(named string) (string, error) {
	if named == HeadlessShell {
		return findShell()
	}
	if named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fail(KindBrowser, "find the browser", "%s: %w", named, err)
		}
		return path, nil
	}
	var tried []string
	for _, name := range []string{"CHROME_PATH", "CHROMIUM"} {
		if path := os.Getenv(name); path != "" {
			if found, err := exec.LookPath(path); err == nil {
				return found, nil
			}
			tried = append(tried, "$"+name+"="+path)
		}
	}
	for _, candidate := range append(append([]string{}, browserNames...), browserPaths...) {
		if found, err := exec.LookPath(candidate); err == nil {
			if abs, err := filepath.Abs(found); err == nil {
				return abs, nil
			}
		}
		tried = append(tried, candidate)
	}
	e := fail(KindBrowser, "find the browser", "no Chromium or Chrome; tried %s", strings.Join(tried, ", "))
	e.Advice = "install it (Debian, Ubuntu: apt install chromium) or name it with --browser"
	return "", e
}
