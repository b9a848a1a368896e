// Package generate is the synthetic producer: a pure, seeded stream of source records with corrections, and the shell
// that publishes it under the writer lease (R22).
//
// Invariants:
//
//  1. The stream is a function of namespace and options alone: the same seed gives the same bytes, on every platform
//     and with every release of Go (B026).
//  2. Its histories stay inside the arithmetic bound of S3: for each stock key, |opening balance| plus the sum of the
//     absolute quantities of all records, repetitions included, is below MaxInt64.
//  3. Without a malformed share every record is accepted by a decoder of the namespace. A malformed one never is.
//  4. Without a conflict share no revision has two payloads.
//  5. Memory does not grow with the count: corrections go to a bounded sample of the transactions.
//
// Not promised: that balances look like those of a real warehouse.
package generate
