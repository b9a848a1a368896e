package decode

// Reason is why a record was rejected, in the spelling of schemas/reasons.json. The zero value means accepted.
type Reason string

// The reasons in the order of checking (design section 3, R05): each is judged over the whole record, and the first
// that applies is recorded. WrongType stands twice in that order: for a value that is no object (after DuplicateField)
// and for a member of another type (after MissingField).
const (
	Accepted           Reason = ""
	NullValue          Reason = "null_value"
	OversizedRecord    Reason = "oversized_record"
	InvalidJSON        Reason = "invalid_json"
	DuplicateField     Reason = "duplicate_field"
	WrongType          Reason = "wrong_type"
	UnknownField       Reason = "unknown_field"
	MissingField       Reason = "missing_field"
	InvalidTxnID       Reason = "invalid_txn_id"
	RevisionOutOfRange Reason = "revision_out_of_range"
	InvalidKind        Reason = "invalid_kind"
	QtyOutOfRange      Reason = "qty_out_of_range"
	CancelNonzeroQty   Reason = "cancel_nonzero_qty"
	InvalidValidTime   Reason = "invalid_valid_time"
	InvalidSourceTime  Reason = "invalid_source_time"
	UnknownStockKey    Reason = "unknown_stock_key"
	BeforeLedgerOrigin Reason = "before_ledger_origin"
	KeyMismatch        Reason = "key_mismatch"
	MisroutedPartition Reason = "misrouted_partition"
)

// Known reports whether a text is a reason for a rejection.
func (r Reason) Known() bool {
	switch r {
	case NullValue, OversizedRecord, InvalidJSON, DuplicateField, WrongType, UnknownField, MissingField, InvalidTxnID,
		RevisionOutOfRange, InvalidKind, QtyOutOfRange, CancelNonzeroQty, InvalidValidTime, InvalidSourceTime,
		UnknownStockKey, BeforeLedgerOrigin, KeyMismatch, MisroutedPartition:
		return true
	case Accepted:
	}
	return false
}
