package workertest

import (
	"bytes"
	"errors"
	"slices"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/ledger"
)

// apply writes a unit of work; on an error nothing is written. The caller holds s.mu and the partition's lock.
func (s *Store) apply(p *partition, c ledger.Changes) error {
	if err := s.check(p, c); err != nil {
		return err
	}
	for _, a := range slices.Concat(c.NewAuthority, c.ChangedAuthority) {
		put(s.authority, a.KeyID, a.TxnID, a)
	}
	for _, e := range c.Evidence {
		ref := evidenceRef(e)
		s.evidence[ref] = append(s.evidence[ref], e)
	}
	for _, row := range c.Conflicts {
		s.conflicts[ledger.RevisionRef{KeyID: row.KeyID, TxnID: row.TxnID, Revision: row.Revision}] = row
	}
	for _, d := range slices.Concat(c.NewDays, c.ChangedDays) {
		put(s.days, d.KeyID, d.Day, d)
	}
	for _, k := range c.Keys {
		k.Conflicts = slices.Clone(k.Conflicts)
		s.keys[k.KeyID] = k
	}
	id := p.state.Partition
	for _, q := range c.Quarantine {
		s.quarantine[quarantineKey{id, q.Offset}] = QuarantineRow{Partition: id, QuarantineRow: q}.clone()
	}
	for _, e := range c.Envelopes {
		s.outbox[id] = append(s.outbox[id], OutboxRow{Partition: id, Seq: p.outboxNext, Key: bytes.Clone(e.Key), Value: bytes.Clone(e.Value)})
		p.outboxNext++
	}
	p.state.NextOffset = c.NextOffset
	p.accepted += c.Accepted
	p.rejected += c.Rejected
	return nil
}

// check tests what Postgres's constraints would refuse.
func (s *Store) check(p *partition, c ledger.Changes) error {
	bad := func(format string, args ...any) error {
		return fault.Mark(fault.Stop, invariant.Violated(format, args...))
	}
	if c.NextOffset < p.state.NextOffset {
		return bad("frontier would move back from %d to %d", p.state.NextOffset, c.NextOffset)
	}
	seen := make(map[any]bool)
	row := func(key any, exists, want bool) error {
		if exists != want || seen[key] {
			return bad("row %+v: exists %v, want %v, twice %v", key, exists, want, seen[key])
		}
		seen[key] = true
		return nil
	}
	var errs []error
	for i, list := range [][]ledger.AuthorityRow{c.NewAuthority, c.ChangedAuthority} {
		for _, a := range list {
			_, ok := s.authority[a.KeyID][a.TxnID]
			errs = append(errs, row(ledger.IdentityRef{KeyID: a.KeyID, TxnID: a.TxnID}, ok, i == 1))
		}
	}
	for i, list := range [][]ledger.DayRow{c.NewDays, c.ChangedDays} {
		for _, d := range list {
			_, ok := s.days[d.KeyID][d.Day]
			errs = append(errs, row([2]int32{d.KeyID, d.Day}, ok, i == 1))
		}
	}
	for _, e := range c.Evidence {
		same := func(other ledger.EvidenceRow) bool { return other.Payload == e.Payload }
		key := struct {
			ref     ledger.RevisionRef
			payload ledger.Payload
		}{evidenceRef(e), e.Payload}
		errs = append(errs, row(key, slices.ContainsFunc(s.evidence[key.ref], same), false))
	}
	for _, conflict := range c.Conflicts {
		key := ledger.RevisionRef{KeyID: conflict.KeyID, TxnID: conflict.TxnID, Revision: conflict.Revision}
		_, ok := s.conflicts[key]
		errs = append(errs, row(key, ok, false))
	}
	for _, q := range c.Quarantine {
		key := quarantineKey{p.state.Partition, q.Offset}
		_, ok := s.quarantine[key]
		errs = append(errs, row(key, ok, false))
	}
	return errors.Join(errs...)
}

func evidenceRef(e ledger.EvidenceRow) ledger.RevisionRef {
	return ledger.RevisionRef{KeyID: e.KeyID, TxnID: e.TxnID, Revision: e.Payload.Revision}
}

func put[K comparable, V any](table map[int32]map[K]V, keyID int32, key K, row V) {
	if table[keyID] == nil {
		table[keyID] = make(map[K]V)
	}
	table[keyID][key] = row
}
