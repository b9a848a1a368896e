package postgres

import (
	"context"
	_ "embed" // the SQL text
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/replay"
	"amends.dev/amends/stages/worker"
)

var (
	//go:embed sql/replay/look.sql
	replayLookSQL string
	//go:embed sql/replay/conflicts.sql
	replayConflictsSQL string
	//go:embed sql/replay/quarantine.sql
	replayQuarantineSQL string
)

// ReplayStore implements replay.Store over the state schema of one namespace: it takes partitions as the worker's store
// does, and reads what is on record (R25). It is safe for concurrent use.
type ReplayStore struct {
	*WorkerStore
}

// NewReplayStore returns the store over a pool whose search_path is the namespace's state schema.
func NewReplayStore(pool *Pool, sourceTopicID string) *ReplayStore {
	return &ReplayStore{WorkerStore: NewWorkerStore(pool, sourceTopicID)}
}

var _ replay.Store = (*ReplayStore)(nil)

// Look implements replay.Store.
func (s *ReplayStore) Look(ctx context.Context, partition int32) (worker.PartitionState, error) {
	state, err := scanState(s.pool.QueryRow(ctx, replayLookSQL, partition), partition)
	if errors.Is(err, pgx.ErrNoRows) {
		return worker.PartitionState{}, nil
	}
	if err != nil {
		return worker.PartitionState{}, fmt.Errorf("read the state of partition %d: %w", partition, classify(err))
	}
	return state, nil
}

// Read implements replay.Store: one transaction that holds the partition's row lock, and is rolled back.
func (s *ReplayStore) Read(ctx context.Context, fence replay.Fence, want replay.Want) (replay.Found, error) {
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: s.isolation})
	if err != nil {
		return replay.Found{}, fmt.Errorf("begin: %w", err)
	}
	defer rollback(ctx, tx)
	if err := checkFence(ctx, tx, fence); err != nil {
		return replay.Found{}, fmt.Errorf("begin: %w", err)
	}
	unit := &workerUnit{tx: tx, topicID: s.topicID, partition: fence.Partition, epoch: fence.Epoch, frontier: fence.Frontier}
	var found replay.Found
	if found.Authority, err = unit.Authority(ctx, want.Identities); err != nil {
		return replay.Found{}, err
	}
	if found.Evidence, err = unit.Evidence(ctx, want.Revisions); err != nil {
		return replay.Found{}, err
	}
	if found.Keys, err = readRows(ctx, tx, scanKey, workerKeysSQL, want.Keys); err != nil {
		return replay.Found{}, fmt.Errorf("read key status: %w", err)
	}
	keyIDs, txnIDs, revisions := revisionColumns(want.Revisions)
	if found.Conflicts, err = readRows(ctx, tx, scanConflict, replayConflictsSQL, keyIDs, txnIDs, revisions); err != nil {
		return replay.Found{}, fmt.Errorf("read conflicts: %w", err)
	}
	found.Quarantine, err = readRows(ctx, tx, scanQuarantine, replayQuarantineSQL, fence.Partition, want.From, want.To, s.topicID)
	if err != nil {
		return replay.Found{}, fmt.Errorf("read quarantine: %w", err)
	}
	return found, nil
}

// checkFence takes the partition's row lock and compares epoch and frontier under it (S8). A partition that stopped for
// good may be read: that is how it is looked into.
func checkFence(ctx context.Context, tx pgx.Tx, fence replay.Fence) error {
	var epoch, frontier, outboxNext int64
	var stopped *string
	err := tx.QueryRow(ctx, workerLockSQL, fence.Partition).Scan(&epoch, &frontier, &outboxNext, &stopped)
	switch {
	case err != nil:
		return classify(err)
	case epoch != fence.Epoch:
		return fmt.Errorf("epoch is %d, not %d: %w", epoch, fence.Epoch, worker.ErrFenced)
	case frontier != fence.Frontier:
		return fmt.Errorf("frontier is %d, not %d: %w", frontier, fence.Frontier, worker.ErrFenced)
	}
	return nil
}

// revisionColumns are revisions as the columns of unnest.
func revisionColumns(refs []ledger.RevisionRef) (keyIDs []int32, txnIDs []string, revisions []int64) {
	keyIDs, txnIDs, revisions = make([]int32, len(refs)), make([]string, len(refs)), make([]int64, len(refs))
	for i, ref := range refs {
		keyIDs[i], txnIDs[i], revisions[i] = ref.KeyID, ref.TxnID, ref.Revision
	}
	return keyIDs, txnIDs, revisions
}

func scanConflict(rows pgx.Rows, c *ledger.ConflictRow) error {
	return rows.Scan(&c.KeyID, &c.TxnID, &c.Revision, &c.DetectedOffset)
}

func scanQuarantine(rows pgx.Rows, q *ledger.QuarantineRow) error {
	return rows.Scan(&q.Offset, &q.Reason, &q.Key, &q.Value, &q.KeyLength, &q.ValueLength, &q.KeySHA256, &q.ValueSHA256)
}
