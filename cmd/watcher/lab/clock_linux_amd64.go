package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// hideFastClock makes a program that was just started ask the kernel for the
// time: without the vDSO, whose address the auxiliary vector tells, each
// question is a system call, and its answer can be changed.
func hideFastClock(pid int) error {
	auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return err
	}
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(pid, &regs); err != nil {
		return err
	}
	// The vector lies on the stack above the arguments and the environment.
	stack := memory(pid, regs.Rsp, 1<<20)
	const word, vdso, ignore = 8, 33, 1 // AT_SYSINFO_EHDR, AT_IGNORE
	for at := 0; at+len(auxv) <= len(stack); at += word {
		if string(stack[at:at+len(auxv)]) != string(auxv) {
			continue
		}
		for entry := at; entry < at+len(auxv); entry += 2 * word {
			if binary.LittleEndian.Uint64(stack[entry:]) == vdso {
				_, err := syscall.PtracePokeData(pid, uintptr(regs.Rsp)+uintptr(entry), binary.LittleEndian.AppendUint64(nil, ignore))
				return err
			}
		}
	}
	return errors.New("the program's auxiliary vector is not where it should be")
}

// shiftTime adds to the time that the kernel just gave.
func shiftTime(tid int, at uint64, by time.Duration) {
	var b [16]byte
	if _, err := syscall.PtracePeekData(tid, uintptr(at), b[:]); err != nil {
		return // killed
	}
	s := int64(binary.LittleEndian.Uint64(b[:8])) + int64(by/time.Second)
	binary.LittleEndian.PutUint64(b[:8], uint64(s))
	_, _ = syscall.PtracePokeData(tid, uintptr(at), b[:])
}
