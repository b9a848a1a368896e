package workertest

import (
	"bytes"
	"cmp"
	"slices"

	"amends.dev/amends/stages/ledger"
)

// Tables is everything a store holds, each table in the order of its key: two stores are equal when their Tables are.
type Tables struct {
	Partitions []PartitionRow
	Keys       []ledger.KeyRow
	Authority  []ledger.AuthorityRow
	Evidence   []ledger.EvidenceRow
	Conflicts  []ledger.ConflictRow
	Days       []ledger.DayRow
	Quarantine []QuarantineRow
	Outbox     []OutboxRow
}

// PartitionRow is the progress of one partition, without its owner.
type PartitionRow struct {
	Partition                                  int32
	NextOffset, OutboxNext, Accepted, Rejected int64
	// StopReason is empty while the partition runs.
	StopReason string
	StopOffset int64
}

// QuarantineRow is one rejected record with its partition.
type QuarantineRow struct {
	Partition int32
	ledger.QuarantineRow
}

// OutboxRow is one envelope with its sequence in its source partition.
type OutboxRow struct {
	Partition  int32
	Seq        int64
	Key, Value []byte
}

// Sort puts every table in the order of its key, and every empty list in one form.
func (t *Tables) Sort() {
	for i := range t.Keys {
		if len(t.Keys[i].Conflicts) == 0 {
			t.Keys[i].Conflicts = nil
		}
	}
	t.Partitions, t.Keys, t.Authority, t.Evidence = slim(t.Partitions), slim(t.Keys), slim(t.Authority), slim(t.Evidence)
	t.Conflicts, t.Days, t.Quarantine, t.Outbox = slim(t.Conflicts), slim(t.Days), slim(t.Quarantine), slim(t.Outbox)
	slices.SortFunc(t.Partitions, func(a, b PartitionRow) int { return cmp.Compare(a.Partition, b.Partition) })
	slices.SortFunc(t.Keys, func(a, b ledger.KeyRow) int { return cmp.Compare(a.KeyID, b.KeyID) })
	slices.SortFunc(t.Authority, compareAuthority)
	slices.SortFunc(t.Evidence, func(a, b ledger.EvidenceRow) int {
		return cmp.Or(cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.TxnID, b.TxnID), comparePayloads(a.Payload, b.Payload))
	})
	slices.SortFunc(t.Conflicts, func(a, b ledger.ConflictRow) int {
		return cmp.Or(cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.TxnID, b.TxnID), cmp.Compare(a.Revision, b.Revision))
	})
	slices.SortFunc(t.Days, compareDays)
	slices.SortFunc(t.Quarantine, func(a, b QuarantineRow) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	slices.SortFunc(t.Outbox, func(a, b OutboxRow) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Seq, b.Seq))
	})
}

func slim[T any](rows []T) []T {
	if len(rows) == 0 {
		return nil
	}
	return rows
}

func compareAuthority(a, b ledger.AuthorityRow) int {
	return cmp.Or(cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.TxnID, b.TxnID))
}

func compareDays(a, b ledger.DayRow) int {
	return cmp.Or(cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.Day, b.Day))
}

func comparePayloads(a, b ledger.Payload) int {
	return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.ValidTime, b.ValidTime), cmp.Compare(a.Qty, b.Qty))
}

// clone copies a row so that neither side sees later changes of the other's bytes.
func (q QuarantineRow) clone() QuarantineRow {
	q.Key, q.Value = bytes.Clone(q.Key), bytes.Clone(q.Value)
	q.KeySHA256, q.ValueSHA256 = bytes.Clone(q.KeySHA256), bytes.Clone(q.ValueSHA256)
	return q
}
