//go:build unix

package machine

import "golang.org/x/sys/unix"

// Free is the number of bytes that this user may still write into the file system of a folder that exists; -1 where the
// system does not tell.
func Free(folder string) int64 {
	var s unix.Statfs_t
	if unix.Statfs(folder, &s) != nil {
		return -1
	}
	return int64(uint64(s.Bavail) * uint64(s.Bsize)) //nolint:unconvert // the types differ between systems
}
