package postgres

import (
	"context"
	_ "embed" // the SQL text
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	//go:embed sql/relay/report.sql
	relayReportSQL string
	//go:embed sql/relay/holder.sql
	relayHolderSQL string
)

// StopReport is a stop that never resumes by itself, as it was persisted (R36).
type StopReport struct {
	Reason string
	// Offset is the source or output offset of the record concerned, or the outbox sequence.
	Offset int64
	// Detail is one line for the operator.
	Detail string
	At     time.Time
}

// SourceReport is what worker and relay durably say of one source partition.
type SourceReport struct {
	Partition int32
	// Epoch and Member are of the owner that last installed itself (R16).
	Epoch  int64
	Member string
	// UpdatedAt is when the worker's row was last changed: of a partition that a replay holds, when that took it.
	UpdatedAt time.Time
	// NextOffset is the worker's frontier.
	NextOffset int64
	WorkerStop *StopReport
	// SentThrough and OutboxNext are the relay's frontier and the end of the outbox, both exclusive sequences.
	SentThrough, OutboxNext int64
	RelayStop               *StopReport
	// OldestPending is when the first unsent outbox row was committed, nil where none is.
	OldestPending *time.Time
}

// LeaseReport is who publishes the namespace (R17).
type LeaseReport struct {
	Holder string
	// Term is 0 where no relay ever ran.
	Term int64
	// Live is false where the lease has expired or was given up.
	Live bool
}

// ReadSourceReport reads the state of all source partitions, by number, and the relay's lease, over a pool whose
// search_path is the namespace's state schema.
func ReadSourceReport(ctx context.Context, pool *pgxpool.Pool) ([]SourceReport, LeaseReport, error) {
	reports, err := readRows(ctx, pool, scanSourceReport, relayReportSQL)
	if err != nil {
		return nil, LeaseReport{}, fmt.Errorf("read the state of the source partitions: %w", err)
	}
	var lease LeaseReport
	err = pool.QueryRow(ctx, relayHolderSQL).Scan(&lease.Holder, &lease.Term, &lease.Live)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, LeaseReport{}, fmt.Errorf("read the relay lease: %w", err)
	}
	return reports, lease, nil
}

func scanSourceReport(rows pgx.Rows, r *SourceReport) error {
	var workerReason, relayReason *string
	var workerAt, relayAt *time.Time
	var worker, relay StopReport
	err := rows.Scan(&r.Partition, &r.Epoch, &r.Member, &r.UpdatedAt, &r.NextOffset, &workerReason, &worker.Offset,
		&worker.Detail, &workerAt, &r.SentThrough, &r.OutboxNext, &relayReason, &relay.Detail, &relayAt, &r.OldestPending)
	relay.Offset = r.SentThrough
	r.WorkerStop, r.RelayStop = worker.with(workerReason, workerAt), relay.with(relayReason, relayAt)
	return err
}

// with completes a report by its nullable columns; without a reason there was no stop.
func (s StopReport) with(reason *string, at *time.Time) *StopReport {
	if reason == nil {
		return nil
	}
	s.Reason = *reason
	if at != nil {
		s.At = *at
	}
	return &s
}
