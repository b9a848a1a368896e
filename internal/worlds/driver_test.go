package worlds

import (
	"errors"
	"fmt"
	"slices"

	"amends.dev/amends/stages/ledger"
)

// driver is the worker's core around a store of rows, for one stock key: what the worker's shell does, without its
// ports. It keeps no cache, so every unit of work begins with what the one before committed.
type driver struct {
	cfg       *ledger.Config
	next      int64
	keys      []ledger.KeyRow
	days      []ledger.DayRow
	authority []ledger.AuthorityRow
	evidence  []ledger.EvidenceRow
	conflicts []ledger.ConflictRow
	envelopes []ledger.Envelope
}

// run decides transactions in units of work of at most size records.
func (d *driver) run(transactions []ledger.Transaction, size int) error {
	for len(transactions) > 0 {
		decided, err := d.unit(transactions[:min(size, len(transactions))])
		if err != nil {
			return err
		}
		transactions = transactions[decided:]
	}
	return nil
}

// unit decides transactions in one unit of work, as far as it may go, and commits it.
func (d *driver) unit(transactions []ledger.Transaction) (decided int, err error) {
	batch := ledger.NewBatch(d.cfg, d.next)
	d.load(batch, transactions)
	for i, tx := range transactions {
		err := batch.Decide(ledger.Record{Offset: d.next + int64(i)}, tx, ledger.ReasonNone)
		if errors.Is(err, ledger.ErrIncomplete) && i > 0 {
			break
		}
		if err != nil {
			return i, err
		}
		decided++
	}
	return decided, d.commit(batch.Changes())
}

// load prepares a batch in the documented order.
func (d *driver) load(batch *ledger.Batch, transactions []ledger.Transaction) {
	if ids := batch.KeysNeeded(transactions); len(ids) > 0 {
		batch.AddKeys(ids, d.keys, d.days)
	}
	if ids := batch.KeyAuthorityNeeded(transactions); len(ids) > 0 {
		batch.AddKeyAuthority(ids, d.authority)
	}
	if refs := batch.AuthorityNeeded(transactions); len(refs) > 0 {
		var rows []ledger.AuthorityRow
		for _, row := range d.authority {
			if slices.Contains(refs, ledger.IdentityRef{KeyID: row.KeyID, TxnID: row.TxnID}) {
				rows = append(rows, row)
			}
		}
		batch.AddAuthority(refs, rows)
	}
	if refs := batch.EvidenceNeeded(transactions); len(refs) > 0 {
		var rows []ledger.EvidenceRow
		for _, row := range d.evidence {
			if slices.Contains(refs, ledger.RevisionRef{KeyID: row.KeyID, TxnID: row.TxnID, Revision: row.Payload.Revision}) {
				rows = append(rows, row)
			}
		}
		batch.AddEvidence(refs, rows)
	}
}

// commit writes changes, and fails where New and Changed do not mean what they say.
func (d *driver) commit(c ledger.Changes) error {
	var err error
	write := func(ok bool, what string, row any) {
		if !ok {
			err = errors.Join(err, fmt.Errorf("%s: %+v", what, row))
		}
	}
	for _, row := range c.Keys {
		d.keys = []ledger.KeyRow{row}
	}
	for _, row := range c.NewDays {
		write(!slices.ContainsFunc(d.days, func(old ledger.DayRow) bool { return old.Day == row.Day }), "new day exists", row)
		d.days = append(d.days, row)
	}
	for _, row := range c.ChangedDays {
		i := slices.IndexFunc(d.days, func(old ledger.DayRow) bool { return old.Day == row.Day })
		if write(i >= 0, "changed day does not exist", row); i >= 0 {
			d.days[i] = row
		}
	}
	for _, row := range c.NewAuthority {
		write(!slices.ContainsFunc(d.authority, func(old ledger.AuthorityRow) bool { return old.TxnID == row.TxnID }), "new identity exists", row)
		d.authority = append(d.authority, row)
	}
	for _, row := range c.ChangedAuthority {
		i := slices.IndexFunc(d.authority, func(old ledger.AuthorityRow) bool { return old.TxnID == row.TxnID })
		if write(i >= 0, "changed identity does not exist", row); i >= 0 {
			d.authority[i] = row
		}
	}
	d.evidence = append(d.evidence, c.Evidence...)
	d.conflicts = append(d.conflicts, c.Conflicts...)
	d.envelopes = append(d.envelopes, c.Envelopes...)
	d.next = c.NextOffset
	return err
}
