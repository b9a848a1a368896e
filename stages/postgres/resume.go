package postgres

import (
	"context"
	_ "embed" // the SQL text
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/worker"
)

var (
	//go:embed sql/resume/ask.sql
	resumeAskSQL string
	//go:embed sql/resume/asked.sql
	resumeAskedSQL string
	//go:embed sql/resume/worker.sql
	resumeWorkerSQL string
	//go:embed sql/resume/relay.sql
	resumeRelaySQL string
	//go:embed sql/resume/view.sql
	resumeViewSQL string
)

// ErrNotThatStop is wrapped where a stop that is to be cleared is no longer the one that was looked into.
var ErrNotThatStop = errors.New("the stop is another one now")

// ResumeTarget is one partition of one stage.
type ResumeTarget struct {
	Stage     string
	Partition int32
}

// AskResume asks whatever process runs the stage to try the partition now (R36), over a pool on the state schema.
func AskResume(ctx context.Context, pool *Pool, stage string, partition int32) error {
	if _, err := pool.Exec(ctx, resumeAskSQL, stage, partition); err != nil {
		return fmt.Errorf("ask %s partition %d to try again: %w", stage, partition, err)
	}
	return nil
}

// ResumeRequests returns how often each partition was ever asked to try again, over a pool on the state schema.
func ResumeRequests(ctx context.Context, pool *Pool) (map[ResumeTarget]int64, error) {
	type row struct {
		target ResumeTarget
		count  int64
	}
	rows, err := readRows(ctx, pool, func(rows pgx.Rows, r *row) error {
		return rows.Scan(&r.target.Stage, &r.target.Partition, &r.count)
	}, resumeAskedSQL)
	if err != nil {
		return nil, fmt.Errorf("read what is to be tried again: %w", err)
	}
	all := make(map[ResumeTarget]int64, len(rows))
	for _, r := range rows {
		all[r.target] = r.count
	}
	return all, nil
}

// ClearWorkerStop removes a partition's persisted stop, where it is the one of that state. An error wraps ErrNotThatStop
// where it is not.
func ClearWorkerStop(ctx context.Context, pool *Pool, state worker.PartitionState) error {
	if state.Stop == nil {
		return fmt.Errorf("worker partition %d is not stopped: %w", state.Partition, ErrNotThatStop)
	}
	return clearStop(ctx, pool, resumeWorkerSQL, worker.Stage, state.Partition, state.Epoch, state.Stop.Reason, state.Stop.Offset)
}

// ClearRelayStop removes a source partition's persisted stop, where it is the one of that position.
func ClearRelayStop(ctx context.Context, pool *Pool, position relay.Position) error {
	return clearStop(ctx, pool, resumeRelaySQL, relay.Stage, position.Partition, position.Sent, position.Stopped)
}

// ClearViewStop removes an output partition's persisted stop, where it is that one, over a pool on the view schema.
func ClearViewStop(ctx context.Context, pool *Pool, stop *view.StoppedError) error {
	return clearStop(ctx, pool, resumeViewSQL, view.Stage, stop.Partition, stop.Offset, string(stop.Reason))
}

// clearStop runs a statement that changes one row, where the stop is the one that was looked into.
func clearStop(ctx context.Context, pool *Pool, sql, stage string, partition int32, args ...any) error {
	tag, err := pool.Exec(ctx, sql, append([]any{partition}, args...)...)
	if err != nil {
		return fmt.Errorf("clear the stop of %s partition %d: %w", stage, partition, classify(err))
	}
	if tag.RowsAffected() != 1 {
		return fmt.Errorf("clear the stop of %s partition %d: %w", stage, partition, ErrNotThatStop)
	}
	return nil
}
