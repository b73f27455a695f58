package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"watcher/qwen"
	"watcher/state"
	"watcher/watch"
)

// checkFolders looks at each folder, and at what the kernel grants for events.
func (a *app) checkFolders(ctx context.Context, dirs []string) (found []finding) {
	owner, owners := readOnlyOwner, []string(nil)
	if profile, err := a.set.profileDir(); err == nil {
		owners = qwen.Owners(profile)
		if b, err := os.ReadFile(filepath.Join(profile, "id")); err == nil && len(strings.TrimSpace(string(b))) == 16 {
			owner = strings.TrimSpace(string(b)) // what a kill leaves is this profile's to sweep
		}
	}
	for _, path := range dirs {
		if ctx.Err() != nil {
			return found
		}
		for _, f := range checkFolder(path, owner, owners) {
			f.Folder = path
			found = append(found, f)
		}
	}
	if len(dirs) > 0 {
		found = append(found, checkEvents())
	}
	return found
}

// checkFolder looks at one folder. What it writes it removes.
func checkFolder(path, owner string, owners []string) (found []finding) {
	dir, err := state.OpenDir(path, owner)
	if err != nil {
		return []finding{faulty("folder", err.Error(), "make it readable")}
	}
	defer dir.Close()
	found = append(found, checkProbe(dir), checkFileSystem(path))
	text, bad := lowRoom(path, 100<<20)
	if bad {
		found = append(found, warning("room", text, "make room: without it nothing is sent, and no answer is kept"))
	} else {
		found = append(found, ok("room", text))
	}
	return append(found, checkMarkers(dir, owners)...)
}

// slowSync is how long a marker may take to be durable: with ten times as much
// a send is called off.
const slowSync = 500 * time.Millisecond

func checkProbe(dir *state.Dir) finding {
	const name = "markers can be made"
	can, err := dir.Probe()
	took := fmt.Sprintf("durable in %v", can.Sync.Round(time.Millisecond))
	switch {
	case err != nil:
		return faulty(name, err.Error(), "until then nothing is sent from this folder")
	case !can.Links && !can.Moves:
		return warning(name, "the file system has neither hard links nor exclusive renames, "+took, "use it from one machine only, and put the folder on another file system (ext4, xfs, btrfs) if you can")
	case can.Sync > slowSync:
		return warning(name, took+", which is slow", "a send whose marker takes 5 s is called off; use another disk")
	case !can.Links:
		return ok(name, "by exclusive renames (there are no hard links), "+took)
	}
	return ok(name, "hard links are exclusive, "+took)
}

// checkFileSystem names the file system that a folder lies on, and what that
// means where it means something.
func checkFileSystem(path string) finding {
	const name = "file system"
	kind, at := fileSystem(path)
	text := fmt.Sprintf("%s, mounted at %s", kind, at)
	switch {
	case kind == "":
		return warning(name, "it is not known which", "")
	case isNetwork(kind):
		return warning(name, text+": a network's. Files that other machines drop are seen only every --rescan, and settle for 10 s at least; whether one is still being written cannot be seen",
			"let uploads end with a rename, or use --require-ready; run one program on this folder if you can")
	case kind == "tmpfs" || kind == "ramfs":
		return warning(name, text+": in memory, so the markers do not survive a restart of the machine", "keep prompts on a disk")
	}
	return ok(name, text)
}

// networks are the file systems that other machines write too.
var networks = []string{"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "virtiofs", "vboxsf", "vmhgfs", "davfs", "glusterfs", "lustre", "gpfs", "beegfs", "ocfs2", "gfs2"}

// isNetwork reports whether a file system is a network's. A FUSE one mostly is;
// the few that are not are named.
func isNetwork(kind string) bool {
	if sub, fuse := strings.CutPrefix(kind, "fuse."); fuse {
		return !slices.Contains([]string{"bindfs", "ntfs-3g", "encfs", "gocryptfs", "mergerfs", "fuse-overlayfs", "lxcfs", "exfat"}, sub)
	}
	return slices.Contains(networks, kind)
}

// fileSystem is the type of the file system that a path lies on, as the kernel
// names it, and where it is mounted.
func fileSystem(path string) (kind, at string) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	mounts, readErr := os.ReadFile("/proc/self/mountinfo")
	if err != nil || readErr != nil {
		return "", ""
	}
	return mountOf(string(mounts), real)
}

