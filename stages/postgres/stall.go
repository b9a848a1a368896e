package postgres

import (
	"context"
	_ "embed" // the SQL text
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed sql/stall/report.sql
	stallReportSQL string
	//go:embed sql/stall/read.sql
	stallReadSQL string
)

// StallTerm is how long a stall that was reported counts: it is many times the interval at which a process repeats it, so
// that what is older was said by a process that is gone.
const StallTerm = 15 * time.Second

// maxStallReason bounds the stored reason, in bytes: a server's error can be of any length.
const maxStallReason = 2000

// Stall is why a partition of a stage does not move, as the process that runs it says (S9, R36). Faults of infrastructure
// are that, never something about data.
type Stall struct {
	Stage     string
	Partition int32
	// Process names who says so.
	Process string
	// Reason is one line; Since when the first of Attempts failures in a row happened, by the process's clock.
	Reason   string
	Since    time.Time
	Attempts int
	// NextTry is zero where the stage does not try again by itself.
	NextTry time.Time
	// Frontier is where the stage stood when the stall began, an offset or, of the relay, a sequence.
	Frontier int64
}

// ReportStalls makes the recorded stalls of a process those given, over a pool on the state schema: none removes them all.
func ReportStalls(ctx context.Context, pool *Pool, process string, stalls []Stall) error {
	n := len(stalls)
	stages, partitions, reasons := make([]string, n), make([]int32, n), make([]string, n)
	since, attempts, next, frontiers := make([]time.Time, n), make([]int32, n), make([]*time.Time, n), make([]int64, n)
	for i := range stalls {
		s := &stalls[i]
		stages[i], partitions[i], reasons[i] = s.Stage, s.Partition, storable(s.Reason)
		since[i], attempts[i], frontiers[i] = s.Since, int32(min(s.Attempts, 1<<30)), s.Frontier
		if !s.NextTry.IsZero() {
			next[i] = &s.NextTry
		}
	}
	if _, err := pool.Exec(ctx, stallReportSQL, process, stages, partitions, reasons, since, attempts, next, frontiers); err != nil {
		return fmt.Errorf("record what stands still: %w", err)
	}
	return nil
}

// storable makes a text of one line that Postgres takes: valid UTF-8 without U+0000, of bounded length.
func storable(reason string) string {
	if len(reason) > maxStallReason {
		reason = reason[:maxStallReason] + "…"
	}
	return strings.ToValidUTF8(strings.NewReplacer("\x00", "\uFFFD", "\n", "; ").Replace(reason), "\uFFFD")
}

// ReadStalls returns the stalls that live processes report, by stage and partition, the longest first, over a pool on the
// state schema.
func ReadStalls(ctx context.Context, pool *Pool) ([]Stall, error) {
	stalls, err := readRows(ctx, pool, scanStall, stallReadSQL, StallTerm)
	if err != nil {
		return nil, fmt.Errorf("read what stands still: %w", err)
	}
	return stalls, nil
}

func scanStall(rows pgx.Rows, s *Stall) error {
	var next *time.Time
	err := rows.Scan(&s.Stage, &s.Partition, &s.Process, &s.Reason, &s.Since, &s.Attempts, &next, &s.Frontier)
	if next != nil {
		s.NextTry = *next
	}
	return err
}
