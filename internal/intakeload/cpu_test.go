//go:build figure

package intakeload

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// shares are the CPU seconds of the processes that take part in a measurement, by name.
type shares map[string]float64

// cpuShares reads what every process of this machine with one of the names has used so far; empty where there is no /proc.
func cpuShares() shares {
	used := shares{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		head, tail, _ := strings.Cut(string(text), ") ")
		number, name, _ := strings.Cut(head, " (")
		fields := strings.Fields(tail)
		switch {
		case len(fields) < 13:
			continue
		case number == strconv.Itoa(os.Getpid()):
			name = "clients"
		case len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) && name != "java":
			name = "intake"
		}
		user, _ := strconv.ParseFloat(fields[11], 64) // clock ticks, by the kernel's own hand
		system, _ := strconv.ParseFloat(fields[12], 64)
		used[name] += (user + system) / 100
	}
	return used
}

// during says how many cores each took while f ran.
func during(f func()) string {
	before, start := cpuShares(), time.Now()
	f()
	after, took := cpuShares(), time.Since(start)
	var text strings.Builder
	for _, name := range []string{"clients", "intake", "postgres", "java"} {
		fmt.Fprintf(&text, "%s %.2f ", name, (after[name]-before[name])/took.Seconds())
	}
	return strings.TrimSpace(text.String())
}
