// Package compare is the streaming comparison of an oracle's projection with what a view and its evidence tables
// hold (S1, S10, R11, R21). It is pure: sorted sequences in, differences and counts out.
package compare

import "amends.dev/amends/oracle/projection"

// Kind is the way in which one fact differs.
type Kind string

// The kinds of differences. Quarantine rows, conflict rows and guards differ as Evidence, whichever side lacks them.
const (
	// Changed: both sides have the fact, with different values.
	Changed Kind = "changed"
	// Missing: the oracle has the fact and the view lacks it.
	Missing Kind = "missing"
	// Extra: the view has a fact that the oracle does not derive.
	Extra Kind = "extra"
	// Evidence: a quarantine or conflict row is absent, superfluous or different, or a guard is damaged.
	Evidence Kind = "evidence"
)

// Family is the kind of fact compared.
type Family string

// The families, in the order in which they are compared.
const (
	FamilyBalance    Family = "balance"
	FamilyAlert      Family = "alert"
	FamilyStatus     Family = "status"
	FamilyQuarantine Family = "quarantine"
	FamilyConflict   Family = "conflict"
	// FamilyKey is a stock key as the view names it: every configured one, and no other.
	FamilyKey Family = "key"
	// FamilyGuard is the guard behind a row of the view: its version and its deletion mark (S7).
	FamilyGuard Family = "guard"
)

// Difference is one disagreement. Fields that do not identify facts of its family are empty. Oracle or View is nil
// where that side does not have the fact.
type Difference struct {
	Kind     Kind   `json:"kind"`
	Family   Family `json:"family"`
	Item     string `json:"item,omitempty"`
	Location string `json:"location,omitempty"`
	// Day is YYYY-MM-DD, of balances and alerts.
	Day string `json:"day,omitempty"`
	// TxnID and Revision identify conflicts.
	TxnID    string `json:"txn_id,omitempty"`
	Revision int64  `json:"revision,omitempty"`
	// Partition and Offset are the source coordinates of rejections.
	Partition *int32 `json:"partition,omitempty"`
	Offset    *int64 `json:"offset,omitempty"`
	Oracle    *Value `json:"oracle"`
	View      *Value `json:"view"`
}

// Value is one side of a difference; only the fields of its family are set.
type Value struct {
	Close     *int64 `json:"close,omitempty"`
	Threshold *int64 `json:"threshold,omitempty"`
	// Status is READY or BLOCKED; Conflicts is its reason set.
	Status    string                   `json:"status,omitempty"`
	Conflicts []projection.ConflictRef `json:"conflicts,omitempty"`
	// Reason is a rejection reason of schemas/reasons.json.
	Reason string `json:"reason,omitempty"`
	// TopicID is the topic incarnation that a quarantine row names.
	TopicID string `json:"topicId,omitempty"`
	Key     *Blob  `json:"key,omitempty"`
	Value   *Blob  `json:"value,omitempty"`
	// Recorded is set on the side that has a conflict row or a stock key: such a row has no content beyond its identity.
	Recorded bool `json:"recorded,omitempty"`
	// Payload is a contradicting payload of a conflict, by diagnostics.Canonical, and where it was first seen.
	Payload string `json:"payload,omitempty"`
	// Fault says what is wrong with a guard.
	Fault string `json:"fault,omitempty"`
}

// Blob stands for the raw bytes of a record's key or value.
type Blob struct {
	// Length is in bytes; -1 for null, which is distinct from empty.
	Length int64 `json:"length"`
	// SHA256 is the digest of the bytes in hex; empty for null, and where the bytes ought to be kept but are not.
	SHA256 string `json:"sha256"`
}

// Rejected is one rejected source record, as the oracle found it or as the quarantine keeps it (R06).
type Rejected struct {
	Partition int32
	Offset    int64
	TopicID   string
	Reason    string
	Key       Blob
	Value     Blob
}

// Tally counts the facts of one family: Oracle is Equal + Changed + Missing, View is Equal + Changed + Extra.
type Tally struct {
	// Oracle and View count the facts that each side has and that were compared.
	Oracle int64 `json:"oracle"`
	View   int64 `json:"view"`
	Equal  int64 `json:"equal"`
	// Changed, Missing and Extra count the differences; evidence differences are counted by which side lacks them.
	Changed int64 `json:"changed"`
	Missing int64 `json:"missing"`
	Extra   int64 `json:"extra"`
	// Uncertified counts retained view rows of keys that cannot be certified; they are not compared (R21).
	Uncertified int64 `json:"uncertified"`
}

// Differences is the number of disagreements of the family.
func (t Tally) Differences() int64 { return t.Changed + t.Missing + t.Extra }
