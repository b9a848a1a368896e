package decode

import "unicode/utf8"

// maxDepth is the deepest nesting of objects and arrays that is still JSON to us (R05); the record itself is depth 1.
const maxDepth = 64

// level says which object is being scanned.
type level uint8

const (
	recordLevel level = iota
	stockLevel
	foreignLevel // any other object: only its syntax and its duplicates matter
)

// scanner is a recursive descent over one record. It stops at the first syntax fault; everything else becomes a fact.
type scanner struct {
	facts
	pos   int
	depth int
}

// collect scans a whole value, and reports whether it is JSON: RFC 8259 syntax, UTF-8, no lone surrogates, no deeper
// than maxDepth, nothing behind it.
func collect(value []byte) (facts, bool) {
	if !utf8.Valid(value) {
		return facts{}, false
	}
	s := scanner{facts: facts{src: value}}
	s.space()
	t, ok := s.value(recordLevel)
	if !ok {
		return facts{}, false
	}
	s.space()
	s.facts.value = t.kind
	return s.facts, s.pos == len(value)
}

// space skips insignificant white space.
func (s *scanner) space() {
	for s.pos < len(s.src) {
		switch s.src[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// next consumes c if it is the next byte.
func (s *scanner) next(c byte) bool {
	if s.pos < len(s.src) && s.src[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// value scans one value; an object is taken for one of the given level.
func (s *scanner) value(at level) (token, bool) {
	if s.pos >= len(s.src) {
		return token{}, false
	}
	switch c := s.src[s.pos]; {
	case c == '"':
		return s.str()
	case c == '{':
		return token{kind: objectToken}, s.nested(func() bool { return s.object(at) })
	case c == '[':
		return token{kind: otherToken}, s.nested(s.array)
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	}
	return token{kind: otherToken}, s.literal("null") || s.literal("true") || s.literal("false")
}

// nested runs scan one level deeper, its opening bracket consumed.
func (s *scanner) nested(scan func() bool) bool {
	s.pos++
	s.depth++
	ok := s.depth <= maxDepth && scan()
	s.depth--
	return ok
}

// literal consumes word if it comes next.
func (s *scanner) literal(word string) bool {
	if len(s.src)-s.pos < len(word) || string(s.src[s.pos:s.pos+len(word)]) != word {
		return false
	}
	s.pos += len(word)
	return true
}

// array scans the elements behind an opening bracket.
func (s *scanner) array() bool {
	s.space()
	if s.next(']') {
		return true
	}
	for {
		s.space()
		if _, ok := s.value(foreignLevel); !ok {
			return false
		}
		s.space()
		if s.next(']') {
			return true
		}
		if !s.next(',') {
			return false
		}
	}
}

// object scans the members behind an opening brace.
func (s *scanner) object(at level) bool {
	s.space()
	if s.next('}') {
		return true
	}
	var others names
	for {
		s.space()
		name, ok := s.name()
		if !ok {
			return false
		}
		s.space()
		if !s.next(':') {
			return false
		}
		s.space()
		if !s.member(at, name, &others) {
			return false
		}
		s.space()
		if s.next('}') {
			return true
		}
		if !s.next(',') {
			return false
		}
	}
}

// name scans a member name and returns it unescaped.
func (s *scanner) name() ([]byte, bool) {
	if s.pos >= len(s.src) || s.src[s.pos] != '"' {
		return nil, false
	}
	t, ok := s.str()
	if !ok {
		return nil, false
	}
	return s.text(t), true
}

// member scans a member's value and keeps it where the name is ours; others holds the object's further names.
func (s *scanner) member(at level, name []byte, others *names) bool {
	slots, slot := s.slots(at, name)
	inside := foreignLevel
	if at == recordLevel && slot == slotStockKey {
		inside = stockLevel
	}
	if slot < 0 {
		s.unknown = s.unknown || at != foreignLevel
		s.duplicate = others.add(name) || s.duplicate
	} else if slots[slot].kind != absent {
		s.duplicate = true
	}
	t, ok := s.value(inside)
	if ok && slot >= 0 {
		slots[slot] = t
	}
	return ok
}

// slots returns the members of a level and the one that name stands for, -1 if none.
func (s *scanner) slots(at level, name []byte) ([]token, int) {
	switch at {
	case recordLevel:
		return s.root[:], rootSlot(name)
	case stockLevel:
		return s.stock[:], stockSlot(name)
	case foreignLevel:
	}
	return nil, -1
}
