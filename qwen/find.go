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

// FindBrowser returns the Chromium to use: the one named, else the one that
// the environment names (CHROME_PATH, CHROMIUM), else one of PATH, else one of
// the usual places. The error lists all that was tried.
func FindBrowser(named string) (string, error) {
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
