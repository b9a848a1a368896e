package decode

import "math/bits"

// BrokerKey renders the record key of a stock key: the RFC 8785 array ["item","location"]. RFC 8785 escapes quote,
// backslash and control characters only, so <, >, & and U+2028 stand as they are.
func BrokerKey(item, location string) []byte {
	out := make([]byte, 0, len(item)+len(location)+7)
	out = append(out, '[')
	out = appendQuoted(out, item)
	out = append(out, ',')
	out = appendQuoted(out, location)
	return append(out, ']')
}

// appendQuoted appends s as an RFC 8785 string.
func appendQuoted(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	const short = "btn\x00fr" // the letters of U+0008 to U+000D; U+000B has none
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c >= '\b' && c <= '\r' && c != '\v':
			out = append(out, '\\', short[c-'\b'])
		case c < ' ':
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

// Partition maps a record key to one of n partitions as Kafka's default partitioner does: murmur2 with the sign bit
// masked, modulo n (B023). n is at least 1.
func Partition(key []byte, n int32) int32 {
	return int32(murmur2(key)&0x7fffffff) % n
}

// murmur2 is Kafka's variant: 32 bit, seed 0x9747b28c.
func murmur2(data []byte) uint32 {
	const m = 0x5bd1e995
	h := uint32(0x9747b28c) ^ uint32(len(data))
	for ; len(data) >= 4; data = data[4:] {
		k := bits.ReverseBytes32(uint32(data[0])<<24 | uint32(data[1])<<16 | uint32(data[2])<<8 | uint32(data[3]))
		k *= m
		h = h*m ^ (k^k>>24)*m
	}
	for i := len(data) - 1; i >= 0; i-- {
		h ^= uint32(data[i]) << (8 * i)
	}
	if len(data) > 0 {
		h *= m
	}
	h = (h ^ h>>13) * m
	return h ^ h>>15
}
