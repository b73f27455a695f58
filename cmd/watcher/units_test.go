package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// units are the files for systemd.
func units(t *testing.T) (paths []string) {
	t.Helper()
	dir := filepath.Join("..", "..", "packaging")
	for _, pattern := range []string{"*.service", "*.timer", "*.path", "*.socket"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	return paths
}

// TestUnits has systemd itself look at them: not a word may it say.
func TestUnits(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var ofUser, ofSystem []string
	for _, path := range units(t) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		system := strings.Contains(name, "@")
		name = strings.Replace(name, "@", "@root", 1)
		text := strings.ReplaceAll(string(b), "/usr/bin/watcher", self)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if system {
			ofSystem = append(ofSystem, filepath.Join(dir, name))
		} else {
			ofUser = append(ofUser, filepath.Join(dir, name))
		}
	}
	for _, args := range [][]string{append([]string{"--user"}, ofUser...), append([]string{"--system"}, ofSystem...)} {
		cmd := exec.Command("systemd-analyze", append([]string{"verify", "--man=no"}, args...)...)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir, "HOME="+dir)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}

// TestUnitsSay is what they promise beside being in order.
func TestUnitsSay(t *testing.T) {
	want := map[string][]string{
		"watcher.service":          {"Type=notify", "WatchdogSec=3min", "KillMode=mixed", "ExecReload=/bin/kill -HUP $MAINPID", "Restart=on-failure", "OOMPolicy=continue"},
		"watcher@.service":         {"Type=notify", "WatchdogSec=3min", "KillMode=mixed", "ExecReload=/bin/kill -HUP $MAINPID", "Restart=on-failure", "OOMPolicy=continue"},
		"watcher-generate.service": {"Type=oneshot", "SuccessExitStatus=3 42", "KillMode=mixed"},
		"watcher-generate.timer":   {"OnUnitInactiveSec=2min"},
	}
	found := units(t)
	if len(found) != len(want) {
		t.Errorf("%d units: %v; a .path unit would spin, as prompts stay in place", len(found), found)
	}
	// What would keep the browser from running, or the daemon from coming back:
	// it exits with 2 both for wrong usage and when the watchdog ends it.
	never := []string{"MemoryDenyWriteExecute=", "RestrictNamespaces=", "PrivateUsers=", "ProcSubset=", "RestartPreventExitStatus=", "@mount", "@privileged"}
	for _, path := range found {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(b), "\n")
		for _, line := range want[filepath.Base(path)] {
			if !slices.Contains(lines, line) {
				t.Errorf("%s does not say %s", filepath.Base(path), line)
			}
		}
		for _, line := range lines {
			for _, word := range never {
				if !strings.HasPrefix(line, "#") && strings.Contains(line, word) {
					t.Errorf("%s says %s", filepath.Base(path), line)
				}
			}
		}
	}
}
