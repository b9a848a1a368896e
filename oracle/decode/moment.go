package decode

import (
	"bytes"
	"encoding/binary"
)

// An instant in UTC up to its seconds, as little-endian pieces with 0 for each digit, and which bytes are digits: a byte of
// tens is at most 9 where it stays below its top bit when 0x76 is added; a separator must be 0, so that 0x7F is added.
const (
	dateText, dateLimit   = 0x2D30302D30303030, 0x7F76767F76767676 // 0000-00-
	clockText, clockLimit = 0x30303A3030543030, 0x76767F76767F7676 // 00T00:00
	endText, endLimit     = 0x30303A, 0x76767F                     // :00
)

// instant consumes an instant up to the closing quote, which it leaves: one in UTC by its places, any other as Instant reads
// it.
func (c *cursor) instant(to *int64) bool {
	text := c.src[c.at:]
	v, n, ok := utc(text)
	if !ok {
		if n = bytes.IndexByte(text[:min(len(text), maxInstantBytes+1)], '"'); n < 0 {
			return false
		}
		v, ok = Instant(text[:n])
	}
	*to = v
	c.at += n
	return ok
}

// maxInstantBytes is the length of the longest instant: 2026-01-01T00:00:00.123456789+00:00.
const maxInstantBytes = 35

// utc reads an instant that ends in Z, with or without a fraction, and returns its length too.
func utc(text []byte) (v int64, length int, ok bool) {
	if len(text) < 20 {
		return 0, 0, false
	}
	date := binary.LittleEndian.Uint64(text) ^ dateText
	clock := binary.LittleEndian.Uint64(text[8:]) ^ clockText
	end := uint64(binary.LittleEndian.Uint32(text[16:])&0xFFFFFF) ^ endText
	if (date|(date+dateLimit)|clock|(clock+clockLimit)|end|(end+endLimit))&tops != 0 {
		return 0, 0, false
	}
	year := pair(date)*100 + pair(date>>16)
	month, day := pair(date>>40), pair(clock)
	hour, minute, second := pair(clock>>24), pair(clock>>48), pair(end>>8)
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59 {
		return 0, 0, false
	}
	nanos, n := fraction(text[19:])
	v, ok = nanosSinceEpoch(daysSinceEpoch(year, month, day)*86_400+hour*3600+minute*60+second, nanos)
	return v, 19 + n, ok && n > 0
}

// pair is the number of the two digits in the lowest bytes.
func pair(digits uint64) int64 { return int64(digits&15*10 + digits>>8&15) }

// nanosOf is how many nanoseconds one is in a place behind the point.
var nanosOf = [10]int64{1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1}

// fraction reads Z, or a fraction and Z, and returns nanoseconds and the length of both, 0 where it is neither.
func fraction(text []byte) (nanos int64, length int) {
	if text[0] == 'Z' {
		return 0, 1
	}
	if text[0] != '.' {
		return 0, 0
	}
	n := 1
	for ; n < len(text) && n <= 9 && text[n]-'0' <= 9; n++ {
		nanos = nanos*10 + int64(text[n]-'0')
	}
	if n == 1 || n == len(text) || text[n] != 'Z' {
		return 0, 0
	}
	return nanos * nanosOf[n-1], n + 1
}
