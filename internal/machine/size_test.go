package machine

import (
	"runtime"
	"testing"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "4096": 4096, "1KiB": 1 << 10, "512MiB": 512 << 20, "2 GiB": 2 << 30, "1TiB": 1 << 40} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "1.5GiB", "MiB", "1GB", "9223372036854775808", "9000000TiB"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q is accepted as %d", text, got)
		}
	}
}

func TestMemory(t *testing.T) {
	if got := Memory(); got < 0 || runtime.GOOS == "linux" && got == 0 {
		t.Errorf("%d bytes", got)
	}
}
