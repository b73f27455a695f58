package lab

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Program is a program to be traced.
type Program struct {
	Path string
	Args []string // without the program's own name
	Dir  string
	Env  []string
	// Clock, if set, is how far the program's wall clock is off after so many
	// calls.
	Clock func(calls int) time.Duration
	// Children says that the program starts others, which are left alone. It
	// is slower: every call of the program stops it.
	Children bool
	// Limit ends the program when it takes longer; zero: a minute.
	Limit time.Duration
}

// Outcome is how a traced program ended.
type Outcome struct {
	Code   int  // its exit code; -1 when a signal ended it
	Late   bool // Limit ended it
	Calls  int  // how many system calls the hook saw
	Output string
}

// Call is a system call that touches a file or a socket.
type Call struct {
	N    int    // its number in one order over all threads, from 1
	Name string // as in section 2 of the manual: "fsync"
	File string // the file's path (the new one of two), or "socket"
	Done bool   // it was made; else it is about to be
}

// Place names the moment: "after call 12".
func (c Call) Place() string {
	when := "before"
	if c.Done {
		when = "after"
	}
	return fmt.Sprintf("%s call %d", when, c.N)
}

func (c Call) String() string { return fmt.Sprintf("%s, %s %s", c.Place(), c.Name, c.File) }

// Order is what is to happen at a call. The zero Order lets it be.
type Order struct {
	Signal syscall.Signal // sent to the program, if not zero
	Kill   bool           // the whole program is killed at once
	Fail   syscall.Errno  // the call is not made and gives this error (close is made all the same)
}

// Hook decides about each call, once before and once after it is made. The
// thread that makes it stands still meanwhile, the program's others do not.
type Hook func(Call) Order

// Trace runs the program to its end and calls hook at each system call that
// touches a file below root, or a socket. All its threads are followed. The program calls [Traced] first of all.
func Trace(p Program, root string, hook Hook) (Outcome, error) {
	// All requests to a traced program must come from the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	output, err := memoryFile()
	if err != nil {
		return Outcome{}, err
	}
	defer output.Close()
	// Children would inherit the filter, and nobody traces them.
	traced := tracedVariable + "=" + map[bool]string{true: "", false: "files"}[p.Children]
	if p.Clock != nil {
		traced = tracedVariable + "=" + withClock
	}
	process, err := os.StartProcess(p.Path, append([]string{p.Path}, p.Args...), &os.ProcAttr{
		Dir: p.Dir, Env: append(slices.Clone(p.Env), traced), Files: []*os.File{nil, output, output}, Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: true},
	})
	if err != nil {
		return Outcome{}, fmt.Errorf("trace %s: %w", p.Path, err)
	}
	defer process.Release()
	t := &tracer{pid: process.Pid, root: root, hook: hook, clock: p.Clock, all: p.Children, threads: map[int]*thread{}}
	if p.Limit == 0 {
		p.Limit = time.Minute
	}
	timer := time.AfterFunc(p.Limit, func() { t.kill(true) })
	defer timer.Stop()
	if err := t.follow(); err != nil {
		return Outcome{}, fmt.Errorf("trace %s: %w", p.Path, err)
	}
	b := make([]byte, 1<<16)
	n, _ := output.ReadAt(b, 0)
	t.outcome.Output, t.outcome.Calls = string(b[:n]), t.calls
	return t.outcome, nil
}

func memoryFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("output", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "output"), nil
}

const (
	tracedVariable = "LAB_TRACED"
	withClock      = "files and clock"
)

// Traced makes the calls that a tracer wants to hear of stop the program. It
// does nothing in a program that nobody traces.
func Traced() error {
	if os.Getenv(tracedVariable) == "" {
		return nil
	}
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}} // the call's number
	numbers := slices.Collect(maps.Keys(forms))
	if os.Getenv(tracedVariable) == withClock {
		numbers = append(numbers, unix.SYS_CLOCK_GETTIME)
	}
	for _, number := range numbers {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(number), Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_TRACE})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

type tracer struct {
	pid     int
	root    string
	hook    Hook
	clock   func(int) time.Duration
	all     bool // every call stops it
	threads map[int]*thread
	calls   int

	mu      sync.Mutex
	ended   bool
	outcome Outcome
}

// thread is one thread of the program; call is the one it is in, if the hook
// is to hear of it.
type thread struct {
	call *Call
	time uint64        // where the wall clock's time will be put, if it is asked for
	fail syscall.Errno // what the call must give
}

// kill ends the program. A traced thread that was stopped before a call never
// makes it.
func (t *tracer) kill(late bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.outcome.Late = late
		_ = syscall.Kill(t.pid, syscall.SIGKILL)
	}
}

const traceOptions = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_EXITKILL

