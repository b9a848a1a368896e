package dataset

// The columns of each table, as docs/reference/derived-state.md lists them, and how a row of a group is read.

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

func viewAuthority(g group, i int, row *authorityColumns) {
	row.Key, row.TxnID, row.Revision, row.Kind = g[0].int32(i), g[1].text(i), g[2].int64(i), g[3].int32(i)
	row.ValidTime, row.Qty, row.Ambiguous, row.Offset = g[4].int64(i), g[5].int64(i), g[6].bool(i), g[7].int64(i)
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

func viewEvidence(g group, i int, row *evidenceColumns) {
	row.Key, row.TxnID, row.Revision, row.Kind = g[0].int32(i), g[1].text(i), g[2].int64(i), g[3].int32(i)
	row.ValidTime, row.Qty, row.Offset = g[4].int64(i), g[5].int64(i), g[6].int64(i)
}

type conflictColumns struct {
	Key      int32  `parquet:"key"`
	TxnID    string `parquet:"txn_id"`
	Revision int64  `parquet:"revision"`
	Highest  bool   `parquet:"highest"`
	Offset   int64  `parquet:"offset"`
}

func viewConflict(g group, i int, row *conflictColumns) {
	row.Key, row.TxnID, row.Revision, row.Highest, row.Offset = g[0].int32(i), g[1].text(i), g[2].int64(i), g[3].bool(i), g[4].int64(i)
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

func viewDay(g group, i int, row *dayColumns) {
	row.Key, row.Day, row.Active, row.Close, row.Alert = g[0].int32(i), g[1].int32(i), g[2].int64(i), g[3].int64(i), g[4].bool(i)
	row.CauseTxnID, row.CauseRevision, row.CauseOffset = g[5].text(i), g[6].int64(i), g[7].int64(i)
}

type statusColumns struct {
	Key           int32  `parquet:"key"`
	CauseTxnID    string `parquet:"cause_txn_id"`
	CauseRevision int64  `parquet:"cause_revision"`
	CauseOffset   int64  `parquet:"cause_offset"`
}

func viewStatus(g group, i int, row *statusColumns) {
	row.Key, row.CauseTxnID, row.CauseRevision, row.CauseOffset = g[0].int32(i), g[1].text(i), g[2].int64(i), g[3].int64(i)
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

func viewQuarantine(g group, i int, row *quarantineColumns) {
	row.Offset, row.Reason, row.RawKey, row.RawValue = g[0].int64(i), g[1].text(i), g[2].bytes(i), g[3].bytes(i)
	row.KeyLength, row.ValueLength, row.KeySHA256, row.ValueSHA256 = g[4].int64(i), g[5].int64(i), g[6].bytes(i), g[7].bytes(i)
}
