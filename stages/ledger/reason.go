package ledger

// Reason is why a record was rejected (S4, R05); schemas/reasons.json lists the reasons with descriptions in the
// order of checking. The zero value means accepted.
type Reason string

// The rejection reasons, in the order of checking: each is tested over the whole record before the next (R05).
// wrong_type is tested twice: for a value that is no object, and, after missing_field, for a member.
const (
	ReasonNone               Reason = ""
	ReasonNullValue          Reason = "null_value"
	ReasonOversizedRecord    Reason = "oversized_record"
	ReasonInvalidJSON        Reason = "invalid_json"
	ReasonDuplicateField     Reason = "duplicate_field"
	ReasonWrongType          Reason = "wrong_type"
	ReasonUnknownField       Reason = "unknown_field"
	ReasonMissingField       Reason = "missing_field"
	ReasonInvalidTxnID       Reason = "invalid_txn_id"
	ReasonRevisionOutOfRange Reason = "revision_out_of_range"
	ReasonInvalidKind        Reason = "invalid_kind"
	ReasonQtyOutOfRange      Reason = "qty_out_of_range"
	ReasonCancelNonzeroQty   Reason = "cancel_nonzero_qty"
	ReasonInvalidValidTime   Reason = "invalid_valid_time"
	ReasonInvalidSourceTime  Reason = "invalid_source_time"
	ReasonUnknownStockKey    Reason = "unknown_stock_key"
	ReasonBeforeLedgerOrigin Reason = "before_ledger_origin"
	ReasonKeyMismatch        Reason = "key_mismatch"
	ReasonMisroutedPartition Reason = "misrouted_partition"
)
