package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"watcher/qwen"
	"watcher/watch"
)

// checkProfile looks at the profile's folder from outside: it takes no lock and
// makes nothing.
func (a *app) checkProfile(ctx context.Context) []finding {
	const name = "profile"
	dir, err := a.set.profileDir()
	if err != nil {
		return []finding{faulty(name, err.Error(), "")}
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []finding{faulty(name, dir+" is not there yet", "run 'watcher login'")}
	case err != nil:
		return []finding{faulty(name, err.Error(), "make it readable, or name another with --profile")}
	case !info.IsDir():
		return []finding{faulty(name, dir+" is no folder", "name another with --profile")}
	}
	found := []finding{profileModes(dir, info)}
	if room, bad := lowRoom(dir, 200<<20); bad {
		found = append(found, warning("profile's room", room, "make room: the browser needs some, and a login that can't be kept is lost"))
	}
	if who := heldBy(ctx, dir); who != "" {
		return append(found, ok("profile's holder", who))
	}
	return append(found, ok("profile's holder", "no program is at work on it"))
}

// profileModes makes sure that nobody else can read the login.
func profileModes(dir string, info fs.FileInfo) finding {
	const name = "profile"
	if st, known := info.Sys().(*syscall.Stat_t); known && int(st.Uid) != os.Geteuid() {
		return faulty(name, fmt.Sprintf("%s belongs to user %d, and this is user %d", dir, st.Uid, os.Geteuid()), "run the program as that user, or name another profile")
	}
	var open []string
	if info.Mode().Perm()&0o077 != 0 {
		open = append(open, fmt.Sprintf("%s (%04o)", dir, info.Mode().Perm()))
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return faulty(name, err.Error(), "make it readable for you")
	}
	for _, e := range entries {
		if i, err := e.Info(); err == nil && i.Mode()&fs.ModeSymlink == 0 && i.Mode().Perm()&0o077 != 0 {
			open = append(open, fmt.Sprintf("%s (%04o)", e.Name(), i.Mode().Perm()))
		}
	}
	if len(open) > 0 {
		return warning(name, "others may read "+strings.Join(open, ", "), "run: chmod -R go= "+watch.Quote(dir))
	}
	return ok(name, dir+", for its user alone")
}

// heldBy says which program holds the profile; "" if none does. It asks the
// kernel, not the lock: taking that for a moment would be in a starting
// program's way.
func heldBy(ctx context.Context, dir string) string {
	if h := whoHolds(ctx, dir); h != nil {
		text := fmt.Sprintf("watcher %s, process %d", h.Command, h.PID)
		if len(h.Folders) > 0 {
			text += ", on " + strings.Join(h.Folders, ", ")
		}
		return text
	}
	info, err := os.Stat(filepath.Join(dir, "lock"))
	if err != nil {
		return ""
	}
	st, known := info.Sys().(*syscall.Stat_t)
	locks, err := os.ReadFile("/proc/locks")
	if err != nil || !known {
		return ""
	}
	// 1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF
	for line := range strings.Lines(string(locks)) {
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "FLOCK" || !strings.HasSuffix(f[5], fmt.Sprintf(":%d", st.Ino)) {
			continue
		}
		command, err := os.ReadFile(filepath.Join("/proc", f[4], "cmdline"))
		if err != nil || !slices.Contains(openFiles(f[4]), filepath.Join(dir, "lock")) {
			continue
		}
		return fmt.Sprintf("process %s (%s), which does not answer", f[4], strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " ")))
	}
	return ""
}

// openFiles are the files that a process has open, as far as this user may see.
func openFiles(pid string) (files []string) {
	links, _ := filepath.Glob(filepath.Join("/proc", pid, "fd", "*"))
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil {
			files = append(files, to)
		}
	}
	return files
}

// checkSite loads the site's page in the profile, if nobody else holds it.
func (a *app) checkSite(ctx context.Context) []finding {
	dir, err := a.set.profileDir()
	if err != nil {
		return nil // said already
	}
	table := ok("site table", "built in")
	if a.set.siteFile != "" {
		table = ok("site table", "corrected by "+a.set.siteFile)
	}
	if _, err := os.Stat(dir); err != nil {
		return append([]finding{table}, a.checkFromOutside(ctx, "", "there is no profile yet")...)
	}
	profile, err := qwen.OpenProfile(dir)
	if err != nil {
		why := err.Error()
		if errors.Is(err, qwen.ErrHeld) {
			why = "another program uses the profile"
		}
		return append([]finding{table}, a.checkFromOutside(ctx, dir, why)...)
	}
	defer profile.Close()
	found := []finding{table}
	err = a.withClient(a.set.chatOptions(profile, zerolog.Nop()), func(c *qwen.Client) error {
		found = append(found, findings(c.CheckSite(ctx))...)
		return nil
	})
	if !slices.ContainsFunc(found, func(f finding) bool { return f.Name == "login" }) {
		found = append(found, noteFinding(qwen.ReadLoginNote(dir), time.Now()))
	}
	if err != nil {
		found = append(found, faulty("site", err.Error(), hintOf(err)))
	}
	return found
}

// checkFromOutside says what can be known of the site and the login without the
// profile.
func (a *app) checkFromOutside(ctx context.Context, dir, why string) (found []finding) {
	client, err := qwen.New(a.set.chatOptions(nil, zerolog.Nop()))
	if err != nil {
		return []finding{faulty("site", err.Error(), hintOf(err))}
	}
	reach, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	if err := client.Reach(reach); err != nil {
		found = append(found, faulty("site", err.Error(), "check the network, and HTTPS_PROXY if you need one"))
	} else {
		found = append(found, ok("site", "a connection to "+a.set.site+" can be made"))
	}
	if dir == "" {
		return found // the profile's own line said that there is no login
	}
	found = append(found, noteFinding(qwen.ReadLoginNote(dir), time.Now()))
	return append(found, warning("site's page", "not looked at: "+why, "stop that program and run 'watcher doctor' again to have the page checked too"))
}

// noteFinding is what the profile's note says of the login.
func noteFinding(n qwen.LoginNote, now time.Time) finding {
	const name = "login"
	until := n.Expires.Local().Format(time.DateTime)
	switch {
	case n.Seen.IsZero():
		return warning(name, "nobody was seen logged in on this profile yet", "run 'watcher login'")
	case n.Expires.IsZero():
		return ok(name, "last seen on "+n.Seen.Local().Format(time.DateTime))
	case now.After(n.Expires):
		return faulty(name, "it expired on "+until, "run 'watcher login'")
	case n.EndsSoon(now):
		return warning(name, "until "+until+", as last seen", "run 'watcher login' before")
	}
	return ok(name, "until "+until+", as last seen")
}

// checkPause says why nothing is sent now.
func (a *app) checkPause(context.Context) []finding {
	const name = "pause"
	dir, err := a.set.profileDir()
	if err != nil {
		return nil
	}
	p := loadPause(dir)
	if p.Class == "" {
		return []finding{ok(name, "none")}
	}
	hint := p.Hint
	if hint == "" {
		hint = "it ends by itself"
	}
	return []finding{warning(name, fmt.Sprintf("%s since %s, next try %s: %s", p.Class, p.Since.Local().Format(time.DateTime), p.Until.Local().Format(time.DateTime), p.Reason), hint)}
}
