package ledger

// Record is one visible data record of the source topic, as the broker delivered it.
type Record struct {
	// Partition and Offset are the record's broker coordinates.
	Partition int32
	Offset    int64
	// Key and Value are the raw bytes; nil is a null key or value and is distinct from empty.
	Key, Value []byte
}

// Kind is what a transaction record asserts at its revision (S3).
type Kind int8

// The kinds, in the numbering stored in Postgres.
const (
	KindNew    Kind = 1
	KindAmend  Kind = 2
	KindCancel Kind = 3
)

// Payload is the canonical business payload of one revision without its identity (S3): two records of one
// identity are exact duplicates when their payloads are equal, and conflict when they differ at one revision.
type Payload struct {
	// Revision is 1..MaxInt64.
	Revision int64
	// Kind distinguishes NEW from AMEND: they behave alike, but are different canonical payloads.
	Kind Kind
	// ValidTime is nanoseconds since the Unix epoch.
	ValidTime int64
	// Qty is the signed movement; 0 for a CANCEL.
	Qty int64
}

// IdentityRef names a transaction identity: stock key and transaction ID (S2).
type IdentityRef struct {
	KeyID int32
	TxnID string
}

// RevisionRef names one revision of one identity.
type RevisionRef struct {
	KeyID    int32
	TxnID    string
	Revision int64
}

// AuthorityRow is the highest revision observed for an identity and the first payload seen at it (S4). The row
// is also the evidence of that payload; every other distinct payload is an EvidenceRow.
type AuthorityRow struct {
	KeyID   int32
	TxnID   string
	Payload Payload
	// Ambiguous is set while two or more distinct payloads stand at the highest revision.
	Ambiguous bool
	// SourceOffset is where this payload was first seen.
	SourceOffset int64
}

// EvidenceRow is one distinct canonical payload that is not held by its identity's AuthorityRow (R20).
type EvidenceRow struct {
	KeyID        int32
	TxnID        string
	Payload      Payload
	SourceOffset int64
}

// ConflictRow records the first time that a second distinct payload was seen at one revision (S4). It stays for
// ever; whether it is ambiguous or superseded follows from the identity's AuthorityRow.
type ConflictRow struct {
	KeyID          int32
	TxnID          string
	Revision       int64
	DetectedOffset int64
}

// KeyRow is the trust status of one stock key (S7, R10). It exists from the key's first accepted input on.
type KeyRow struct {
	KeyID         int32
	StatusVersion int64
	// Conflicts is the stable reason set: sorted by transaction ID bytes, then revision. Not empty means BLOCKED.
	Conflicts []ConflictRef
}

// ConflictRef names an ambiguous revision within its stock key.
type ConflictRef struct {
	TxnID    string
	Revision int64
}

// DayRow is the last committed derived-output state of one day of one key: balance and alert with their versions
// (S6, S7). It is never deleted, so versions survive withdrawal.
type DayRow struct {
	KeyID int32
	// Day is days since the Unix epoch.
	Day int32
	// Active counts the active authoritative transactions on the day; the balance fact is present when it is > 0.
	Active int64
	// Close is the closing balance last published for the day; 0 while Active is 0.
	Close int64
	// BalanceVersion and AlertVersion are the last used output versions; 0 means never emitted.
	BalanceVersion int64
	AlertVersion   int64
	// AlertPresent says that the day is a valid downward crossing; AlertClose is then the published close.
	AlertPresent bool
	AlertClose   int64
}

// QuarantineRow is the durable evidence of one rejected record (S4, R06).
type QuarantineRow struct {
	Offset int64
	Reason Reason
	// Key and Value are the raw bytes, nil for null. Above 1 MiB the bytes are dropped (set nil) and only length
	// and digest remain.
	Key, Value []byte
	// KeyLength and ValueLength are the raw lengths in bytes, -1 for null.
	KeyLength, ValueLength int64
	// KeySHA256 and ValueSHA256 digest the raw bytes; nil for null.
	KeySHA256, ValueSHA256 []byte
}

// Envelope is one output message, rendered once and published unchanged (S7, S9).
type Envelope struct {
	// Key is the output record key: the broker key of the stock key.
	Key []byte
	// Value is the RFC 8785 envelope.
	Value []byte
}

// Changes is everything one unit of work writes, in one transaction (S8). Slices are empty where nothing changed;
// a row appears at most once in New… or Changed….
type Changes struct {
	NewAuthority, ChangedAuthority []AuthorityRow
	Evidence                       []EvidenceRow
	Conflicts                      []ConflictRow
	NewDays, ChangedDays           []DayRow
	// Keys are upserts: rows of keys that emitted a status in this unit of work.
	Keys       []KeyRow
	Quarantine []QuarantineRow
	// Envelopes are in publication order.
	Envelopes []Envelope
	// NextOffset is the exclusive frontier after this unit of work (S8, R08).
	NextOffset int64
	// Accepted and Rejected count data records decided in this unit of work, duplicates and stale ones included
	// in Accepted.
	Accepted, Rejected int64
}
