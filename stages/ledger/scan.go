package ledger

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is the deepest accepted nesting of objects and arrays; the outermost one is at depth 1 (R05).
const maxDepth = 64

// field is one member that the schema knows, of the record or of its stock key.
type field int

// The known members. The stock key's own two are kept beside the record's seven.
const (
	fieldTxnID field = iota
	fieldRevision
	fieldKind
	fieldStockKey
	fieldValidTime
	fieldQty
	fieldSourceTime
	fieldItem
	fieldLocation
	fieldCount

	fieldUnknown field = -1
)

// The members that the record and its stock key must have, as bit sets.
const (
	recordFields = 1<<fieldTxnID | 1<<fieldRevision | 1<<fieldKind | 1<<fieldStockKey |
		1<<fieldValidTime | 1<<fieldQty | 1<<fieldSourceTime
	stockKeyFields = 1<<fieldItem | 1<<fieldLocation
)

// scope says which schema an object is read under.
type scope int

// The record itself, its stock key, and any object that has no business being there.
const (
	scopeRecord scope = iota
	scopeStockKey
	scopeOther
)

var (
	errDepth    = errors.New("nested too deep")
	errTrailing = errors.New("data after the value")
)

// scanner reads one record value completely and notes what the checks of R05 need, so that the declared order of
// reasons can be followed whatever the document order: a syntax error in the last byte still beats everything.
// It is reused between records and used by one goroutine at a time.
type scanner struct {
	tokens *jsontext.Decoder
	input  bytes.Buffer
	value  []byte

	// raw holds the text of each known member that is a string, number or literal; nil for objects and arrays.
	raw [fieldCount][]byte
	// seen is the bit set of known members present.
	seen uint
	// isObject, keyIsObject: the record and its stock key are objects. duplicate, unknown: such a member was found.
	isObject, keyIsObject, duplicate, unknown bool
	// twice and strange name the last member that is a duplicate, and the last unknown one; for Fault only.
	twice, strange string
	// text and second are scratch for unescaped strings.
	text, second []byte
}

// newScanner returns an idle scanner.
func newScanner() *scanner { return &scanner{tokens: jsontext.NewDecoder(new(bytes.Buffer))} }

// scan reads value; an error means invalid_json.
func (s *scanner) scan(value []byte) error {
	s.value = value
	s.raw = [fieldCount][]byte{}
	s.seen = 0
	s.isObject, s.keyIsObject, s.duplicate, s.unknown = false, false, false, false
	s.input = *bytes.NewBuffer(value)
	// Duplicates are found here instead of by jsontext, which would report one where a later syntax error counts.
	s.tokens.Reset(&s.input, jsontext.AllowDuplicateNames(true))
	if s.tokens.PeekKind() == '{' {
		s.isObject = true
		if err := s.object(scopeRecord, 1); err != nil {
			return err
		}
	} else if _, err := s.any(1); err != nil {
		return err
	}
	if _, err := s.tokens.ReadToken(); !errors.Is(err, io.EOF) {
		return errTrailing
	}
	return nil
}

// any reads one value at the given depth. It returns the text of a string, number or literal.
func (s *scanner) any(depth int) ([]byte, error) {
	switch s.tokens.PeekKind() {
	case '{':
		return nil, s.object(scopeOther, depth)
	case '[':
		return nil, s.array(depth)
	default:
		return s.leaf()
	}
}

// leaf reads a string, number or literal and returns its text as a part of the input, which jsontext's own result is
// not guaranteed to be once the next token is read.
func (s *scanner) leaf() ([]byte, error) {
	text, err := s.tokens.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(s.tokens.InputOffset())
	return s.value[end-len(text) : end], nil
}

// array reads an array at the given depth.
func (s *scanner) array(depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	if _, err := s.tokens.ReadToken(); err != nil {
		return err
	}
	for s.tokens.PeekKind() != ']' {
		if _, err := s.any(depth + 1); err != nil {
			return err
		}
	}
	_, err := s.tokens.ReadToken()
	return err
}

// object reads an object at the given depth under the given scope.
func (s *scanner) object(in scope, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	if _, err := s.tokens.ReadToken(); err != nil {
		return err
	}
	var others map[string]struct{}
	for s.tokens.PeekKind() != '}' {
		quoted, err := s.leaf()
		if err != nil {
			return err
		}
		name := unquote(&s.text, quoted)
		member := lookUp(in, name)
		if member == fieldUnknown {
			if in != scopeOther {
				s.unknown, s.strange = true, string(name)
			}
			if others == nil {
				others = make(map[string]struct{})
			}
			if _, ok := others[string(name)]; ok {
				s.duplicate, s.twice = true, string(name)
			}
			others[string(name)] = struct{}{}
			if _, err := s.any(depth + 1); err != nil {
				return err
			}
			continue
		}
		if err := s.member(member, depth+1); err != nil {
			return err
		}
	}
	_, err := s.tokens.ReadToken()
	return err
}

// member reads the value of a known member. A repeated stock_key is read under its own schema again: what counts is
// that the record is rejected as a duplicate.
func (s *scanner) member(member field, depth int) error {
	if s.seen&(1<<member) != 0 {
		s.duplicate, s.twice = true, memberNames[member]
	}
	s.seen |= 1 << member
	if member == fieldStockKey && s.tokens.PeekKind() == '{' {
		s.keyIsObject = true
		return s.object(scopeStockKey, depth)
	}
	text, err := s.any(depth)
	s.raw[member] = text
	return err
}

// lookUp returns the member of that exact name in the schema of the scope: names are case-sensitive (B066).
func lookUp(in scope, name []byte) field {
	switch in {
	case scopeRecord:
		switch string(name) {
		case "txn_id":
			return fieldTxnID
		case "revision":
			return fieldRevision
		case "kind":
			return fieldKind
		case "stock_key":
			return fieldStockKey
		case "valid_time":
			return fieldValidTime
		case "qty":
			return fieldQty
		case "source_time":
			return fieldSourceTime
		}
	case scopeStockKey:
		switch string(name) {
		case "item":
			return fieldItem
		case "location":
			return fieldLocation
		}
	case scopeOther:
	}
	return fieldUnknown
}

// unquote returns the value of a valid JSON string. Without escapes it is a part of quoted; else it is in scratch
// and valid until the next use of it.
func unquote(scratch *[]byte, quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	// The string was checked by the scan: it cannot fail.
	*scratch, _ = jsontext.AppendUnquote((*scratch)[:0], quoted)
	return *scratch
}
