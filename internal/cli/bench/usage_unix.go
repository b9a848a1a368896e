//go:build unix

package bench

import (
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
)

// cpu is the processor time of this process so far.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peak is the largest resident memory of a process that has ended, in bytes.
func peak(s *os.ProcessState) int64 {
	u, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return resident(u)
}

// ownPeak is the largest resident memory of this process so far, in bytes.
func ownPeak() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return resident(&u)
}

// forgetPeak gives free memory back and lets ownPeak begin anew. Linux can do that; elsewhere ownPeak goes on.
func forgetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // a system without it keeps the peak of before
}

// resident is the peak of a usage in bytes.
func resident(u *syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" { // bytes there, kilobytes elsewhere
		return u.Maxrss
	}
	return u.Maxrss * 1024
}
