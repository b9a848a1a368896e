package sim

import (
	"fmt"

	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/stages/ledger"
)

// evidenceChecker: below the frontier the payload of every accepted record is on record for ever, as its identity's
// authority or as evidence (S4, R20).
type evidenceChecker struct{ next []int }

func (*evidenceChecker) name() string { return "evidence" }

func (c *evidenceChecker) check(w *world) error {
	for p := range c.next {
		for end := w.below(p, c.next[p]); c.next[p] < end; c.next[p]++ {
			if err := w.proven(p, &w.truths[p][c.next[p]]); err != nil {
				return err
			}
		}
	}
	return nil
}

// proven wants the payload of one record below the frontier to be on record.
func (w *world) proven(partition int, t *truth) error {
	if t.reason != decode.Accepted {
		return nil
	}
	ref := ledger.IdentityRef{KeyID: t.tx.Key, TxnID: string(t.tx.TxnID)}
	payload := ledger.Payload{Revision: t.tx.Revision, Kind: ledger.Kind(t.tx.Kind), ValidTime: t.tx.ValidTime, Qty: t.tx.Qty}
	if w.state.Proves(ref, payload) {
		return nil
	}
	return fmt.Errorf("partition %d offset %d is below the frontier, and its payload of %q revision %d is on no record",
		partition, t.offset, ref.TxnID, payload.Revision)
}
