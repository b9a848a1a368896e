// Package vectorized holds the column kernels of the arrow engine: ordering by key, transaction and revision, run
// bounds, highest revisions, conflicts, day sums, prefix closes and crossings (S3-S5). Each kernel is one loop or sort
// over Arrow columns without any per-row object, takes the allocator of what it returns, and leaves releasing to the
// caller. Kernels do not check their input against the contract: columns come from a decoder that did.
package vectorized