// follow lets the program run from stop to stop until it has ended.
func (t *tracer) follow() error {
	var status syscall.WaitStatus
	if _, err := wait(t.pid, &status); err != nil {
		return err
	}
	if err := syscall.PtraceSetOptions(t.pid, traceOptions); err != nil {
		return err
	}
	t.threads[t.pid] = &thread{}
	if t.clock != nil {
		if err := hideFastClock(t.pid); err != nil {
			return err
		}
	}
	t.resume(t.pid, t.threads[t.pid], 0)
	for {
		tid, err := wait(-t.pid, &status)
		if err != nil {
			return err
		}
		switch {
		case status.Exited() || status.Signaled():
			delete(t.threads, tid)
			if tid == t.pid {
				t.end(status)
				return nil
			}
		case status.Stopped():
			t.stopped(tid, status)
		}
	}
}

func (t *tracer) end(status syscall.WaitStatus) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.outcome.Code = -1
	if status.Exited() {
		t.outcome.Code = status.ExitStatus()
	}
}

// wait waits for a traced thread only, never for another child of the test:
// the program has a process group of its own.
func wait(pid int, status *syscall.WaitStatus) (int, error) {
	for {
		tid, err := syscall.Wait4(pid, status, unix.WALL|unix.WNOTHREAD, nil)
		if err != syscall.EINTR {
			return tid, err
		}
	}
}

// stopped handles one stop of a thread and lets it run to the next: to the end
// of the call that it is in, or to its next call that the filter knows. A
// thread that was killed is gone, so errors say nothing.
func (t *tracer) stopped(tid int, status syscall.WaitStatus) {
	th := t.threads[tid]
	signal := status.StopSignal()
	switch {
	case th == nil: // a new thread begins stopped
		th = &thread{}
		t.threads[tid] = th
		signal = 0
	case signal == syscall.SIGTRAP|0x80 || status.TrapCause() == unix.PTRACE_EVENT_SECCOMP:
		t.atCall(tid, th)
		signal = 0
	case signal == syscall.SIGTRAP: // it made a thread, or began
		signal = 0
	}
	t.resume(tid, th, signal)
}

func (t *tracer) resume(tid int, th *thread, signal syscall.Signal) {
	if t.all || th.call != nil || th.time != 0 {
		_ = syscall.PtraceSyscall(tid, int(signal))
	} else {
		_ = syscall.PtraceCont(tid, int(signal))
	}
}

// callInfo is what the kernel says of a system call, ptrace_syscall_info in
// linux/ptrace.h.
type callInfo struct {
	Op    uint8
	_     [3]byte
	Arch  uint32
	IP    uint64
	SP    uint64
	First uint64 // the call's number, or its result
	Args  [6]uint64
	_     [2]uint64
}

const (
	getCallInfo = 0x420e // PTRACE_GET_SYSCALL_INFO
	opEntry     = 1
	opExit      = 2
	opSeccomp   = 3
)

func (t *tracer) atCall(tid int, th *thread) {
	var info callInfo
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, getCallInfo, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	switch {
	case errno != 0: // killed
	case info.Op == opSeccomp && info.First == unix.SYS_CLOCK_GETTIME:
		if info.Args[0] == unix.CLOCK_REALTIME {
			th.time = info.Args[1]
		}
	case info.Op == opExit && th.time != 0:
		shiftTime(tid, th.time, t.clock(t.calls))
		th.time = 0
	case info.Op == opSeccomp || info.Op == opEntry && t.all:
		t.entry(tid, th, &info)
	case info.Op == opExit && th.call != nil:
		t.exit(tid, th)
	}
}

func (t *tracer) entry(tid int, th *thread, info *callInfo) {
	f, ok := forms[info.First]
	if !ok {
		return
	}
	file, ok := t.fileOf(tid, f, info)
	if !ok {
		return
	}
	t.calls++
	th.call = &Call{N: t.calls, Name: f.name, File: file}
	o := t.obey(*th.call)
	if th.fail = o.Fail; th.fail != 0 && f.name != "close" {
		setRegisters(tid, func(r *syscall.PtraceRegs) { r.Orig_rax = ^uint64(0) }) // no such call: nothing is made
	}
}

func (t *tracer) exit(tid int, th *thread) {
	c := *th.call
	c.Done = true
	fail := th.fail
	th.call, th.fail = nil, 0
	if fail != 0 {
		setRegisters(tid, func(r *syscall.PtraceRegs) { r.Rax = -uint64(fail) })
	}
	t.obey(c)
}

// obey asks the hook and does what concerns the whole program.
func (t *tracer) obey(c Call) Order {
	o := t.hook(c)
	if o.Kill {
		t.kill(false)
	} else if o.Signal != 0 {
		_ = syscall.Kill(t.pid, o.Signal)
	}
	return o
}

func setRegisters(tid int, change func(*syscall.PtraceRegs)) {
	var r syscall.PtraceRegs
	if syscall.PtraceGetRegs(tid, &r) == nil {
		change(&r)
		_ = syscall.PtraceSetRegs(tid, &r)
	}
}

// form is where the arguments of a call stand; -1 when there is none such.
type form struct {
	name          string
	fd, dir, path int
}

func ofFile(name string) form             { return form{name, 0, -1, -1} }
func ofPath(name string, path int) form   { return form{name, -1, -1, path} }
func ofDir(name string, dir, at int) form { return form{name, -1, dir, at} }

