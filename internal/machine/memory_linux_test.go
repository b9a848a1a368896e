package machine

import (
	"os"
	"path/filepath"
	"testing"
)

func TestGroupLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.max")
	for text, want := range map[string]int64{"1048576\n": 1 << 20, "max\n": 0} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := groupLimit(path); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
