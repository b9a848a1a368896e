//go:build !unix

package machine

// Free is the number of bytes that may still be written into the file system of a folder; -1, as this system is not asked.
func Free(string) int64 { return -1 }
