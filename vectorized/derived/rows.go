package derived

// Authority is the highest revision observed of one identity and the first payload seen at it (S4).
type Authority struct {
	// Key is the index of the stock key among the configured keys sorted by bytes.
	Key   int32  `parquet:"key,delta"`
	TxnID string `parquet:"txn_id"`
	// Revision is 1..MaxInt64.
	Revision int64 `parquet:"revision,delta"`
	// Kind is 1 NEW, 2 AMEND, 3 CANCEL.
	Kind int32 `parquet:"kind,dict"`
	// ValidTime is nanoseconds since the Unix epoch.
	ValidTime int64 `parquet:"valid_time,delta"`
	Qty       int64 `parquet:"qty,delta"`
	// Ambiguous says that distinct payloads stand at this revision.
	Ambiguous bool `parquet:"ambiguous"`
	// Offset is where the payload was first seen.
	Offset int64 `parquet:"offset,delta"`
}

// Evidence is a distinct payload that is not its identity's Authority (R20).
type Evidence struct {
	Key       int32  `parquet:"key,delta"`
	TxnID     string `parquet:"txn_id"`
	Revision  int64  `parquet:"revision,delta"`
	Kind      int32  `parquet:"kind,dict"`
	ValidTime int64  `parquet:"valid_time,delta"`
	Qty       int64  `parquet:"qty,delta"`
	// Offset is where the payload was first seen.
	Offset int64 `parquet:"offset,delta"`
}

// Conflict is a revision with two or more distinct payloads (S4).
type Conflict struct {
	Key      int32  `parquet:"key,delta"`
	TxnID    string `parquet:"txn_id"`
	Revision int64  `parquet:"revision,delta"`
	// Highest says that it is the highest of its identity: the key is BLOCKED, and this is one of the reasons (R10).
	Highest bool `parquet:"highest"`
	// Offset is where the second distinct payload was first seen.
	Offset int64 `parquet:"offset,delta"`
}

// Day is one activity day of a key that is not BLOCKED (S5).
type Day struct {
	Key int32 `parquet:"key,delta"`
	// Day is days since the Unix epoch.
	Day int32 `parquet:"day,delta"`
	// Active counts the active authoritative transactions of the day, 1 or more.
	Active int64 `parquet:"active,delta"`
	Close  int64 `parquet:"close,delta"`
	// Alert says that the day is a downward crossing.
	Alert bool `parquet:"alert"`
	// The cause is the last record known to bear on the close: an attribution, which streaming may give otherwise (R26).
	CauseTxnID    string `parquet:"cause_txn_id"`
	CauseRevision int64  `parquet:"cause_revision,delta"`
	CauseOffset   int64  `parquet:"cause_offset,delta"`
}

// Status is the trust status of a key that has an accepted record; its reasons are its Conflicts that are Highest.
type Status struct {
	Key           int32  `parquet:"key,delta"`
	CauseTxnID    string `parquet:"cause_txn_id"`
	CauseRevision int64  `parquet:"cause_revision,delta"`
	CauseOffset   int64  `parquet:"cause_offset,delta"`
}

// Quarantine is one rejected record (S4, R06). Raw bytes above 1 MiB are left out; lengths and digests remain.
type Quarantine struct {
	Offset int64 `parquet:"offset,delta"`
	// Reason is one of schemas/reasons.json.
	Reason   string `parquet:"reason,dict"`
	RawKey   []byte `parquet:"raw_key"`
	RawValue []byte `parquet:"raw_value"`
	// The lengths are in bytes, -1 for null.
	KeyLength   int64 `parquet:"key_length,delta"`
	ValueLength int64 `parquet:"value_length,delta"`
	// The digests are SHA-256, 32 bytes, or none for null.
	KeySHA256   []byte `parquet:"key_sha256"`
	ValueSHA256 []byte `parquet:"value_sha256"`
}
