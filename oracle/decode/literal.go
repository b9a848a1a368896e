package decode

import (
	"math"
	"unicode/utf8"
)

// str scans a string, its opening quote at the scanner's position: no control characters, known escapes only, surrogates
// in pairs.
func (s *scanner) str() (token, bool) {
	t := token{kind: stringToken, start: s.pos}
	s.pos++
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == '"':
			s.pos++
			t.end = s.pos
			return t, true
		case c < ' ':
			return t, false
		case c == '\\':
			t.escaped = true
			if !s.escape() {
				return t, false
			}
		default:
			s.pos++
		}
	}
	return t, false
}

// escape scans one escape sequence, a surrogate pair as a whole.
func (s *scanner) escape() bool {
	s.pos++
	if s.pos >= len(s.src) {
		return false
	}
	c := s.src[s.pos]
	s.pos++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
	default:
		return false
	}
	unit, ok := s.unit()
	if !ok || isLow(unit) {
		return false
	}
	if !isHigh(unit) {
		return true
	}
	if !s.next('\\') || !s.next('u') {
		return false
	}
	unit, ok = s.unit()
	return ok && isLow(unit)
}

// unit scans the four hex digits of a \u escape.
func (s *scanner) unit() (uint32, bool) {
	if len(s.src)-s.pos < 4 {
		return 0, false
	}
	unit, ok := hex4(s.src[s.pos:])
	s.pos += 4
	return unit, ok
}

func isHigh(unit uint32) bool { return unit >= 0xD800 && unit <= 0xDBFF }
func isLow(unit uint32) bool  { return unit >= 0xDC00 && unit <= 0xDFFF }

// hex4 reads four hex digits.
func hex4(b []byte) (uint32, bool) {
	var unit uint32
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		unit = unit<<4 | uint32(c)
	}
	return unit, true
}

// unescape returns the text of a string's content that the scanner found well-formed.
func unescape(content []byte) []byte {
	out := make([]byte, 0, len(content))
	for i := 0; i < len(content); {
		if content[i] != '\\' {
			out = append(out, content[i])
			i++
			continue
		}
		if content[i+1] != 'u' {
			out = append(out, simpleEscape(content[i+1]))
			i += 2
			continue
		}
		unit, _ := hex4(content[i+2:])
		i += 6
		if isHigh(unit) {
			low, _ := hex4(content[i+2:])
			unit = 0x10000 + (unit-0xD800)<<10 + (low - 0xDC00)
			i += 6
		}
		out = utf8.AppendRune(out, rune(unit))
	}
	return out
}

// simpleEscape is the byte that a one-letter escape stands for.
func simpleEscape(letter byte) byte {
	switch letter {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return letter
}

// number scans a number and tells plain integers from the rest.
func (s *scanner) number() (token, bool) {
	t := token{kind: integerToken, start: s.pos}
	s.next('-')
	if !s.next('0') && !s.digits() {
		return t, false
	}
	if s.next('.') {
		t.kind = fractionToken
		if !s.digits() {
			return t, false
		}
	}
	if s.next('e') || s.next('E') {
		t.kind = fractionToken
		if !s.next('+') {
			s.next('-')
		}
		if !s.digits() {
			return t, false
		}
	}
	t.end = s.pos
	return t, true
}

// digits scans one or more decimal digits.
func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.src) && s.src[s.pos] >= '0' && s.src[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start
}

// integer is the value of an integer token, and whether int64 holds it. -0 is 0.
func integer(raw []byte) (int64, bool) {
	negative := raw[0] == '-'
	limit := uint64(math.MaxInt64)
	if negative {
		raw = raw[1:]
		limit++
	}
	var magnitude uint64
	for _, c := range raw {
		digit := uint64(c - '0')
		if magnitude > (limit-digit)/10 {
			return 0, false
		}
		magnitude = magnitude*10 + digit
	}
	if negative {
		return int64(-magnitude), true
	}
	return int64(magnitude), true
}
