package reference

import (
	"bytes"
	"math/big"
	"slices"
	"strings"
)

// The rejection reasons (design section 3, R05), in the spelling of schemas/reasons.json.
const (
	nullValue          = "null_value"
	oversizedRecord    = "oversized_record"
	invalidJSON        = "invalid_json"
	duplicateField     = "duplicate_field"
	wrongType          = "wrong_type"
	unknownField       = "unknown_field"
	missingField       = "missing_field"
	invalidTxnID       = "invalid_txn_id"
	revisionOutOfRange = "revision_out_of_range"
	invalidKind        = "invalid_kind"
	qtyOutOfRange      = "qty_out_of_range"
	cancelNonzeroQty   = "cancel_nonzero_qty"
	invalidValidTime   = "invalid_valid_time"
	invalidSourceTime  = "invalid_source_time"
	unknownStockKey    = "unknown_stock_key"
	beforeLedgerOrigin = "before_ledger_origin"
	keyMismatch        = "key_mismatch"
	misroutedPartition = "misrouted_partition"
)

// transaction is one accepted record (S3).
type transaction struct {
	item, location        string
	txnID                 string
	revision              int64
	kind                  string
	validTime, sourceTime int64
	qty                   int64
}

// decode asks the questions of R05 one after the other, each of the whole record. The empty reason means accepted.
func (l *ledger) decode(partition int32, key, value []byte) (transaction, string) {
	if value == nil {
		return transaction{}, nullValue
	}
	if int64(len(value)) > l.namespace.Spec.Source.MaxRecordBytes {
		return transaction{}, oversizedRecord
	}
	root, err := parse(value)
	if err != nil {
		return transaction{}, invalidJSON
	}
	if reason := shape(root); reason != "" {
		return transaction{}, reason
	}
	t, reason := members(root)
	if reason != "" {
		return transaction{}, reason
	}
	if _, known := l.configured[stockKey{t.item, t.location}]; !known {
		return transaction{}, unknownStockKey
	}
	if t.validTime < l.namespace.Spec.LedgerOrigin {
		return transaction{}, beforeLedgerOrigin
	}
	want := brokerKey(t.item, t.location)
	if key == nil || !bytes.Equal(key, want) {
		return transaction{}, keyMismatch
	}
	if partition != partitionOf(want, l.namespace.Spec.Source.Partitions) {
		return transaction{}, misroutedPartition
	}
	return t, ""
}

// The members a record and its stock key must have, no more and no fewer.
var (
	rootMembers  = []string{"txn_id", "revision", "kind", "stock_key", "valid_time", "qty", "source_time"}
	stockMembers = []string{"item", "location"}
)

// shape judges names and types, from duplicate_field to the second wrong_type.
func shape(root *node) string {
	if root.hasDuplicates() {
		return duplicateField
	}
	if root.kind != objectNode {
		return wrongType
	}
	stock := root.member("stock_key")
	inside := stock != nil && stock.kind == objectNode
	if root.hasOtherThan(rootMembers) || inside && stock.hasOtherThan(stockMembers) {
		return unknownField
	}
	if !root.hasAll(rootMembers) || inside && !stock.hasAll(stockMembers) {
		return missingField
	}
	if !inside || stock.member("item").kind != stringNode || stock.member("location").kind != stringNode {
		return wrongType
	}
	for _, name := range []string{"txn_id", "kind", "valid_time", "source_time"} {
		if root.member(name).kind != stringNode {
			return wrongType
		}
	}
	for _, name := range []string{"revision", "qty"} {
		member := root.member(name)
		if member.kind != numberNode || strings.ContainsAny(member.text, ".eE") {
			return wrongType
		}
	}
	return ""
}

// members judges the values themselves, from invalid_txn_id to invalid_source_time.
func members(root *node) (transaction, string) {
	stock := root.member("stock_key")
	t := transaction{
		item:     stock.member("item").text,
		location: stock.member("location").text,
		txnID:    root.member("txn_id").text,
		kind:     root.member("kind").text,
	}
	if t.txnID == "" || len(t.txnID) > 256 || strings.Contains(t.txnID, "\x00") {
		return t, invalidTxnID
	}
	revision := integer(root.member("revision").text)
	if revision.Sign() <= 0 || !revision.IsInt64() {
		return t, revisionOutOfRange
	}
	t.revision = revision.Int64()
	if !slices.Contains([]string{"NEW", "AMEND", "CANCEL"}, t.kind) {
		return t, invalidKind
	}
	qty := integer(root.member("qty").text)
	if !qty.IsInt64() {
		return t, qtyOutOfRange
	}
	t.qty = qty.Int64()
	if t.kind == "CANCEL" && t.qty != 0 {
		return t, cancelNonzeroQty
	}
	var ok bool
	if t.validTime, ok = instant(root.member("valid_time").text); !ok {
		return t, invalidValidTime
	}
	if t.sourceTime, ok = instant(root.member("source_time").text); !ok {
		return t, invalidSourceTime
	}
	return t, ""
}

// integer is the exact value of a JSON number without fraction and exponent.
func integer(text string) *big.Int {
	value, ok := new(big.Int).SetString(text, 10)
	if !ok { // cannot happen: the text is a JSON number without fraction and exponent
		return new(big.Int).Lsh(big.NewInt(1), 64)
	}
	return value
}
