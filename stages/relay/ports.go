package relay

import (
	"context"
	"errors"
	"time"

	"amends.dev/amends/stages/broker"
)

// ErrLeaseLost is returned where another relay took the lease over: its term is higher, so the caller's marks no longer
// count (R17).
var ErrLeaseLost = errors.New("relay lease lost")

// ErrMoved is returned where the sent-through sequence is not the expected one, as after a mark whose outcome was
// unknown and that did happen. The caller reads the positions again.
var ErrMoved = errors.New("sent-through sequence moved")

// Outbox is the relay's durable state. Implementations: stages/postgres, and relaytest's in memory; relaytest.Suite is
// run over both.
type Outbox interface {
	// Acquire renews the holder's lease, or takes a free or expired one over under the next term. Expiry is by the
	// store's clock. Where another holder's lease still runs the Grant is not held.
	Acquire(ctx context.Context, holder string, ttl time.Duration) (Grant, error)
	// Release ends the holder's lease of that term at once. It does nothing where the lease is no longer that one.
	Release(ctx context.Context, holder string, term int64) error
	// Positions returns every source partition, by number.
	Positions(ctx context.Context) ([]Position, error)
	// Pending returns up to limit committed envelopes from sequence from on, in sequence order. from may stand inside a
	// packed row. A row that cannot be read is an error for which invariant.Is is true.
	Pending(ctx context.Context, partition int32, from int64, limit int) ([]Envelope, error)
	// RecordStop persists that the outbox is damaged at the sent-through sequence, conditional like a mark.
	RecordStop(ctx context.Context, stop Stop) error
	// Mark advances the sent-through sequence and keeps the receipts, in one transaction, or returns an error wrapping
	// ErrLeaseLost or ErrMoved and changes nothing. After any other error the outcome may be unknown.
	Mark(ctx context.Context, mark Mark) error
}

// Grant is the answer to Acquire.
type Grant struct {
	// Held says that the caller holds the lease of Term from now on, for at least the time asked for.
	Held bool
	// Term is that of the current holder, whoever it is.
	Term int64
	// Remaining is how long another holder's lease still runs; 0 where Held.
	Remaining time.Duration
}

// Position is how far one source partition was published.
type Position struct {
	// Partition is the source partition.
	Partition int32
	// Sent is exclusive: every sequence below it was acknowledged.
	Sent int64
	// End is exclusive: the sequence that the worker will assign next.
	End int64
	// Stopped is the persisted reason why the partition is no longer published, empty while it is (R36).
	Stopped string
}

// ReasonOutboxDamaged is a missing sequence or an unreadable packed row: a bug or a damaged database.
const ReasonOutboxDamaged = "outbox_damaged"

// Stop ends the publication of one source partition for good; others go on (R36).
type Stop struct {
	// Holder and Term are of the lease under which the damage was found.
	Holder string
	Term   int64
	// Partition is the source partition.
	Partition int32
	// From is the sent-through sequence, from which on nothing is published.
	From int64
	// Reason is ReasonOutboxDamaged; Detail is one line for the operator.
	Reason, Detail string
}

// Envelope is one outbox message with its sequence in its source partition.
type Envelope struct {
	Seq int64
	// Key, Value and Headers are published as they are.
	Key, Value []byte
	Headers    []broker.Header
}

// Mark says that a contiguous run of one source partition was acknowledged.
type Mark struct {
	// Holder and Term are of the lease under which the run was sent.
	Holder string
	Term   int64
	// Partition is the source partition.
	Partition int32
	// From is the expected sent-through sequence; the run is From, From+1, … with one receipt each.
	From     int64
	Receipts []Receipt
}

// Lister lists envelopes with what became of them (R19).
type Lister interface {
	// List returns up to limit envelopes of a source partition from sequence from on, in sequence order.
	List(ctx context.Context, partition int32, from int64, limit int) ([]Listed, error)
}

// Listed is one envelope and its publication.
type Listed struct {
	Envelope
	// Sent says that the broker acknowledged the envelope; Receipt is then where it is.
	Sent    bool
	Receipt Receipt
}
