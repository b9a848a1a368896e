package view

import (
	"bytes"
	"fmt"
	"math"
	"unicode/utf8"
)

// scanner reads canonical JSON (RFC 8785) of a shape the caller knows: members in their one order, no white space, one
// spelling for every string and integer. An envelope is published as exactly those bytes (S7, R19), so a text that
// differs in any way was not written by a worker of this semantics version. The first failure sticks; later calls
// return zero values, so that callers read a whole shape and ask once.
type scanner struct {
	data []byte
	pos  int
	err  error
	// scratch holds the unescaped text of strings that carry escapes.
	scratch []byte
}

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("byte %d: %s", s.pos, fmt.Sprintf(format, args...))
	}
}

// literal consumes exactly text.
func (s *scanner) literal(text string) {
	if s.err == nil && !s.accept(text) {
		s.fail("want %s", text)
	}
}

// accept consumes text if it comes next.
func (s *scanner) accept(text string) bool {
	if s.err != nil || len(s.data)-s.pos < len(text) || string(s.data[s.pos:s.pos+len(text)]) != text {
		return false
	}
	s.pos += len(text)
	return true
}

// end fails where anything follows.
func (s *scanner) end() {
	if s.err == nil && s.pos != len(s.data) {
		s.fail("trailing data")
	}
}

// integer reads a canonical decimal that int64 holds.
func (s *scanner) integer() int64 {
	if s.err != nil {
		return 0
	}
	start := s.pos
	negative := s.accept("-")
	first := s.pos
	var magnitude uint64
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		digit := uint64(s.data[s.pos] - '0')
		if magnitude > (math.MaxInt64+1-digit)/10 {
			s.pos = start
			s.fail("integer beyond int64")
			return 0
		}
		magnitude = magnitude*10 + digit
		s.pos++
	}
	digits := s.pos - first
	switch {
	case digits == 0:
		s.fail("want an integer")
	case digits > 1 && s.data[first] == '0', negative && magnitude == 0:
		s.pos = start
		s.fail("integer not in canonical form")
	case !negative && magnitude > math.MaxInt64:
		s.pos = start
		s.fail("integer beyond int64")
	case negative:
		return -int64(magnitude) // 2^63 converts to MinInt64, whose negation is itself
	default:
		return int64(magnitude)
	}
	return 0
}

// text reads a string without U+0000. The result may alias the record's bytes.
func (s *scanner) text() []byte {
	s.literal(`"`)
	if s.err != nil {
		return nil
	}
	start := s.pos
	stop := bytes.IndexAny(s.data[start:], `"\`)
	if stop < 0 {
		s.fail("unterminated string")
		return nil
	}
	s.pos += stop
	plain := s.data[start:s.pos]
	if s.data[s.pos] == '\\' {
		plain = s.escaped(start)
	}
	s.literal(`"`)
	s.checkPlain(start)
	return plain
}

// checkPlain refuses raw control characters and broken UTF-8 between start and the position.
func (s *scanner) checkPlain(start int) {
	if s.err != nil {
		return
	}
	raw := s.data[start:s.pos]
	for i, c := range raw {
		if c < 0x20 {
			s.pos = start + i
			s.fail("raw control character in a string")
			return
		}
	}
	if !utf8.Valid(raw) {
		s.pos = start
		s.fail("string is not UTF-8")
	}
}

// escaped continues a string that began at start and has its first escape at the position.
func (s *scanner) escaped(start int) []byte {
	begin := len(s.scratch)
	s.scratch = append(s.scratch, s.data[start:s.pos]...)
	for s.err == nil && s.pos < len(s.data) && s.data[s.pos] != '"' {
		if s.data[s.pos] == '\\' {
			s.scratch = append(s.scratch, s.escape())
			continue
		}
		s.scratch = append(s.scratch, s.data[s.pos])
		s.pos++
	}
	return s.scratch[begin:len(s.scratch):len(s.scratch)]
}

// escape reads one escape sequence in its canonical spelling: short where a short one exists, else \u00xx in lower
// case for a control character. U+0000 is refused: no name may contain it.
func (s *scanner) escape() byte {
	for _, short := range shortEscapes {
		if s.accept(short.text) {
			return short.value
		}
	}
	const hex = "0123456789abcdef"
	rest := s.data[s.pos:]
	if len(rest) >= 6 && string(rest[:4]) == `\u00` {
		high, low := bytes.IndexByte([]byte(hex), rest[4]), bytes.IndexByte([]byte(hex), rest[5])
		value := byte(high<<4 | low)
		if (high == 0 || high == 1) && low >= 0 && value != 0 && !hasShortEscape(value) {
			s.pos += 6
			return value
		}
	}
	s.fail("escape not in canonical form")
	return 0
}

var shortEscapes = [...]struct {
	text  string
	value byte
}{
	{`\"`, '"'}, {`\\`, '\\'}, {`\n`, '\n'}, {`\t`, '\t'}, {`\r`, '\r'}, {`\b`, '\b'}, {`\f`, '\f'},
}

func hasShortEscape(value byte) bool {
	for _, short := range shortEscapes {
		if short.value == value {
			return true
		}
	}
	return false
}
