package machine

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseSize reads a number of bytes: plain digits, or digits with KiB, MiB, GiB or TiB.
func ParseSize(text string) (int64, error) {
	digits, unit := text, int64(1)
	for power, suffix := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			digits, unit = rest, 1<<(10*(power+1))
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || n < 1 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is no size; write for example 512MiB or 2GiB", text)
	}
	return n * unit, nil
}

// Budget is the memory that a computation may take: what the flag --memory says, or a quarter of the machine's where it is
// empty; 0 where the system does not tell.
func Budget(flag string) (int64, error) {
	if flag == "" {
		return Memory() / 4, nil
	}
	bytes, err := ParseSize(flag)
	if err != nil {
		return 0, fmt.Errorf("--memory: %w", err)
	}
	return bytes, nil
}
