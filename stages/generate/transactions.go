package generate

import (
	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/ledger"
)

// transactionsMax bounds how many transactions are remembered for corrections.
const transactionsMax = 1 << 16

// transaction is one identity that later records may correct.
type transaction struct {
	account *account
	txnID   string
	// latest is the payload last sent at the highest revision; valid time and quantity of a cancelled one are those it
	// had while active.
	latest ledger.Payload
	// earlier is the payload of a lower revision, Revision 0 where there is none.
	earlier ledger.Payload
	// skipped is a revision below the highest that was never sent, 0 where there is none.
	skipped int64
}

// payload is what the latest revision asserts: a cancellation has quantity 0.
func (t *transaction) payload() ledger.Payload {
	p := t.latest
	if p.Kind == ledger.KindCancel {
		p.Qty = 0
	}
	return p
}

// transactions is a bounded random sample of all transactions of the stream.
type transactions struct {
	kept []*transaction
	// stale counts the kept ones that have a lower revision to send.
	stale int
}

// hasLower reports whether there is a revision below the highest to send.
func (t *transaction) hasLower() bool { return t.earlier.Revision > 0 || t.skipped > 0 }

// add keeps a transaction, in the place of a random one where there is no room.
func (ts *transactions) add(r *random, t *transaction) {
	if t.hasLower() {
		ts.stale++
	}
	if len(ts.kept) < transactionsMax {
		ts.kept = append(ts.kept, t)
		return
	}
	mark.Hit("generate.5 sample is full")
	i := r.below(transactionsMax)
	if ts.kept[i].hasLower() {
		ts.stale--
	}
	ts.kept[i] = t
}

// any returns a random transaction; there must be one.
func (ts *transactions) any(r *random) *transaction { return ts.kept[r.below(int64(len(ts.kept)))] }

// anyStale returns a random transaction that has a lower revision; there must be one.
func (ts *transactions) anyStale(r *random) *transaction {
	for i := int(r.below(int64(len(ts.kept)))); ; i++ {
		if t := ts.kept[i%len(ts.kept)]; t.hasLower() {
			return t
		}
	}
}

// advance moves a transaction to its next revision, skipping one now and then, and remembers what is now lower.
func (ts *transactions) advance(r *random, t *transaction) {
	if !t.hasLower() {
		ts.stale++
	}
	t.earlier = t.payload()
	t.latest.Revision++
	if r.oneIn(4) {
		t.skipped = t.latest.Revision
		t.latest.Revision++
	}
}

// takeSkipped returns the transaction's skipped revision, which is sent once, or 0.
func (ts *transactions) takeSkipped(t *transaction) int64 {
	revision := t.skipped
	t.skipped = 0
	if revision > 0 && !t.hasLower() {
		ts.stale--
	}
	return revision
}
