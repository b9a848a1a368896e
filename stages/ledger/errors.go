package ledger

import (
	"errors"
	"fmt"
)

// ErrIncomplete is returned by Batch.Decide when a record resolves the last ambiguity of a key and the key's
// authority is not completely loaded. The batch is unchanged. The shell commits what is decided so far and starts the
// next unit of work at that record: KeyAuthorityNeeded then names the key, so progress is guaranteed.
var ErrIncomplete = errors.New("the key's authority is not completely loaded")

// ErrNotLoaded is returned by Batch.Decide when the shell has not loaded what the Needed methods asked for, or the
// record's offset lies below the frontier. It is a bug of the shell; the batch is unchanged.
var ErrNotLoaded = errors.New("record was not prepared for")

// The reasons of an OverflowError, as partition_state keeps them and simulate prints them.
const (
	// StopOverflow: the close of a day would leave int64 (R09).
	StopOverflow = "arithmetic_overflow"
	// StopVersion: an output version would pass MaxInt64 (B088).
	StopVersion = "version_exhausted"
)

// OverflowError says that a valid record cannot be decided within the declared bounds (S3, R09, SC27). The partition
// stops with its frontier at Offset; the record is not quarantined and the batch is unchanged.
type OverflowError struct {
	// Partition and Offset are the coordinates of the record that could not be decided.
	Partition int32
	Offset    int64
	// Reason is StopOverflow or StopVersion.
	Reason string
	// Detail names the output and the value, in one line.
	Detail string
}

// Error implements error.
func (e *OverflowError) Error() string {
	return fmt.Sprintf("partition %d, offset %d: %s: %s", e.Partition, e.Offset, e.Reason, e.Detail)
}
