//go:build !unix

package kafkatest

import "os"

// lockFile only opens: without file locks two test processes may fetch the broker's jars twice, and old folders of
// brokers are not told from those in use.
func lockFile(path string, block bool) (*os.File, error) {
	if !block {
		return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	}
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
}
