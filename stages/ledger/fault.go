package ledger

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// memberNames are the known members as people write them.
var memberNames = [fieldCount]string{
	fieldTxnID: "txn_id", fieldRevision: "revision", fieldKind: "kind", fieldStockKey: "stock_key", fieldValidTime: "valid_time",
	fieldQty: "qty", fieldSourceTime: "source_time", fieldItem: "stock_key.item", fieldLocation: "stock_key.location",
}

// instantForm is what an instant must look like, in words.
const instantForm = "want RFC 3339 with upper-case T, at most nine digits of a second and Z or an offset, of the years 1678 to 2261"

// Fault says in words what is wrong with a record that Decode rejects for that reason: the member, its value as it was
// sent and what would be right. It is for the people who send records; programs read the reason. It reads the record once
// more, so that Decode need not keep what only rejections ask for. Safe for concurrent use.
func (c *Config) Fault(rec Record, reason Reason) string {
	switch reason {
	case ReasonNone:
		return ""
	case ReasonNullValue:
		return "the record has no value"
	case ReasonOversizedRecord:
		return fmt.Sprintf("the value has %d bytes, at most %d are accepted", len(rec.Value), c.namespace.Spec.Source.MaxRecordBytes)
	default: // for the others it has to be read
	}
	s := newScanner()
	if err := s.scan(rec.Value); err != nil {
		return fmt.Sprintf("the value is not one JSON text: %v", err)
	}
	switch reason {
	case ReasonDuplicateField:
		return fmt.Sprintf("member %q is there twice", s.twice)
	case ReasonUnknownField:
		return fmt.Sprintf("member %q is not known; names are case-sensitive", s.strange)
	case ReasonMissingField:
		return "lacks " + strings.Join(s.missing(), ", ")
	case ReasonWrongType:
		return s.wrongType()
	case ReasonUnknownStockKey:
		return fmt.Sprintf("stock_key.item %s, stock_key.location %s: the manifest has no such stock key", shown(s.raw[fieldItem]), shown(s.raw[fieldLocation]))
	case ReasonBeforeLedgerOrigin:
		return fmt.Sprintf("valid_time %s lies before the ledger origin, %s", shown(s.raw[fieldValidTime]), time.Unix(0, c.namespace.Spec.LedgerOrigin).UTC().Format(time.RFC3339Nano))
	case ReasonKeyMismatch:
		return "the record's key is not the broker key of its stock key"
	case ReasonMisroutedPartition:
		return fmt.Sprintf("the record is in partition %d, where its key does not belong", rec.Partition)
	default:
		return s.wrongValue(reason)
	}
}

// wrongValue is Fault for the reasons that are one member's.
func (s *scanner) wrongValue(reason Reason) string {
	var member field
	var want string
	switch reason {
	case ReasonInvalidTxnID:
		member, want = fieldTxnID, fmt.Sprintf("want 1 to %d bytes without U+0000", maxTxnIDBytes)
	case ReasonRevisionOutOfRange:
		member, want = fieldRevision, "want 1 to 9223372036854775807"
	case ReasonInvalidKind:
		member, want = fieldKind, "want NEW, AMEND or CANCEL"
	case ReasonQtyOutOfRange:
		member, want = fieldQty, "want -9223372036854775808 to 9223372036854775807"
	case ReasonCancelNonzeroQty:
		member, want = fieldQty, "a CANCEL has 0"
	case ReasonInvalidValidTime:
		member, want = fieldValidTime, instantForm
	case ReasonInvalidSourceTime:
		member, want = fieldSourceTime, instantForm
	default:
		return string(reason)
	}
	return fmt.Sprintf("%s is %s; %s", memberNames[member], shown(s.raw[member]), want)
}

// missing are the names of the members that are not there, as checkShape asks for them.
func (s *scanner) missing() []string {
	required := uint(recordFields)
	if s.keyIsObject {
		required |= stockKeyFields
	}
	var names []string
	for member, name := range memberNames {
		if required&^s.seen&(1<<member) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// wrongType names the members whose JSON type is not the schema's.
func (s *scanner) wrongType() string {
	if !s.isObject {
		return "the value is JSON, but not an object"
	}
	var faults []string
	for member := range fieldCount {
		want := "a string"
		switch member {
		case fieldStockKey:
			if s.keyIsObject {
				continue
			}
			want = "an object"
		case fieldRevision, fieldQty:
			if isInteger(s.raw[member]) {
				continue
			}
			want = "an integer without fraction and exponent"
		default:
			if s.areStrings(member) || !s.keyIsObject && 1<<member&stockKeyFields != 0 {
				continue
			}
		}
		faults = append(faults, fmt.Sprintf("%s is %s; want %s", memberNames[member], shown(s.raw[member]), want))
	}
	return strings.Join(faults, "; ")
}

// shown is the JSON text of a member for a message: its beginning, where it is long.
func shown(raw []byte) string {
	const most = 80
	switch {
	case raw == nil:
		return "an object or an array"
	case len(raw) <= most:
		return string(raw)
	}
	end := most
	for !utf8.RuneStart(raw[end]) {
		end--
	}
	return string(raw[:end]) + "…"
}
