package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/worker"
)

// WorkerStore implements worker.Store over the state schema of one namespace (S8). It is safe for concurrent use.
type WorkerStore struct {
	pool    *pgxpool.Pool
	topicID string
	// isolation is READ COMMITTED, whatever the role's default; tests set others.
	isolation pgx.TxIsoLevel
}

// NewWorkerStore returns the store over a pool whose search_path is the namespace's state schema. sourceTopicID is
// recorded with quarantined records (S4).
func NewWorkerStore(pool *pgxpool.Pool, sourceTopicID string) *WorkerStore {
	return &WorkerStore{pool: pool, topicID: sourceTopicID, isolation: pgx.ReadCommitted}
}

var _ worker.Store = (*WorkerStore)(nil)

// PartitionState implements worker.Store. A frozen owner's lock is freed by the server where the owner sits between two
// statements, and here where it sits inside one, so that the caller gets it at its next try at the latest (B030).
func (s *WorkerStore) PartitionState(ctx context.Context, partition int32) (worker.PartitionState, error) {
	// A courtesy to the waiting: whether it fails or not, the lock decides.
	_, _ = s.pool.Exec(ctx, workerFreeSQL)
	state, err := scanState(s.pool.QueryRow(ctx, workerStateSQL, partition), partition)
	if err != nil {
		return worker.PartitionState{}, fmt.Errorf("read the state of partition %d: %w", partition, classify(err))
	}
	return state, nil
}

// InstallEpoch implements worker.Store. The whole comparison is in one statement on the partition's row, which
// Postgres evaluates again on the newest version where it had to wait for another writer.
func (s *WorkerStore) InstallEpoch(ctx context.Context, in worker.Installation) (worker.PartitionState, error) {
	row := s.pool.QueryRow(ctx, workerInstallSQL, in.Partition, in.ExpectedEpoch, in.Member, in.Generation, in.TakeOver)
	state, err := scanState(row, in.Partition)
	if errors.Is(err, pgx.ErrNoRows) {
		return worker.PartitionState{}, fmt.Errorf("install epoch %d of partition %d for member %s, generation %d: %w",
			in.ExpectedEpoch+1, in.Partition, in.Member, in.Generation, worker.ErrFenced)
	}
	if err != nil {
		return worker.PartitionState{}, fmt.Errorf("install an epoch of partition %d: %w", in.Partition, classify(err))
	}
	return state, nil
}

// RecordStop implements worker.Store.
func (s *WorkerStore) RecordStop(ctx context.Context, partition int32, epoch, frontier int64, stop worker.Stop) error {
	tag, err := s.pool.Exec(ctx, workerStopSQL, partition, epoch, frontier, stop.Reason, stop.Offset, stop.Detail)
	if err != nil {
		return fmt.Errorf("record the stop of partition %d: %w", partition, classify(err))
	}
	if tag.RowsAffected() != 1 {
		return fmt.Errorf("record the stop of partition %d: %w", partition, worker.ErrFenced)
	}
	return nil
}

// Begin implements worker.Store.
func (s *WorkerStore) Begin(ctx context.Context, partition int32, epoch, frontier int64) (worker.Unit, error) {
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: s.isolation})
	if err != nil {
		return nil, fmt.Errorf("begin a unit of work on partition %d: %w", partition, err)
	}
	unit := &workerUnit{tx: tx, topicID: s.topicID, partition: partition, epoch: epoch, frontier: frontier}
	if err := unit.lock(ctx); err != nil {
		rollback(ctx, tx)
		return nil, fmt.Errorf("begin a unit of work on partition %d: %w", partition, err)
	}
	return unit, nil
}

// lock takes the partition's row lock and checks the fence under it.
func (u *workerUnit) lock(ctx context.Context) error {
	var epoch, frontier int64
	var stopped *string
	mark.Hit("postgres.1 row lock comes first")
	err := u.tx.QueryRow(ctx, workerLockSQL, u.partition).Scan(&epoch, &frontier, &u.outboxNext, &stopped)
	switch {
	case err != nil:
		return classify(err)
	case epoch != u.epoch:
		mark.Hit("postgres.2 other epoch under the lock")
		return fmt.Errorf("epoch is %d, not %d: %w", epoch, u.epoch, worker.ErrFenced)
	case frontier != u.frontier:
		return fmt.Errorf("frontier is %d, not %d: %w", frontier, u.frontier, worker.ErrFenced)
	case stopped != nil:
		return fmt.Errorf("%w by %s: %w", errStopped, *stopped, worker.ErrFenced)
	default:
		return nil
	}
}

// errStopped marks a partition whose epoch and frontier are as expected, and which stopped for good.
var errStopped = errors.New("stopped")

func scanState(row pgx.Row, partition int32) (worker.PartitionState, error) {
	state := worker.PartitionState{Partition: partition}
	var reason *string
	var stop worker.Stop
	err := row.Scan(&state.Epoch, &state.Member, &state.Generation, &state.NextOffset, &reason, &stop.Offset, &stop.Detail)
	if err != nil {
		return worker.PartitionState{}, err
	}
	if reason != nil {
		stop.Reason = *reason
		state.Stop = &stop
	}
	return state, nil
}

// classify marks server errors that trying again cannot cure: data or constraints violated by a statement of ours are a
// bug. Everything else that a server or network says is a fault, and never a reason to quarantine (S4).
func classify(err error) error {
	if state := sqlState(err); len(state) == 5 && (state[:2] == "22" || state[:2] == "23") {
		return fault.Mark(fault.Stop, err)
	}
	return err
}
