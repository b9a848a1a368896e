// Package memory is the replay's durable state in memory, over the worker's, for tests and conformance.
package memory

import (
	"context"
	"fmt"
	"slices"

	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/replay"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

// Store shows a worker's store in memory to a replay. It is safe for concurrent use.
type Store struct {
	*workertest.Store
}

var _ replay.Store = Store{}

// Look implements replay.Store.
func (s Store) Look(_ context.Context, partition int32) (worker.PartitionState, error) {
	state, _, _ := s.Peek(partition)
	return state, nil
}

// Read implements replay.Store.
func (s Store) Read(ctx context.Context, fence replay.Fence, want replay.Want) (replay.Found, error) {
	state, err := s.PartitionState(ctx, fence.Partition)
	switch {
	case err != nil:
		return replay.Found{}, err
	case state.Epoch != fence.Epoch || state.NextOffset != fence.Frontier:
		return replay.Found{}, fmt.Errorf("epoch is %d and frontier %d: %w", state.Epoch, state.NextOffset, worker.ErrFenced)
	}
	tables := s.Tables()
	found := replay.Found{
		Authority: keep(tables.Authority, func(r ledger.AuthorityRow) bool {
			return slices.Contains(want.Identities, ledger.IdentityRef{KeyID: r.KeyID, TxnID: r.TxnID})
		}),
		Evidence: keep(tables.Evidence, func(r ledger.EvidenceRow) bool {
			return slices.Contains(want.Revisions, ledger.RevisionRef{KeyID: r.KeyID, TxnID: r.TxnID, Revision: r.Payload.Revision})
		}),
		Conflicts: keep(tables.Conflicts, func(r ledger.ConflictRow) bool {
			return slices.Contains(want.Revisions, ledger.RevisionRef{KeyID: r.KeyID, TxnID: r.TxnID, Revision: r.Revision})
		}),
		Keys: keep(tables.Keys, func(r ledger.KeyRow) bool { return slices.Contains(want.Keys, r.KeyID) }),
	}
	for _, row := range tables.Quarantine {
		if row.Partition == fence.Partition && row.Offset >= want.From && row.Offset < want.To {
			found.Quarantine = append(found.Quarantine, row.QuarantineRow)
		}
	}
	return found, nil
}

// keep returns the rows that are wanted.
func keep[T any](rows []T, wanted func(T) bool) []T {
	var kept []T
	for _, row := range rows {
		if wanted(row) {
			kept = append(kept, row)
		}
	}
	return kept
}
