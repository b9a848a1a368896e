package ledger_test

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	"amends.dev/amends/stages/ledger"
)

// step is one decoded record.
type step struct {
	rec    ledger.Record
	tx     ledger.Transaction
	reason ledger.Reason
}

// shell is a store and a worker around the core, as small as they can be: what the worker's shell does, in memory.
type shell struct {
	t          testing.TB
	cfg        *ledger.Config
	cache      *ledger.Cache
	epoch      int64
	next       int64
	keys       map[int32]ledger.KeyRow
	days       map[[2]int32]ledger.DayRow
	authority  map[ledger.IdentityRef]ledger.AuthorityRow
	evidence   []ledger.EvidenceRow
	conflicts  []ledger.ConflictRow
	quarantine []ledger.QuarantineRow
	envelopes  []string
	units      int
	// reads counts the rows asked for by each kind of read.
	keysRead, authorityRead, evidenceRead, keyAuthorityRead int
}

// newShell returns an empty store with a cache of so many rows.
func newShell(t testing.TB, cfg *ledger.Config, cached int) *shell {
	return &shell{
		t: t, cfg: cfg, cache: ledger.NewCache(cached), epoch: 1,
		keys: make(map[int32]ledger.KeyRow), days: make(map[[2]int32]ledger.DayRow),
		authority: make(map[ledger.IdentityRef]ledger.AuthorityRow),
	}
}

// load prepares a batch for transactions in the documented order.
func (s *shell) load(batch *ledger.Batch, txs []ledger.Transaction) {
	s.cache.Checkout(batch, txs)
	keyIDs := batch.KeysNeeded(txs)
	var keys []ledger.KeyRow
	var days []ledger.DayRow
	for _, id := range keyIDs {
		if row, ok := s.keys[id]; ok {
			keys = append(keys, row)
		}
	}
	for at, row := range s.days {
		if slices.Contains(keyIDs, at[0]) {
			days = append(days, row)
		}
	}
	batch.AddKeys(keyIDs, keys, days)
	whole := batch.KeyAuthorityNeeded(txs)
	var rows []ledger.AuthorityRow
	for ref, row := range s.authority {
		if slices.Contains(whole, ref.KeyID) {
			rows = append(rows, row)
		}
	}
	batch.AddKeyAuthority(whole, rows)
	refs := batch.AuthorityNeeded(txs)
	rows = nil
	for _, ref := range refs {
		if row, ok := s.authority[ref]; ok {
			rows = append(rows, row)
		}
	}
	batch.AddAuthority(refs, rows)
	revisions := batch.EvidenceNeeded(txs)
	var evidence []ledger.EvidenceRow
	for _, row := range s.evidence {
		if slices.Contains(revisions, ledger.RevisionRef{KeyID: row.KeyID, TxnID: row.TxnID, Revision: row.Payload.Revision}) {
			evidence = append(evidence, row)
		}
	}
	batch.AddEvidence(revisions, evidence)
	s.keysRead += len(keyIDs)
	s.keyAuthorityRead += len(whole)
	s.authorityRead += len(refs)
	s.evidenceRead += len(revisions)
}

// unit decides steps in one unit of work, commits if told so, and returns how many steps were decided.
func (s *shell) unit(steps []step, commit bool) (decided int, err error) {
	s.cache.Open(s.epoch, s.next)
	batch := ledger.NewBatch(s.cfg, s.next)
	var txs []ledger.Transaction
	for _, step := range steps {
		if step.reason == ledger.ReasonNone {
			txs = append(txs, step.tx)
		}
	}
	s.load(batch, txs)
	for _, step := range steps {
		if err = batch.Decide(step.rec, step.tx, step.reason); err != nil {
			break
		}
		decided++
	}
	if !commit {
		s.cache.Drop()
		return 0, nil
	}
	if errors.Is(err, ledger.ErrIncomplete) && decided > 0 {
		err = nil
	}
	s.commit(batch.Changes())
	s.cache.Return(batch)
	s.units++
	return decided, err
}

// run decides all steps in units of at most size.
func (s *shell) run(steps []step, size int) error {
	for len(steps) > 0 {
		decided, err := s.unit(steps[:min(size, len(steps))], true)
		if err != nil {
			return err
		}
		steps = steps[decided:]
	}
	return nil
}

// commit writes changes and checks that New and Changed mean what they say.
func (s *shell) commit(c ledger.Changes) {
	s.t.Helper()
	for _, row := range c.Keys {
		s.keys[row.KeyID] = row
	}
	for i, rows := range [][]ledger.DayRow{c.NewDays, c.ChangedDays} {
		for _, row := range rows {
			at := [2]int32{row.KeyID, row.Day}
			if _, exists := s.days[at]; exists != (i == 1) {
				s.t.Fatalf("day %v: exists %v, listed as new %v", at, exists, i == 0)
			}
			s.days[at] = row
		}
	}
	for i, rows := range [][]ledger.AuthorityRow{c.NewAuthority, c.ChangedAuthority} {
		for _, row := range rows {
			ref := ledger.IdentityRef{KeyID: row.KeyID, TxnID: row.TxnID}
			if old, exists := s.authority[ref]; exists != (i == 1) || old == row {
				s.t.Fatalf("identity %v: exists %v, listed as new %v, equal %v", ref, exists, i == 0, old == row)
			}
			s.authority[ref] = row
		}
	}
	for _, row := range c.Evidence {
		if slices.ContainsFunc(s.evidence, func(old ledger.EvidenceRow) bool {
			return old.KeyID == row.KeyID && old.TxnID == row.TxnID && old.Payload == row.Payload
		}) {
			s.t.Fatalf("evidence %+v is there already", row)
		}
		s.evidence = append(s.evidence, row)
	}
	for _, row := range c.Conflicts {
		if slices.ContainsFunc(s.conflicts, func(old ledger.ConflictRow) bool {
			return old.KeyID == row.KeyID && old.TxnID == row.TxnID && old.Revision == row.Revision
		}) {
			s.t.Fatalf("conflict %+v is there already", row)
		}
		s.conflicts = append(s.conflicts, row)
	}
	s.quarantine = append(s.quarantine, c.Quarantine...)
	for _, envelope := range c.Envelopes {
		s.envelopes = append(s.envelopes, string(envelope.Value))
	}
	s.next = c.NextOffset
}

// sortedEvidence returns the evidence in one order.
func (s *shell) sortedEvidence() []ledger.EvidenceRow {
	return slices.SortedFunc(slices.Values(s.evidence), func(a, b ledger.EvidenceRow) int {
		return cmp.Or(cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.TxnID, b.TxnID), cmp.Compare(a.Payload.Revision, b.Payload.Revision),
			cmp.Compare(a.SourceOffset, b.SourceOffset))
	})
}
