package rebuild

import (
	"context"
	"errors"
	"iter"

	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/ledger"
)

// ErrNotEmpty is wrapped where a partition was used before: it has an epoch, a frontier or a stop of its own.
var ErrNotEmpty = fault.Mark(fault.Stop, errors.New("the partition is not untouched"))

// ErrDataset is wrapped where a dataset is damaged, contradicts itself, or is not for this namespace.
var ErrDataset = fault.Mark(fault.Stop, errors.New("the dataset cannot be loaded"))

// Meta says what a dataset holds.
type Meta struct {
	// BusinessDigest and TopicID are the configuration and the source topic that it was derived for (R02).
	BusinessDigest, TopicID string
	// Ends are the exclusive end offsets H, by partition.
	Ends []int64
	// Engine, Decoder and Code are what derived it (R26).
	Engine, Decoder, Code string
	// Accepted and Rejected count the records of each partition.
	Accepted, Rejected []int64
}

// Dataset is a derived-state dataset. Sequences may be read more than once, also at the same time; a wrong row ends one
// with an error that wraps ErrDataset. Rows are in strictly ascending order of their keys.
type Dataset interface {
	// Meta says what it holds.
	Meta() Meta
	// Authority holds the identities of the keys of one source partition, sorted by key, then transaction ID.
	Authority(ctx context.Context, partition int32) iter.Seq2[ledger.AuthorityRow, error]
	// Evidence is sorted by key, transaction ID, revision and offset.
	Evidence(ctx context.Context, partition int32) iter.Seq2[ledger.EvidenceRow, error]
	// Conflicts are sorted by key, transaction ID and revision.
	Conflicts(ctx context.Context, partition int32) iter.Seq2[Conflict, error]
	// Days are the activity days, sorted by key, then day, at their first versions.
	Days(ctx context.Context, partition int32) iter.Seq2[Day, error]
	// Statuses are the keys that have a status, sorted.
	Statuses(ctx context.Context, partition int32) iter.Seq2[Status, error]
	// Quarantine is sorted by offset.
	Quarantine(ctx context.Context, partition int32) iter.Seq2[ledger.QuarantineRow, error]
}

// Conflict is a conflict row; Highest says that it blocks its key.
type Conflict struct {
	ledger.ConflictRow
	Highest bool
}

// Day is a day row at its first versions, with the record that it is attributed to.
type Day struct {
	ledger.DayRow
	Cause ledger.Cause
}

// Status is a key that has a status, with the record that it is attributed to. Its reasons are its conflicts.
type Status struct {
	KeyID int32
	Cause ledger.Cause
}

// State is what a partition's row says before a load.
type State struct {
	// Epoch is 0 while the partition is untouched, NextOffset its frontier.
	Epoch, NextOffset int64
	// Member is what installed the epoch.
	Member string
	// Stopped says that the partition was stopped for good.
	Stopped bool
	// Accepted and Rejected count the records that it was loaded with, where the store keeps them.
	Accepted, Rejected int64
}

// Load is everything that one partition is loaded with. Each sequence is read once, in any order, several at the same time.
type Load struct {
	Partition int32
	// Member is recorded as what installed the fresh epoch.
	Member string
	// NextOffset is H.
	NextOffset         int64
	Accepted, Rejected int64
	Authority          iter.Seq2[ledger.AuthorityRow, error]
	Evidence           iter.Seq2[ledger.EvidenceRow, error]
	Conflicts          iter.Seq2[ledger.ConflictRow, error]
	Days               iter.Seq2[ledger.DayRow, error]
	Keys               iter.Seq2[ledger.KeyRow, error]
	Quarantine         iter.Seq2[ledger.QuarantineRow, error]
	// Envelopes are in publication order.
	Envelopes iter.Seq2[ledger.Envelope, error]
}

// Store is the state of the namespace that is loaded. Implementations: stages/postgres.
type Store interface {
	// State reads a partition's row under its lock.
	State(ctx context.Context, partition int32) (State, error)
	// Load locks the partition's row first, checks that it is untouched, writes everything and commits in one transaction.
	// An error wraps ErrNotEmpty where it is not. After an error of unknown outcome State tells what became of it.
	Load(ctx context.Context, load Load) error
}
