//go:build !linux

package machine

// Memory is the memory in bytes that this process may use; 0, as this system is not asked.
func Memory() int64 { return 0 }
