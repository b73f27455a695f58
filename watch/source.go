package watch

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/fsnotify/fsnotify"

	"watcher/state"
)

// Source tells when something in a folder may have changed. It is a hint and
// nothing more: it may say so without a reason, and miss what did change.
type Source interface {
	// Add begins to watch the folder that has this path now, also when
	// another one of the same path was watched before.
	Add(dir string) error
	// Remove ends that. It is no error if the folder is not watched.
	Remove(dir string)
	// Close ends the source and returns when its goroutines have ended.
	Close()
}

// notify is the source made of fsnotify.
type notify struct {
	watcher *fsnotify.Watcher
	kick    func(dir, file string)
	done    sync.WaitGroup
}

// openNotify starts fsnotify. Every event calls kick with its folder, and with
// the file where a look at that alone will do; an overflow, or any other error,
// with "": all folders.
func openNotify(kick func(dir, file string)) (Source, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, limit(err)
	}
	n := &notify{watcher: w, kick: kick}
	n.done.Go(n.listen)
	return n, nil
}

func (n *notify) listen() {
	events, errs := n.watcher.Events, n.watcher.Errors
	for events != nil || errs != nil {
		select {
		case e, ok := <-events:
			switch {
			case !ok:
				events = nil
			case concerns(e):
				n.tell(e)
			}
		case _, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			// What was lost nobody knows; the folders do.
			n.kick("", "")
		}
	}
}

// tell passes an event on. A name that goes may take others along, or be a
// watched folder itself; one that comes, or is written, concerns its job alone.
func (n *notify) tell(e fsnotify.Event) {
	dir, base := filepath.Split(e.Name)
	dir = filepath.Clean(dir)
	gone := e.Op&(fsnotify.Remove|fsnotify.Rename) != 0
	if _, _, ours := state.Parse(base); !ours || gone {
		base = ""
	}
	n.kick(dir, base)
	if gone {
		n.kick(e.Name, "")
	}
}

// concerns reports whether an event can matter. Content and mode matter for a
// job's files only; a name that comes or goes may be a folder's.
func concerns(e fsnotify.Event) bool {
	base := filepath.Base(e.Name)
	if base[0] == '.' && e.Name != "." {
		return false
	}
	if e.Op&(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) != 0 {
		return true
	}
	_, _, ours := state.Parse(base)
	return ours
}

func (n *notify) Add(dir string) error {
	// A folder of that path may be watched that is not the one there now.
	n.Remove(dir)
	if err := n.watcher.Add(dir); err != nil {
		return limit(err)
	}
	return nil
}

func (n *notify) Remove(dir string) {
	// The error says that it was not watched, or is gone: both are wanted.
	_ = n.watcher.Remove(dir)
}

func (n *notify) Close() {
	_ = n.watcher.Close() // it never fails
	n.done.Wait()
}

// limit names the kernel's setting where a limit of it was met: its own text
// speaks of disks and files.
func limit(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("watch for changes: the kernel's limit of watched folders is used up "+
			"(not the disk); raise fs.inotify.max_user_watches: %w", err)
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("watch for changes: the kernel's limit of watchers is used up; "+
			"raise fs.inotify.max_user_instances, or the limit of open files: %w", err)
	}
	return fmt.Errorf("watch for changes: %w", err)
}
