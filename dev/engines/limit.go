package engines

import (
	"fmt"
	"math"
	"syscall"
	"unsafe"
)

// Unlimited, given to LimitFiles, takes the limit away.
const Unlimited = math.MaxUint64

// LimitFiles is Process.LimitFiles of the engine's process.
func (e *Engine) LimitFiles(bytes uint64) error { return e.process().LimitFiles(bytes) }

// LimitFiles keeps the process from making any file longer than so many bytes (RLIMIT_FSIZE), from
// now on: what a full disk does to it, on any machine and without a mount. What is that long
// already can still be written to.
func (p *Process) LimitFiles(bytes uint64) error {
	limit := syscall.Rlimit{Cur: bytes, Max: Unlimited}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(p.Pid()),
		syscall.RLIMIT_FSIZE, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("cannot limit the files of %s (process %d): %w", p.name, p.Pid(), errno)
	}
	return nil
}
