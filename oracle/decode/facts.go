package decode

// The members of a transaction and of its stock key, as indexes into facts.
const (
	slotTxnID = iota
	slotRevision
	slotKind
	slotStockKey
	slotValidTime
	slotQty
	slotSourceTime
	rootSlots
)

const (
	slotItem = iota
	slotLocation
	stockSlots
)

// wanted is the token each root member must be; stock key members are all strings.
var wanted = [rootSlots]tokenKind{
	slotTxnID: stringToken, slotRevision: integerToken, slotKind: stringToken, slotStockKey: objectToken,
	slotValidTime: stringToken, slotQty: integerToken, slotSourceTime: stringToken,
}

// tokenKind is the kind of a JSON value; the zero value means that a member is absent.
type tokenKind uint8

const (
	absent tokenKind = iota
	stringToken
	// integerToken is a number without fraction and exponent, of any length.
	integerToken
	// fractionToken is a number with a fraction or an exponent.
	fractionToken
	objectToken
	// otherToken is an array, true, false or null.
	otherToken
)

// token is one scanned value as a range of the record's bytes, quotes included.
type token struct {
	kind       tokenKind
	escaped    bool // a string that contains a backslash
	start, end int
}

// facts is what one pass over a syntactically valid record learns.
type facts struct {
	src       []byte
	value     tokenKind // of the whole value
	duplicate bool      // a member name occurs twice in one object, at any depth
	unknown   bool      // a member that is none of ours, in the record or in its stock key
	root      [rootSlots]token
	stock     [stockSlots]token
}

// shape judges everything about members but their values, from duplicate_field to the second wrong_type.
func (f *facts) shape() Reason {
	switch {
	case f.duplicate:
		return DuplicateField
	case f.value != objectToken:
		return WrongType
	case f.unknown:
		return UnknownField
	case f.missing():
		return MissingField
	case f.mistyped():
		return WrongType
	}
	return Accepted
}

// missing reports an absent member. Stock key members can be missing only from an object.
func (f *facts) missing() bool {
	for _, member := range f.root {
		if member.kind == absent {
			return true
		}
	}
	if f.root[slotStockKey].kind != objectToken {
		return false
	}
	return f.stock[slotItem].kind == absent || f.stock[slotLocation].kind == absent
}

// mistyped reports a member of another type; null is one.
func (f *facts) mistyped() bool {
	for slot, member := range f.root {
		if member.kind != wanted[slot] {
			return true
		}
	}
	return f.stock[slotItem].kind != stringToken || f.stock[slotLocation].kind != stringToken
}

// raw is a token's bytes as they stand in the record.
func (f *facts) raw(t token) []byte { return f.src[t.start:t.end] }

// text is a string token's content, unescaped. Without escapes it aliases the record.
func (f *facts) text(t token) []byte {
	content := f.src[t.start+1 : t.end-1]
	if !t.escaped {
		return content
	}
	return unescape(content)
}

// rootSlot names a member of the record, or -1.
func rootSlot(name []byte) int {
	switch string(name) {
	case "txn_id":
		return slotTxnID
	case "revision":
		return slotRevision
	case "kind":
		return slotKind
	case "stock_key":
		return slotStockKey
	case "valid_time":
		return slotValidTime
	case "qty":
		return slotQty
	case "source_time":
		return slotSourceTime
	}
	return -1
}

// stockSlot names a member of the stock key, or -1.
func stockSlot(name []byte) int {
	switch string(name) {
	case "item":
		return slotItem
	case "location":
		return slotLocation
	}
	return -1
}
