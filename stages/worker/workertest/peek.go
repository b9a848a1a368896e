package workertest

import (
	"slices"

	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker"
)

// Peek returns a partition's row as it is committed, without its lock, and how many data records were accepted and
// rejected. A partition that does not exist is the zero row.
func (s *Store) Peek(partition int32) (state worker.PartitionState, accepted, rejected int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.partitions[partition]
	if !ok {
		return worker.PartitionState{}, 0, 0
	}
	return clonePartitionState(p.state), p.accepted, p.rejected
}

// OutboxRows returns up to limit envelopes of a partition from sequence from on. Their bytes are shared: they must not
// be changed.
func (s *Store) OutboxRows(partition int32, from int64, limit int) []OutboxRow {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := s.outbox[partition]
	rest := rows[min(max(from-1, 0), int64(len(rows))):]
	return slices.Clone(rest[:min(limit, len(rest))])
}

// OutboxEnd is exclusive: the sequence that the partition's next envelope will have.
func (s *Store) OutboxEnd(partition int32) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.outbox[partition])) + 1
}

// Quarantined returns the quarantine row of a record, false where there is none.
func (s *Store) Quarantined(partition int32, offset int64) (QuarantineRow, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, ok := s.quarantine[quarantineKey{partition, offset}]
	return q.clone(), ok
}

// Proves tells whether a payload of an identity is on record, as its authority or as evidence (R20).
func (s *Store) Proves(ref ledger.IdentityRef, payload ledger.Payload) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if row, ok := s.authority[ref.KeyID][ref.TxnID]; ok && row.Payload == payload {
		return true
	}
	rows := s.evidence[ledger.RevisionRef{KeyID: ref.KeyID, TxnID: ref.TxnID, Revision: payload.Revision}]
	return slices.ContainsFunc(rows, func(row ledger.EvidenceRow) bool { return row.Payload == payload })
}

// Rewind damages a partition's row: it sets the frontier back, which no unit of work can do.
func (s *Store) Rewind(partition int32, next int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.partitions[partition]; ok {
		p.state.NextOffset = next
	}
}
