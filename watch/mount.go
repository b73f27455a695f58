package watch

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// mountOf is the place where the file system is mounted that a path lies on,
// as far as device numbers tell; "" when that cannot be seen.
func mountOf(path string) string {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	mine, ok := device(path)
	for ok && path != "/" {
		parent := filepath.Dir(path)
		dev, seen := device(parent)
		if !seen || dev != mine {
			break
		}
		path = parent
	}
	if !ok {
		return ""
	}
	return path
}

func device(path string) (dev uint64, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(st.Dev), true
}

// uncovered reports whether a folder that lay on the file system mounted at
// before lies outside of it now: it was unmounted, and what shows at the
// folder's path is what it had covered.
func uncovered(before, now string) bool {
	if before == now || before == "" {
		return false
	}
	return now == "/" || strings.HasPrefix(before, now+"/")
}
