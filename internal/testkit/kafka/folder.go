package kafkatest

import (
	"fmt"
	"os"
	"path/filepath"
)

// folderPrefix begins the name of every broker folder in the temporary folder.
const folderPrefix = "amends-test-kafka-"

// newFolder makes the folder of one broker and locks it for as long as this process lives. Folders whose owner is gone
// are removed first: a test process that is killed cannot clean up itself.
func newFolder() (string, *os.File, error) {
	// One at a time: a folder must not be taken for an abandoned one between being made and being locked.
	making, err := lockFile(filepath.Join(os.TempDir(), "amends-test-kafka.lock"), true)
	if err != nil {
		return "", nil, fmt.Errorf("make a broker folder: %w", err)
	}
	defer func() { _ = making.Close() }()
	stale, err := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*"))
	if err != nil {
		return "", nil, fmt.Errorf("look for old broker folders: %w", err)
	}
	for _, dir := range stale {
		if lock, err := lockFile(filepath.Join(dir, "lock"), false); err == nil {
			_ = os.RemoveAll(dir)
			_ = lock.Close()
		}
	}
	dir, err := os.MkdirTemp("", folderPrefix)
	if err != nil {
		return "", nil, fmt.Errorf("make a broker folder: %w", err)
	}
	lock, err := lockFile(filepath.Join(dir, "lock"), false)
	if err != nil {
		return "", nil, fmt.Errorf("lock a broker folder: %w", err)
	}
	return dir, lock, nil
}
