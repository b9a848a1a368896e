//go:build unix

package snapshot

import (
	"os"
	"syscall"
)

// flock takes an exclusive lock on an open folder, or fails at once.
func flock(folder *os.File) error {
	return syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
