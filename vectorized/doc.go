// Package vectorized recomputes a history from fixed-size rows: accepted records are scattered into buckets of stock keys,
// and each bucket is resolved by itself, in cache. A kernel is one loop over rows or columns without any per-row object;
// each has a naive twin in the tests.
//
//   - Columns: the typed columns of one row group, dictionary codes kept from the file.
//   - Scatter: validates columns against the namespace and appends one Row for each accepted record to its bucket.
//   - Authority: the exact duplicates, conflicts and highest revisions of one key's rows (S3, S4).
//   - Fold: day sums, closes, crossings of one key (S5), in 128 bits where int64 could overflow (R09).
//
// A hash is only an index: identities and payloads are compared exactly. Results do not depend on the order of rows, on
// the hash seed, or on how the work is divided. Invariant vectorized.1: each accepted record becomes exactly one Row.
package vectorized
