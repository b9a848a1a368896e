// Package ledger is the worker's business core (S3-S7): strict decoding, authority by highest revision, conflicts, daily
// closes and crossings with incremental repair, and the differences as versioned envelopes. It is pure: records and rows
// in, rows and envelopes out, the same for the same input.
//
// Config prepares a namespace and decodes records; Batch is one unit of work; Cache carries key states from one committed
// unit of work to the next. The shell in stages/worker reads and writes the rows.
package ledger
