// Package manifests turns a YAML namespace manifest into an immutable, digested configuration
// (S2, design section 4, R01-R04). It is pure: bytes in, values out.
package manifests

// SemanticsVersion is the only value of spec.semanticsVersion this build implements (R03). It fixes
// decode rules, rejection reasons, envelope and canonical encodings.
const SemanticsVersion = 1

// DefaultMaxRecordBytes is spec.source.maxRecordBytes where the manifest does not set it: the largest
// record value, in bytes, that is decoded instead of being rejected as oversized_record.
const DefaultMaxRecordBytes = 65536

// PartitionerMurmur2 is the only partitioner of semantics version 1: Kafka's murmur2 of the record key,
// (hash & 0x7fffffff) % partitions.
const PartitionerMurmur2 = "murmur2"

// Namespace is one parsed, defaulted and validated manifest (S2). It is immutable after parsing and safe
// for concurrent use.
type Namespace struct {
	// Name is metadata.name: a DNS label of at most 40 characters (R04).
	Name string
	// Spec is everything that may never change once applied.
	Spec Spec

	// index finds a stock key's ID; nil in a value that was built by hand, where KeyID searches instead.
	index *keyIndex
}

// Spec is the immutable part of a namespace. Every field takes part in the namespace digest (R02).
type Spec struct {
	// SemanticsVersion is 1 (R03).
	SemanticsVersion int64
	// LedgerOrigin is the instant before which no accepted transaction may lie, in nanoseconds since the
	// Unix epoch. An opening balance is the balance immediately before it.
	LedgerOrigin int64
	// Source is the topic of transactions.
	Source Source
	// Output is the topic of envelopes.
	Output Output
	// StockKeys are all configured keys, unique and sorted by the bytes of item, then location, however
	// they were supplied. The index of a key in this slice is its key ID in processing state and view.
	StockKeys []StockKey
}

// Source is the topic that transactions are read from.
type Source struct {
	// Topic is the Kafka topic name.
	Topic string
	// Partitions is the fixed partition count, at least 1.
	Partitions int32
	// Partitioner is PartitionerMurmur2.
	Partitioner string
	// MaxRecordBytes bounds the value of one record, in bytes.
	MaxRecordBytes int64
}

// Output is the topic that envelopes are published to.
type Output struct {
	// Topic is the Kafka topic name; it differs from the source topic.
	Topic string
	// Partitions is the fixed partition count, at least 1.
	Partitions int32
}

// StockKey is one configured (item, location) with its opening balance and threshold (S2).
type StockKey struct {
	// Item and Location are 1-128 bytes of UTF-8 without U+0000, compared by bytes.
	Item, Location string
	// OpeningBalance is the balance immediately before the ledger origin.
	OpeningBalance int64
	// ReorderThreshold is the level a close must fall below, from at or above it, to raise an alert (S5).
	ReorderThreshold int64
}
