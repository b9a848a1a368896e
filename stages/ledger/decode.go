package ledger

import (
	"bytes"
	"math"

	"amends.dev/amends/internal/mark"
)

// Transaction is an accepted record: an identity and its canonical payload (S3). source_time is checked but not
// kept, because it takes part in nothing.
type Transaction struct {
	// KeyID is the stock key's index in Spec.StockKeys.
	KeyID int32
	// TxnID is unique within the stock key.
	TxnID string
	// Payload is the canonical business payload.
	Payload Payload
}

// maxTxnIDBytes bounds a transaction ID (design section 3).
const maxTxnIDBytes = 256

// Decode turns a source record into a transaction, or names why it is rejected: the first reason that applies in the
// declared order over the whole record (S3, R05). It never fails otherwise, and the same record always gives the
// same answer. Safe for concurrent use.
func (c *Config) Decode(rec Record) (Transaction, Reason) {
	if rec.Value == nil {
		return Transaction{}, ReasonNullValue
	}
	if int64(len(rec.Value)) > c.namespace.Spec.Source.MaxRecordBytes {
		return Transaction{}, ReasonOversizedRecord
	}
	s := c.scanners.Get().(*scanner) //nolint:forcetypeassert // the pool holds nothing else
	defer c.scanners.Put(s)
	if s.scan(rec.Value) != nil {
		if s.unknown {
			mark.Hit("R05 broken syntax after an unknown field")
		}
		return Transaction{}, ReasonInvalidJSON
	}
	if reason := s.checkShape(); reason != ReasonNone {
		return Transaction{}, reason
	}
	var tx Transaction
	if reason := s.checkMembers(&tx.Payload); reason != ReasonNone {
		return Transaction{}, reason
	}
	if reason := c.checkPlace(s, rec, &tx); reason != ReasonNone {
		return Transaction{}, reason
	}
	tx.TxnID = string(unquote(&s.text, s.raw[fieldTxnID]))
	return tx, ReasonNone
}

// checkShape tests members and their JSON types.
func (s *scanner) checkShape() Reason {
	switch {
	case s.duplicate:
		return ReasonDuplicateField
	case !s.isObject:
		return ReasonWrongType
	case s.unknown:
		return ReasonUnknownField
	case s.seen&recordFields != recordFields, s.keyIsObject && s.seen&stockKeyFields != stockKeyFields:
		return ReasonMissingField
	case !s.keyIsObject, !s.areStrings(fieldTxnID, fieldKind, fieldValidTime, fieldSourceTime, fieldItem, fieldLocation),
		!isInteger(s.raw[fieldRevision]), !isInteger(s.raw[fieldQty]):
		return ReasonWrongType
	default:
		return ReasonNone
	}
}

// checkMembers tests the values of the record's own members and fills the payload.
func (s *scanner) checkMembers(p *Payload) Reason {
	var ok bool
	if txnID := unquote(&s.text, s.raw[fieldTxnID]); len(txnID) == 0 || len(txnID) > maxTxnIDBytes || bytes.IndexByte(txnID, 0) >= 0 {
		return ReasonInvalidTxnID
	}
	if p.Revision, ok = parseInteger(s.raw[fieldRevision]); !ok || p.Revision < 1 {
		return ReasonRevisionOutOfRange
	}
	switch string(unquote(&s.text, s.raw[fieldKind])) {
	case "NEW":
		p.Kind = KindNew
	case "AMEND":
		p.Kind = KindAmend
	case "CANCEL":
		p.Kind = KindCancel
	default:
		return ReasonInvalidKind
	}
	if p.Qty, ok = parseInteger(s.raw[fieldQty]); !ok {
		return ReasonQtyOutOfRange
	}
	if p.Kind == KindCancel && p.Qty != 0 {
		return ReasonCancelNonzeroQty
	}
	if p.ValidTime, ok = parseInstant(unquote(&s.text, s.raw[fieldValidTime])); !ok {
		return ReasonInvalidValidTime
	}
	if _, ok = parseInstant(unquote(&s.text, s.raw[fieldSourceTime])); !ok {
		return ReasonInvalidSourceTime
	}
	return ReasonNone
}

// checkPlace tests the record against the namespace and its broker coordinates.
func (c *Config) checkPlace(s *scanner, rec Record, tx *Transaction) Reason {
	item := unquote(&s.text, s.raw[fieldItem])
	location := unquote(&s.second, s.raw[fieldLocation])
	keyID, ok := c.keyIDs[names{string(item), string(location)}]
	switch {
	case !ok:
		return ReasonUnknownStockKey
	case tx.Payload.ValidTime < c.namespace.Spec.LedgerOrigin:
		return ReasonBeforeLedgerOrigin
	case rec.Key == nil || !bytes.Equal(rec.Key, c.BrokerKey(keyID)):
		mark.Hit("SC28 key of another stock key")
		return ReasonKeyMismatch
	case rec.Partition != c.partition[keyID]:
		mark.Hit("B025 misrouted record")
		return ReasonMisroutedPartition
	}
	tx.KeyID = keyID
	return ReasonNone
}

// areStrings tells whether all the given members are JSON strings.
func (s *scanner) areStrings(members ...field) bool {
	for _, member := range members {
		if raw := s.raw[member]; len(raw) == 0 || raw[0] != '"' {
			return false
		}
	}
	return true
}

// isInteger tells whether a member is a JSON number without fraction and exponent.
func isInteger(raw []byte) bool {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return false
	}
	return !bytes.ContainsAny(raw, ".eE")
}

// parseInteger parses a JSON integer of any length; false where int64 cannot hold it. -0 is 0 (B069).
func parseInteger(raw []byte) (int64, bool) {
	negative := raw[0] == '-'
	if negative {
		raw = raw[1:]
	}
	const maxDigits = 19 // JSON has no leading zeros, so more digits are always out of range
	if len(raw) > maxDigits {
		return 0, false
	}
	var magnitude uint64
	for _, digit := range raw {
		magnitude = magnitude*10 + uint64(digit-'0')
	}
	switch {
	case negative && magnitude <= -math.MinInt64:
		return -int64(magnitude), true // 2^63 wraps to itself, which is its own negation
	case !negative && magnitude <= math.MaxInt64:
		return int64(magnitude), true
	default:
		return 0, false
	}
}
