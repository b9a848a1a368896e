package bench

import (
	"fmt"
	"time"
)

// phase is what one phase took.
type phase struct {
	WallMS         int64 `json:"wallMs"`
	CPUMS          int64 `json:"cpuMs"`
	RowsPerSecond  int64 `json:"rowsPerSecond"`
	BytesPerSecond int64 `json:"bytesPerSecond"`
	// PeakBytes is the largest resident memory of the process during the phase; where the system cannot tell it by phase,
	// since the process began.
	PeakBytes int64 `json:"peakBytes"`
}

// stopwatch measures a phase.
type stopwatch struct {
	now  func() time.Time
	wall time.Time
	cpu  time.Duration
}

// start begins a phase.
func start(now func() time.Time) stopwatch {
	forgetPeak()
	return stopwatch{now, now(), cpu()}
}

// stop ends it: so many records, in files of so many bytes.
func (s stopwatch) stop(rows, bytes int64) phase {
	wall := max(s.now().Sub(s.wall), time.Millisecond)
	rate := func(n int64) int64 { return int64(float64(n) / wall.Seconds()) }
	return phase{wall.Milliseconds(), (cpu() - s.cpu).Milliseconds(), rate(rows), rate(bytes), ownPeak()}
}

// line is a phase for people.
func (p phase) line(name string) string {
	return fmt.Sprintf("%-10s %8.2f s %8.2f CPU s %12d records/s %8.1f MB/s, peak memory %.0f MB\n", name,
		float64(p.WallMS)/1000, float64(p.CPUMS)/1000, p.RowsPerSecond, float64(p.BytesPerSecond)/1e6, float64(p.PeakBytes)/1e6)
}
