// Package drain publishes the pending effects of durable owners with the relay that publishes the outbox: Outbox
// implements relay.Outbox over an owner.Store (R29, R34).
//
// An effect has no sequence; it is pending until it has a receipt (B052). Outbox gives what it reads sequences of its
// own, contiguous in each source partition of the relay, which mean nothing to any other process and are never used
// twice under one term. A mark becomes one unit of work for each effect, all in one group commit: an event of the owner and
// the effect's receipt.
//
// Invariants:
//
//  1. A record carries the identity of its effect in a header and has the same bytes each time it is sent.
//  2. An acknowledgement is not lost while the process lives: where recording it fails, or nobody knows whether it did,
//     it is recorded before anything else is sent. Only a process that ends in between leaves the next one to send an
//     identical copy.
//  3. The term of the writer lease is the fence: before an owner's effects are sent, its fence is at the term, so that
//     whoever held the lease before can record nothing more. What was read under another term is read anew: whoever held
//     the lease since may have sent it.
package drain
