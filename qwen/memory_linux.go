package qwen

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// treeMemory is how many bytes the processes of the group use that pid leads: the
// sum of their proportional set sizes. Of a process that doesn't show that (an
// ordinary user's sandboxed ones) its own pages are counted instead. 0 if there
// is no such group.
func treeMemory(pid int) (bytes int64) {
	if pid == 0 {
		return 0
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		member, err := strconv.Atoi(e.Name())
		if err == nil && groupOf(member) == pid {
			bytes += processMemory(member)
		}
	}
	return bytes
}

// groupOf is the process group of a process; 0 if it is gone.
func groupOf(pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// The name may hold anything; behind it: state, parent, group.
	if err != nil {
		return 0
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 3 {
		return 0
	}
	group, _ := strconv.Atoi(string(fields[2])) // the kernel writes a number
	return group
}

// processMemory is what one process uses, in bytes.
func processMemory(pid int) int64 {
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)); err == nil {
		for line := range strings.Lines(string(b)) {
			fields := strings.Fields(line)
			if len(fields) >= 2 && fields[0] == "Pss:" {
				kib, _ := strconv.ParseInt(fields[1], 10, 64)
				return kib << 10
			}
		}
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(b))
	if err != nil || len(fields) < 3 {
		return 0
	}
	resident, _ := strconv.ParseInt(fields[1], 10, 64)
	shared, _ := strconv.ParseInt(fields[2], 10, 64)
	return (resident - shared) * int64(os.Getpagesize())
}

// replaced reports whether the program that the process runs is not the file of
// that name any more, as after an upgrade of its package.
func replaced(pid int) bool {
	if pid == 0 {
		return false
	}
	link := fmt.Sprintf("/proc/%d/exe", pid)
	path, err := os.Readlink(link)
	if err != nil {
		return false
	}
	runs, err := os.Stat(link) // the file itself, whatever became of its name
	if err != nil {
		return false
	}
	there, err := os.Stat(strings.TrimSuffix(path, " (deleted)"))
	// While the name is gone the upgrade is under way: the new one may not start.
	return err == nil && !os.SameFile(runs, there)
}
