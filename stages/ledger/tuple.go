package ledger

import "unicode/utf8"

// BrokerKey returns the broker record key of a stock key: the RFC 8785 array of its two strings, for example
// ["widget","berlin"] (design section 3). Item and location must be valid UTF-8.
func BrokerKey(item, location string) []byte {
	key := make([]byte, 0, len(item)+len(location)+len(`["",""]`))
	return appendTuple(key, item, location)
}

// appendTuple appends the canonical tuple text of parts: an RFC 8785 JSON array of strings. It is unambiguous for
// any parts, where joining with a separator is not (B075).
func appendTuple(dst []byte, parts ...string) []byte {
	dst = append(dst, '[')
	for i, part := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, part)
	}
	return append(dst, ']')
}

// appendString appends s as an RFC 8785 JSON string: only the quote, the backslash and control characters below
// U+0020 are escaped. encoding/json is no substitute, because it escapes U+2028 and, by default, <, > and &.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= utf8.RuneSelf || (c >= ' ' && c != '"' && c != '\\') {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		if short := shortEscape(c); short != 0 {
			dst = append(dst, '\\', short)
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// shortEscape returns the letter of the two-character escape of c, or 0 where RFC 8785 wants the \u form.
func shortEscape(c byte) byte {
	switch c {
	case '"', '\\':
		return c
	case '\b':
		return 'b'
	case '\t':
		return 't'
	case '\n':
		return 'n'
	case '\f':
		return 'f'
	case '\r':
		return 'r'
	default:
		return 0
	}
}
