// Package explain derives why one stock key is as it is: every identity with its revisions, what each contributes to
// which day, the closes and the crossing test with its numbers (S3-S5), and which output versions came of it (S7). It
// decodes with oracle/decode and adds up with big integers, naively; it shares nothing with the worker. It is pure.
package explain

import "math/big"

// SchemaVersion is the version of the JSON shape, schemas/explain.json.
const SchemaVersion = 1

// Key is all that a history says about one stock key (S4) and what follows from it (S5). Slices are never nil.
type Key struct {
	Item     string `json:"item"`
	Location string `json:"location"`
	// OpeningBalance and ReorderThreshold are the configuration's.
	OpeningBalance   int64 `json:"openingBalance"`
	ReorderThreshold int64 `json:"reorderThreshold"`
	// Status is READY or BLOCKED; empty where no record of the key was accepted (R10).
	Status string `json:"status"`
	// Identities are sorted by the bytes of their transaction ID.
	Identities []Identity `json:"identities"`
	// Rejected are the rejected records that carry this key's broker key, by partition and offset.
	Rejected []Rejected `json:"rejected"`
	// Days are the days with activity, ascending; none while the key is BLOCKED, because nothing is folded then (S4).
	Days []Day `json:"days"`
	// Omitted counts what Limited left out.
	Omitted Omitted `json:"omitted"`

	// Origin is the day of the ledger origin, from which on the opening balance counts. It is no part of a document.
	Origin string `json:"-"`
}

// The trust statuses of a key (S4).
const (
	// Ready: every highest revision is unambiguous.
	Ready = "READY"
	// Blocked: a highest revision is ambiguous.
	Blocked = "BLOCKED"
)

// Identity is one transaction ID of the key with everything that was asserted about it.
type Identity struct {
	TxnID string `json:"txn_id"`
	// Revisions are ascending; the last one is the authority.
	Revisions []Revision `json:"revisions"`
	// OmittedRevisions counts what Limited left out, the lowest ones.
	OmittedRevisions int64 `json:"omittedRevisions"`
}

// State is what a revision counts for.
type State string

// The states of a revision.
const (
	// Authoritative: the unique highest revision, active.
	Authoritative State = "authoritative"
	// Cancelled: the unique highest revision, a CANCEL; it contributes nothing.
	Cancelled State = "cancelled"
	// Superseded: a higher revision was seen.
	Superseded State = "superseded"
	// Conflicting: the highest revision, with distinct payloads; it blocks the key.
	Conflicting State = "conflicting"
	// SupersededConflict: distinct payloads below the highest revision, an audit diagnostic (S4).
	SupersededConflict State = "superseded_conflict"
)

// Revision is one revision of an identity with its distinct payloads, in the order in which they came.
type Revision struct {
	Revision int64     `json:"revision"`
	State    State     `json:"state"`
	Payloads []Payload `json:"payloads"`
}

// Payload is one canonical business payload (S3).
type Payload struct {
	// Kind is NEW, AMEND or CANCEL.
	Kind string `json:"kind"`
	// ValidTime is RFC 3339, UTC, with as many decimals as it has.
	ValidTime string `json:"validTime"`
	Qty       int64  `json:"qty"`
	// Day is the UTC day, YYYY-MM-DD, on which the payload moves stock where it is the authority; empty for a CANCEL.
	Day string `json:"day,omitempty"`
	// Records are the source records that carry it: the first is what established it, the others are exact duplicates.
	Records []Record `json:"records"`
	// OmittedRecords counts the duplicates that Limited left out.
	OmittedRecords int64 `json:"omittedRecords"`
}

// Record is where a source record is.
type Record struct {
	Partition int32 `json:"partition"`
	Offset    int64 `json:"offset"`
	// SourceTime is informational (S3): RFC 3339, UTC.
	SourceTime string `json:"sourceTime"`
}

// Rejected is a rejected record, by a reason of schemas/reasons.json.
type Rejected struct {
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Reason    string `json:"reason"`
}

// Day is one day with activity and its crossing test (S5). Its integers have any size.
type Day struct {
	Day string `json:"day"`
	// Before is the close of the day with activity before it, or the opening balance; Close is Before plus Movement.
	Before   *big.Int `json:"before"`
	Movement *big.Int `json:"movement"`
	Close    *big.Int `json:"close"`
	// Crossing: Before is at or above the reorder threshold and Close is below it.
	Crossing bool `json:"crossing"`
	// InDomain: Close fits 64 bits (R09).
	InDomain bool `json:"inDomain"`
	// Contributions are sorted by valid time, then the bytes of the transaction ID.
	Contributions []Contribution `json:"contributions"`
	// OmittedContributions counts what Limited left out.
	OmittedContributions int64 `json:"omittedContributions"`
}

// Contribution is what an authoritative transaction moves on a day, with the record that established it.
type Contribution struct {
	TxnID     string `json:"txn_id"`
	Revision  int64  `json:"revision"`
	Qty       int64  `json:"qty"`
	ValidTime string `json:"validTime"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

// Omitted counts what was left out of a Key.
type Omitted struct {
	Identities int64 `json:"identities"`
	Rejected   int64 `json:"rejected"`
	Days       int64 `json:"days"`
}
