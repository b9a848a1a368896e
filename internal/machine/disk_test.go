package machine

import (
	"path/filepath"
	"runtime"
	"testing"
)

func TestFree(t *testing.T) {
	if got := Free(t.TempDir()); runtime.GOOS == "linux" && got <= 0 {
		t.Errorf("%d bytes free", got)
	}
	if got := Free(filepath.Join(t.TempDir(), "absent")); got != -1 {
		t.Errorf("%d bytes free in a folder that is not there", got)
	}
}
