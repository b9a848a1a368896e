// Package owner is the durable-owner contract: a host whose accepted transitions survive the loss of its process. One
// commit makes an input's completion, its events or snapshot, its effects and its receipts durable together; whatever is
// published afterwards is published from what was committed.
//
// Types and rules are pure and know no database. Store is the port; its implementations are owner/memory and
// owner/postgres, and ownertest.Suite is run over both. Rulings R27–R29.
package owner

import "context"

// Mode says what an owner's durable state proves. It is chosen at creation and never changes.
type Mode string

// The modes.
const (
	// EventHistory keeps every accepted event in position order: complete history.
	EventHistory Mode = "event_history"
	// Snapshot replaces older state: recoverable current state, not history.
	Snapshot Mode = "snapshot"
)

// Payload is one durable value. The versions are independent of each other, positive, kept as given, and checked before
// anything decodes Bytes.
type Payload struct {
	SchemaVersion uint64
	CodecVersion  uint64
	Bytes         []byte
}

// Config creates an owner where it does not exist.
type Config struct {
	Mode Mode
	// Fence is the authority token in force at creation.
	Fence uint64
	// Supported are the versions that this owner accepts; nil accepts all positive ones. Like Mode they never change: what
	// an owner was created with stands, whatever a later Create or Commit brings.
	Supported *Supported
}

// Supported lists schema and codec versions.
type Supported struct {
	SchemaVersions, CodecVersions []uint64
}

// Inbox names the input that a commit completes.
type Inbox struct {
	// ID is the input's stable identity, not empty.
	ID string
	// Fingerprint is the immutable fingerprint of the input.
	Fingerprint []byte
}

// Effect is an intent to do something outside, done after the commit by whoever drains pending effects.
type Effect struct {
	// ID is stable: a publication after a crash reuses it.
	ID      string
	Payload Payload
}

// Receipt is the terminal outcome of an effect of the same owner.
type Receipt struct {
	ID, EffectID string
	// Outcome is the terminal outcome, for example applied or rejected; not empty.
	Outcome string
	Payload Payload
}

// Commit is one unit of work of one owner.
type Commit struct {
	OwnerID string
	// Create, where not nil, creates the owner in the same unit of work where it does not exist; where it exists with
	// another mode the commit is a ModeConflict. nil demands that the owner exists.
	Create *Config
	// ExpectedPosition and Fence must be the owner's present ones, exactly.
	ExpectedPosition, Fence uint64
	Inbox                   Inbox
	// Append are events for an EventHistory owner, each taking the next position; Replace is the new state of a Snapshot
	// owner, taking one. Exactly the one that fits the mode is set; an EventHistory commit may append none.
	Append  []Payload
	Replace *Payload
	// Effects become pending; Receipts settle effects of this commit or of earlier ones. An effect or receipt that stands
	// already with equal content is left as it is, with the position of its first acceptance.
	Effects  []Effect
	Receipts []Receipt
	// Latest, where not nil, replaces the owner's value in the egress of latest states (R28). It is no part of Image.
	Latest *Payload
}

// Result is what became of a request to a Store.
type Result struct {
	Outcome Outcome
	// Through is the position that the input committed through, for Committed and Duplicate.
	Through uint64
	// Detail is one line for people where the outcome is a refusal.
	Detail string
}

// Positioned is one kept event, or of the snapshot.
type Positioned struct {
	Position uint64
	Payload  Payload
}

// Completed is one completed input.
type Completed struct {
	ID               string
	Fingerprint      []byte
	CommittedThrough uint64
}

// Accepted is one effect of the outbox, pending or not.
type Accepted struct {
	Effect
	// AcceptedAt is the owner's position after the commit that brought it.
	AcceptedAt uint64
}

// Recorded is one receipt.
type Recorded struct {
	Receipt
	// RecordedAt and Fence are the owner's when it was recorded.
	RecordedAt, Fence uint64
}

// Image is everything durable of one owner, as of one moment. Slices are sorted: History by position, Inbox, Outbox and
// Receipts in the order of their commits, PendingEffectIDs like Outbox.
type Image struct {
	OwnerID          string
	Mode             Mode
	Position, Fence  uint64
	History          []Positioned
	Snapshot         *Positioned
	Inbox            []Completed
	Outbox           []Accepted
	Receipts         []Recorded
	PendingEffectIDs []string
}

// Pending is one effect without a receipt.
type Pending struct {
	OwnerID string
	// Position and Fence are the owner's at the moment of the read; what is committed with them may be refused by then.
	Position, Fence uint64
	Effect
}

// Store keeps owners durably. Every method is one transaction: after an error nothing or all of it happened, and asking
// again with the same identities finds out. A refusal is a Result, not an error; an error is infrastructure. Stores are
// safe for concurrent use.
type Store interface {
	// Create creates an owner, or finds it: Committed with Through 0, Duplicate where it exists with the same mode, else
	// ModeConflict.
	Create(ctx context.Context, ownerID string, config Config) (Result, error)
	// Commit decides each unit of work by itself, in order, and makes all that were accepted durable in one transaction
	// (R29). Results are in the order of commits. Units of the same owner see those before them.
	Commit(ctx context.Context, commits ...Commit) ([]Result, error)
	// AdvanceFence installs a strictly greater fence (R27).
	AdvanceFence(ctx context.Context, ownerID string, fence uint64) (Result, error)
	// RecordReceipt records the outcome of an effect under the owner's fence (R27).
	RecordReceipt(ctx context.Context, ownerID string, fence uint64, receipt Receipt) (Result, error)
	// Image reads everything of one owner in one snapshot; nil where it does not exist.
	Image(ctx context.Context, ownerID string) (*Image, error)
	// Pending returns up to limit effects without a receipt whose ID begins with prefix, oldest acceptance first, found by
	// index and without loading owners.
	Pending(ctx context.Context, prefix string, limit int) ([]Pending, error)
	// CountPending counts what Pending would return, without reading payloads.
	CountPending(ctx context.Context, prefix string, limit int) (int, error)
	// PendingLatest returns up to limit values of owners whose ID begins with prefix that were not published since they were
	// replaced last, in the order in which they became pending. There is at most one for each owner.
	PendingLatest(ctx context.Context, prefix string, limit int) ([]LatestDurableProjection, error)
	// LatestPublished notes that a value was published. It reports false, and changes nothing, where the owner's value is
	// another one by now: that one is still pending.
	LatestPublished(ctx context.Context, published LatestDurableProjection) (bool, error)
}
