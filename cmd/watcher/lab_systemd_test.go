//go:build crash

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSystemd boots a real systemd in namespaces of its own and has it run
// watcher@.service on the rehearsal site: with its hardening around a browser
// that keeps its sandbox, its watchdog, and its journal.
func TestSystemd(t *testing.T) {
	d := newDesk(t)
	shared := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.CopyFS(shared, os.DirFS(filepath.Join("testdata", "systemd"))))
	must(os.Chmod(filepath.Dir(shared), 0o755))
	must(os.Chmod(shared, 0o777))
	self, err := os.ReadFile("/proc/self/exe")
	must(err)
	must(os.WriteFile(filepath.Join(shared, "watcher"), self, 0o755))
	must(os.CopyFS(filepath.Join(shared, "profile"), os.DirFS(filepath.Join(d.home, "profile"))))
	must(os.Mkdir(filepath.Join(shared, "units"), 0o755))
	unit, err := os.ReadFile(filepath.Join("..", "..", "packaging", "watcher@.service"))
	must(err)
	for name, text := range map[string]string{
		"units/watcher@.service": string(unit),
		"units/drive.target":     "[Unit]\nDefaultDependencies=no\nWants=drive.service systemd-journald.service\n",
		"units/drive.service":    "[Unit]\nDefaultDependencies=no\nAfter=systemd-journald.service\n[Service]\nType=oneshot\nExecStart=/bin/bash /shared/drive.sh\n",
		"environment": strings.Join([]string{"WATCHER_SITE=" + d.server.URL, "WATCHER_TRUST_SPKI=" + d.server.SPKI,
			"WATCHER_POLL=1s", "WATCHER_SETTLE=100ms", "WATCHER_PAGE_AGE=350ms"}, "\n"),
		"one.prompt": d.unique("Under systemd, at %d", time.Now().UnixNano()),
		"two.prompt": d.unique("After the watchdog, at %d", time.Now().UnixNano()),
	} {
		must(os.WriteFile(filepath.Join(shared, name), []byte(text), 0o644))
	}

	cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "--uts", "--ipc", "--cgroup", "--kill-child",
		"bash", filepath.Join(shared, "boot.sh"), shared)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out := &syncBuffer{}
	cmd.Stdout, cmd.Stderr = out, out
	must(cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	file := func(name string) string {
		b, _ := os.ReadFile(filepath.Join(shared, name)) // "" until it is there
		return string(b)
	}
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(shared, "end")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it does not end\n%s%s%s", out, file("console"), file("drive.log"))
		}
	}
	want := `started: running
answered: one
the journal has fields
reloaded: running
no new privileges
the browser has its sandbox
restarted by the watchdog
answered: two
stopped: success
nothing is left
`
	if got := file("result"); got != want {
		t.Errorf("it went like this:\n%s\nwant:\n%s\n%s\n%s", got, want, file("drive.log"), file("journal"))
	}
	for _, name := range []string{"one", "two"} {
		d.once(strings.TrimSpace(file(name + ".prompt")))
	}
}
