package state

import (
	"time"

	"golang.org/x/sys/unix"
)

// stamp is what the kernel tells of a folder as a whole. Two of them can prove
// that no name came or went between: every change of a folder's names sets its
// ctime to the time of the change. Nobody can set that to another time, unlike
// mtime, which rsync -t and touch -d set back.
type stamp struct {
	ctime, mtime time.Duration // since 1970
	size, nlink  int64
	read         time.Duration // when it was read, on the clock that ctime is of
	boot         time.Duration // and on the one that nobody sets
	exact        bool          // the file system's times can be relied upon
}

// young is the age of a folder's last change below which another one could get
// the very same ctime: the kernel's clock for files moves each 1 to 10 ms. The
// rest is for clocks that are set back a little.
const young = time.Second

// exactTimes are the file systems that are known to give each change of a
// folder the time of this kernel's clock, in nanoseconds. On a network's, on
// FUSE and on vfat a folder can change and look the same.
var exactTimes = map[uint32]bool{
	unix.EXT4_SUPER_MAGIC:  true, // where inodes are small it is seconds: see [stamp.proves]
	unix.XFS_SUPER_MAGIC:   true,
	unix.BTRFS_SUPER_MAGIC: true,
	unix.TMPFS_MAGIC:       true,
}

// proves reports that the names in a folder are the same at both times, for
// whoever began to read them after before.
func (before stamp) proves(now stamp) bool {
	same := before.ctime == now.ctime && before.mtime == now.mtime && before.size == now.size && before.nlink == now.nlink
	old := before.read-before.ctime > young
	// A clock that was set back comes by the same time once more.
	straight := now.read-before.read > now.boot-before.boot-young/2
	return same && old && straight && before.exact && now.exact
}

// stamp reads it. One that cannot be read proves nothing.
func (d *Dir) stamp() (s stamp) {
	var st unix.Stat_t
	// The clocks come first: what the reader does not see happens after them.
	s.read, s.boot = clock(unix.CLOCK_REALTIME), clock(unix.CLOCK_BOOTTIME)
	err := d.at(StepStamp, func(dir int) error { return unix.Fstat(dir, &st) })
	if err != nil || !d.exact() {
		return stamp{}
	}
	s.ctime, s.mtime = time.Duration(st.Ctim.Nano()), time.Duration(st.Mtim.Nano())
	s.size, s.nlink = st.Size, int64(st.Nlink)
	s.exact = st.Ctim.Nsec != 0
	return s
}

// exact asks once what the folder lies on.
func (d *Dir) exact() bool {
	if d.times == 0 {
		var fs unix.Statfs_t
		if d.at(StepStamp, func(dir int) error { return unix.Fstatfs(dir, &fs) }) != nil {
			return false
		}
		d.times = -1
		if exactTimes[uint32(fs.Type)] {
			d.times = 1
		}
	}
	return d.times > 0
}

func clock(id int32) time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(id, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
