package machine

import (
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Memory is the memory in bytes that this process may use: the machine's, or less where its control group has a limit; 0
// where the system does not tell.
func Memory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	total := int64(math.MaxInt64)
	if bytes := info.Totalram * uint64(info.Unit); bytes < math.MaxInt64 {
		total = int64(bytes)
	}
	if limit := groupLimit("/sys/fs/cgroup/memory.max"); limit > 0 {
		total = min(total, limit)
	}
	return total
}

// groupLimit reads the limit of a control group, 0 where there is none.
func groupLimit(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil { // "max"
		return 0
	}
	return limit
}
