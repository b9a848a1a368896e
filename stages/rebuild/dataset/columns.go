package dataset

// The columns of each table, as schemas/derived-state.json lists them.

type authorityColumns struct {
	Key       int32  `parquet:"key"`
	TxnID     string `parquet:"txn_id"`
	Revision  int64  `parquet:"revision"`
	Kind      int32  `parquet:"kind"`
	ValidTime int64  `parquet:"valid_time"`
	Qty       int64  `parquet:"qty"`
	Ambiguous bool   `parquet:"ambiguous"`
	Offset    int64  `parquet:"offset"`
}

type evidenceColumns struct {
	Key       int32  `parquet:"key"`
	TxnID     string `parquet:"txn_id"`
	Revision  int64  `parquet:"revision"`
	Kind      int32  `parquet:"kind"`
	ValidTime int64  `parquet:"valid_time"`
	Qty       int64  `parquet:"qty"`
	Offset    int64  `parquet:"offset"`
}

type conflictColumns struct {
	Key      int32  `parquet:"key"`
	TxnID    string `parquet:"txn_id"`
	Revision int64  `parquet:"revision"`
	Highest  bool   `parquet:"highest"`
	Offset   int64  `parquet:"offset"`
}

type dayColumns struct {
	Key           int32  `parquet:"key"`
	Day           int32  `parquet:"day"`
	Active        int64  `parquet:"active"`
	Close         int64  `parquet:"close"`
	Alert         bool   `parquet:"alert"`
	CauseTxnID    string `parquet:"cause_txn_id"`
	CauseRevision int64  `parquet:"cause_revision"`
	CauseOffset   int64  `parquet:"cause_offset"`
}

type statusColumns struct {
	Key           int32  `parquet:"key"`
	CauseTxnID    string `parquet:"cause_txn_id"`
	CauseRevision int64  `parquet:"cause_revision"`
	CauseOffset   int64  `parquet:"cause_offset"`
}

type quarantineColumns struct {
	Offset      int64  `parquet:"offset"`
	Reason      string `parquet:"reason"`
	RawKey      []byte `parquet:"raw_key"`
	RawValue    []byte `parquet:"raw_value"`
	KeyLength   int64  `parquet:"key_length"`
	ValueLength int64  `parquet:"value_length"`
	KeySHA256   []byte `parquet:"key_sha256"`
	ValueSHA256 []byte `parquet:"value_sha256"`
}