// forms are the calls that a Go program makes on files and connections.
var forms = map[uint64]form{
	unix.SYS_READ: ofFile("read"), unix.SYS_PREAD64: ofFile("pread64"), unix.SYS_GETDENTS64: ofFile("getdents64"),
	unix.SYS_WRITE: ofFile("write"), unix.SYS_PWRITE64: ofFile("pwrite64"), unix.SYS_FTRUNCATE: ofFile("ftruncate"),
	unix.SYS_FALLOCATE: ofFile("fallocate"), unix.SYS_FSYNC: ofFile("fsync"), unix.SYS_FDATASYNC: ofFile("fdatasync"),
	unix.SYS_CLOSE: ofFile("close"), unix.SYS_FSTAT: ofFile("fstat"), unix.SYS_FSTATFS: ofFile("fstatfs"),
	unix.SYS_FLOCK: ofFile("flock"), unix.SYS_FCNTL: ofFile("fcntl"), unix.SYS_FCHMOD: ofFile("fchmod"),
	unix.SYS_COPY_FILE_RANGE: {"copy_file_range", 2, -1, -1},
	unix.SYS_OPENAT:          ofDir("openat", 0, 1), unix.SYS_NEWFSTATAT: ofDir("newfstatat", 0, 1), unix.SYS_STATX: ofDir("statx", 0, 1),
	unix.SYS_MKDIRAT: ofDir("mkdirat", 0, 1), unix.SYS_UNLINKAT: ofDir("unlinkat", 0, 1), unix.SYS_FCHMODAT: ofDir("fchmodat", 0, 1),
	unix.SYS_FCHMODAT2: ofDir("fchmodat2", 0, 1), unix.SYS_READLINKAT: ofDir("readlinkat", 0, 1),
	unix.SYS_FACCESSAT: ofDir("faccessat", 0, 1), unix.SYS_FACCESSAT2: ofDir("faccessat2", 0, 1),
	unix.SYS_UTIMENSAT: ofDir("utimensat", 0, 1), unix.SYS_LINKAT: ofDir("linkat", 2, 3), unix.SYS_SYMLINKAT: ofDir("symlinkat", 1, 2),
	unix.SYS_RENAMEAT: ofDir("renameat", 2, 3), unix.SYS_RENAMEAT2: ofDir("renameat2", 2, 3),
	unix.SYS_STATFS: ofPath("statfs", 0), unix.SYS_INOTIFY_ADD_WATCH: ofPath("inotify_add_watch", 1),
	unix.SYS_CONNECT: ofFile("connect"), unix.SYS_BIND: ofFile("bind"), unix.SYS_LISTEN: ofFile("listen"),
	unix.SYS_ACCEPT4: ofFile("accept4"), unix.SYS_SENDMSG: ofFile("sendmsg"), unix.SYS_RECVMSG: ofFile("recvmsg"),
}

// fileOf names the file of a call; ok is false for those that nobody asked for.
func (t *tracer) fileOf(tid int, f form, info *callInfo) (file string, ok bool) {
	switch {
	case f.fd >= 0:
		file = link(tid, fmt.Sprint("fd/", int32(info.Args[f.fd])))
	default:
		if file = text(tid, info.Args[f.path]); !strings.HasPrefix(file, "/") {
			at := "cwd"
			if f.dir >= 0 && int32(info.Args[f.dir]) != unix.AT_FDCWD {
				at = fmt.Sprint("fd/", int32(info.Args[f.dir]))
			}
			file = strings.TrimRight(link(tid, at)+"/"+file, "/")
		}
	}
	if strings.HasPrefix(file, "socket:") {
		return "socket", true
	}
	return strings.TrimSuffix(file, " (deleted)"), file == t.root || strings.HasPrefix(file, t.root+"/")
}

func link(tid int, name string) string {
	s, _ := os.Readlink(fmt.Sprintf("/proc/%d/%s", tid, name))
	return s
}

// text reads a string of the program's memory.
func text(tid int, at uint64) string {
	s, _, _ := strings.Cut(string(memory(tid, at, unix.PathMax)), "\x00")
	return s
}

// memory reads the program's memory, a page at a time, as the next page may
// not be there.
func memory(tid int, at uint64, most int) (all []byte) {
	for len(all) < most {
		page := make([]byte, 4096-at%4096)
		n, err := unix.ProcessVMReadv(tid,
			[]unix.Iovec{{Base: &page[0], Len: uint64(len(page))}},
			[]unix.RemoteIovec{{Base: uintptr(at), Len: len(page)}}, 0)
		if err != nil || n == 0 {
			break
		}
		all, at = append(all, page[:n]...), at+uint64(n)
	}
	return all
}

// Errors are the errors that the laboratory injects.
var Errors = []syscall.Errno{unix.EIO, unix.ENOSPC, unix.EROFS, unix.EDQUOT, unix.EMFILE, unix.ESTALE, unix.EINTR}
