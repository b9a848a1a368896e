// Package relay publishes the outbox to the output topic (S9, R17, R19).
//
// The worker's transaction leaves envelopes in the outbox, packed many to a row, each with a sequence number of its
// source partition. Relay is the shell that sends them through a broker.Publisher, one bounded unit of work at a time:
// hold the namespace's lease, read what follows the sent-through sequence of one source partition, publish, mark what
// was acknowledged. The decisions (Lease.Allows, Pick, Check, Prefix) and the receipt codec are pure.
//
// Invariants:
//
//  1. Bytes are never rendered here. A message is sent, and sent again, with exactly the key, value and headers that
//     were committed; a repeat is a duplicate to the view.
//  2. Within a source partition messages are sent in sequence order, and the sent-through sequence advances only over a
//     contiguous acknowledged prefix. A later acknowledgement never hides an earlier message that failed (B055).
//  3. A sequence is sent only once every lower one is visible. Sequences are assigned under the worker's partition
//     lock, so a gap is a bug: the source partition stops, with the reason persisted, and nothing is skipped (B052).
//  4. Nothing is sent unless what remains of the lease exceeds the delivery timeout; the remainder is counted by the
//     local monotonic clock from before the request that granted it. Marks and receipts are conditional on the term.
//     A successor waits until the old term has expired by the database's clock.
//
// Not promised: exactly one copy of a message. A crash or a lost answer between acknowledgement and mark, and the
// buffered bytes of a frozen process, repeat identical copies; safety rests on the versions (S7).
package relay
