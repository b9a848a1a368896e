// Package replay re-reads a range of source records that was processed before, and proves that the durable state holds
// what each of them must have left there (S11, SC23, R25). It repairs nothing and publishes nothing: where state and
// records disagree it says at which offset, and the way back is a rebuild.
//
// A replay goes through these phases, one bounded Step at a time:
//
//	checking ──▶ recording ──▶ holding ──▶ reading ──▶ releasing ──▶ finishing ──▶ done
//	    │            │
//	 refused: nothing was touched
//
// Invariants kept here:
//
//  1. Everything that can be refused is refused before anything is changed: by Check, over facts that were read alone.
//  2. The partition is held by an epoch of the replay's own, installed by the same compare-and-swap as an owner's (R16),
//     under the highest generation there is. A normal owner is fenced by it and no rebalance can give it back.
//  3. The row that holds the partition says what to restore (Hold), so that a replay that was killed can be taken over
//     or given up by whoever finds it, without any other record.
//  4. Nothing but the owner of the row changes: neither frontier nor counters, evidence, versions, outbox or quarantine.
//     Every reading checks epoch and frontier under the row's lock.
//  5. The cursor is the replay's own, kept in the operation log. The frontier is never moved, not even to where it is.
package replay
