// Package kafka is the adapter from the ports of stages/broker to a Kafka broker, with franz-go. The same code runs
// against the embedded broker of the demo and against Apache Kafka 3.1 and later (older ones have no topic IDs in
// fetches and are refused).
//
// What it upholds:
//
//  1. A reader's position comes from what was fetched, never from the end of the log (R08, B001, B004), and never moves
//     by itself: out of range is an error (B008, B009).
//  2. A topic that was deleted or recreated is noticed by its topic ID at opening, with every fetch and after the first
//     publication, and is an error that never clears by itself (S2, SC28).
//  3. Publish returns within its bound, and what it reported as failed is not sent later (R17).
//  4. An assignment that was lost, revoked or superseded is never presented as current again (R16, S8).
//  5. Group offsets are written, as a lag signal, and never read.
//
// It does not promise delivery exactly once, and it decides nothing about records.
package kafka
