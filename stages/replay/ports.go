package replay

import (
	"context"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker"
)

// Store is the durable state that a replay holds and reads. Implementations: stages/postgres, and memory's over the
// worker's store in memory.
type Store interface {
	// Look returns the partition's row without locking it: nothing is touched. A partition that does not exist is the
	// zero row.
	Look(ctx context.Context, partition int32) (worker.PartitionState, error)
	// PartitionState and InstallEpoch are worker.Store's.
	PartitionState(ctx context.Context, partition int32) (worker.PartitionState, error)
	// InstallEpoch installs ExpectedEpoch+1, or returns an error wrapping worker.ErrFenced.
	InstallEpoch(ctx context.Context, in worker.Installation) (worker.PartitionState, error)
	// Read returns what is on record, under the partition's row lock; an error wraps worker.ErrFenced where epoch or
	// frontier are not those of the fence. It writes nothing.
	Read(ctx context.Context, fence Fence, want Want) (Found, error)
}

// Fence is what must hold while something is read (S8).
type Fence struct {
	Partition       int32
	Epoch, Frontier int64
}

// Want is what judging some records takes.
type Want struct {
	// From and To are the offsets whose quarantine entries are wanted, without To.
	From, To   int64
	Identities []ledger.IdentityRef
	Revisions  []ledger.RevisionRef
	Keys       []int32
}

// Found is what is on record of what was wanted; what is not there is left out.
type Found struct {
	Authority  []ledger.AuthorityRow
	Evidence   []ledger.EvidenceRow
	Conflicts  []ledger.ConflictRow
	Keys       []ledger.KeyRow
	Quarantine []ledger.QuarantineRow
}

// Topics tells what the broker has.
type Topics interface {
	// Describe returns nil without an error where the topic does not exist.
	Describe(ctx context.Context, topic string) (*broker.TopicInfo, error)
}

// index is Found by what it is looked up by.
type index struct {
	authority  map[ledger.IdentityRef]ledger.AuthorityRow
	evidence   map[ledger.RevisionRef][]ledger.EvidenceRow
	conflicts  map[ledger.RevisionRef]int64
	keys       map[int32]ledger.KeyRow
	quarantine map[int64]ledger.QuarantineRow
}

func newIndex(f Found) *index {
	x := &index{
		authority: make(map[ledger.IdentityRef]ledger.AuthorityRow, len(f.Authority)),
		evidence:  make(map[ledger.RevisionRef][]ledger.EvidenceRow, len(f.Evidence)),
		conflicts: make(map[ledger.RevisionRef]int64, len(f.Conflicts)), keys: make(map[int32]ledger.KeyRow, len(f.Keys)),
		quarantine: make(map[int64]ledger.QuarantineRow, len(f.Quarantine)),
	}
	for _, row := range f.Authority {
		x.authority[ledger.IdentityRef{KeyID: row.KeyID, TxnID: row.TxnID}] = row
	}
	for _, row := range f.Evidence {
		ref := ledger.RevisionRef{KeyID: row.KeyID, TxnID: row.TxnID, Revision: row.Payload.Revision}
		x.evidence[ref] = append(x.evidence[ref], row)
	}
	for _, row := range f.Conflicts {
		x.conflicts[ledger.RevisionRef{KeyID: row.KeyID, TxnID: row.TxnID, Revision: row.Revision}] = row.DetectedOffset
	}
	for _, row := range f.Keys {
		x.keys[row.KeyID] = row
	}
	for _, row := range f.Quarantine {
		x.quarantine[row.Offset] = row
	}
	return x
}
