// Package view materializes the output topic into the rows that users read (S7, R13, R18).
//
// Three things live here: Parse reads the bytes of one envelope strictly, Judge and Fold decide what a run of
// envelopes does to the guards of their output IDs, and View is the shell that joins a broker reader with a Store, one
// bounded unit of work at a time. Parse, Judge and Fold are pure.
//
// Invariants, kept by the shell and every Store together:
//
//  1. Row, guard (version and content) and position change in one transaction, under the lock of the partition's
//     progress row, and only from the position that was expected. Two views of one partition are therefore safe: the
//     slower one finds that the position moved and reads it again.
//  2. The highest version wins. An equal version with equal content is a duplicate, a lower version is stale; both
//     advance the position and nothing else.
//  3. An equal version with other content, and anything that is foreign or unreadable, is a protocol violation: the
//     good prefix before it commits, the violation is recorded in the same transaction, and the partition stays there
//     for good. Other partitions go on. A bug is recorded in the same way.
//  4. Envelopes are judged one by one in offset order and folded afterwards, so how records fall into fetches changes
//     nothing: SC17 holds with both messages in one fetch.
//  5. A withdrawal hides the row and keeps version and content for ever (SC16).
//
// Not promised: that every version is applied, that a correction of several rows appears at once, or that a certified
// row is final (S7, S13).
package view