// mountOf finds a path's mount in the text of mountinfo: the longest that holds
// it, of several at one place the last.
//
//	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw
func mountOf(mounts, path string) (kind, at string) {
	for line := range strings.Lines(mounts) {
		head, tail, found := strings.Cut(line, " - ")
		fields, rest := strings.Fields(head), strings.Fields(tail)
		if !found || len(fields) < 5 || len(rest) == 0 {
			continue
		}
		point := unescapeMount(fields[4])
		within := point == "/" || path == point || strings.HasPrefix(path, point+"/")
		if within && len(point) >= len(at) {
			kind, at = rest[0], point
		}
	}
	return kind, at
}

// unescapeMount undoes mountinfo's octal escapes of spaces and the like.
func unescapeMount(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// lowRoom says how much room there is for this user, and whether that is less
// than need bytes or a thousand files.
func lowRoom(path string, need uint64) (text string, low bool) {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return "it cannot be seen: " + err.Error(), true
	}
	free := fs.Bavail * uint64(fs.Bsize)
	text = humanSize(free) + " free"
	if fs.Files > 0 { // btrfs counts none
		text += fmt.Sprintf(", %d files", fs.Ffree)
	}
	return text, free < need || fs.Files > 0 && fs.Ffree < 1000
}

func humanSize(n uint64) string {
	for _, unit := range []string{"bytes", "kB", "MB", "GB"} {
		if n < 10_000 || unit == "GB" {
			return fmt.Sprintf("%d %s", n, unit)
		}
		n /= 1000
	}
	return ""
}

// checkMarkers counts the markers of unfinished jobs that other programs made,
// and says what keeps the folder from being sent.
func checkMarkers(dir *state.Dir, owners []string) (found []finding) {
	list, err := dir.Scan()
	if err != nil {
		return []finding{faulty("folder", err.Error(), "make it readable")}
	}
	if list.Hold {
		found = append(found, warning("folder", "held by its "+state.HoldFile, "watcher release "+watch.Quote(dir.Path())))
	}
	if why := pausedAlone(dir); why != "" {
		found = append(found, warning("folder", "paused: "+why, "see "+filepath.Join(dir.Path(), state.PausedFile)))
	}
	if len(list.Conflicts) > 0 {
		found = append(found, warning("folder", fmt.Sprintf("%d copies that a sync tool made (%q), which are left alone", len(list.Conflicts), list.Conflicts[0]), "keep one of each by hand"))
	}
	others, jobs := map[string]int{}, 0
	for name, files := range list.Jobs {
		if files.Phase() != state.Sent {
			continue
		}
		m, err := dir.Believe(name)
		switch {
		case err != nil && !errors.Is(err, os.ErrNotExist):
			found = append(found, warning("markers", err.Error(), "nothing is done for this prompt until its marker can be read"))
		case err == nil && !slices.Contains(owners, m.By):
			others[m.By]++
			jobs++
		}
	}
	if jobs == 0 {
		return append(found, ok("markers", "none of other programs or accounts"))
	}
	return append(found, warning("markers", fmt.Sprintf("%d unfinished prompts were sent by %d other programs or accounts", jobs, len(others)),
		"nothing is sent for those again; their answers come if this account can read their chats, else run the program that sent them"))
}

// checkEvents compares what the kernel grants this user for file events with
// what is in use. Without events folders are still looked through.
func checkEvents() finding {
	const name = "file events"
	limitOf := func(what string) int {
		b, err := os.ReadFile("/proc/sys/fs/inotify/" + what)
		n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			return 0
		}
		return n
	}
	watches, instances := limitOf("max_user_watches"), limitOf("max_user_instances")
	used := inotifyUsed()
	text := fmt.Sprintf("%d folders, %d programs at most; %d are in use", watches, instances, used)
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err == nil {
		unix.Close(fd)
	}
	switch {
	case errors.Is(err, syscall.EMFILE):
		return warning(name, text+": none is left, so folders are only looked through every --rescan", "raise fs.inotify.max_user_instances (sysctl)")
	case err != nil:
		return warning(name, "none: "+err.Error(), "folders are only looked through every --rescan")
	case instances > 0 && used*10 >= instances*9:
		return warning(name, text, "raise fs.inotify.max_user_instances (sysctl) before they are used up")
	}
	return ok(name, text)
}

// inotifyUsed counts this user's open inotify instances, as far as they show.
func inotifyUsed() (n int) {
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == "anon_inode:inotify" {
			if info, err := os.Stat(filepath.Dir(filepath.Dir(link))); err == nil {
				if st, known := info.Sys().(*syscall.Stat_t); known && int(st.Uid) == os.Geteuid() {
					n++
				}
			}
		}
	}
	return n
}
