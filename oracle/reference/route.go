package reference

import (
	"fmt"
	"strings"
)

// brokerKey is the canonical record key of a stock key: an RFC 8785 array of two strings (design section 3).
func brokerKey(item, location string) []byte {
	return []byte("[" + quoted(item) + "," + quoted(location) + "]")
}

// quoted is a string as RFC 8785 writes it: short escapes where there are some, \u00xx for other control characters,
// everything else as it is.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch r {
		case '"':
			b.WriteString(`\"`)
		case '\\':
			b.WriteString(`\\`)
		case '\b':
			b.WriteString(`\b`)
		case '\t':
			b.WriteString(`\t`)
		case '\n':
			b.WriteString(`\n`)
		case '\f':
			b.WriteString(`\f`)
		case '\r':
			b.WriteString(`\r`)
		default:
			if r < 0x20 {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}

// partitionOf is Kafka's default mapping: toPositive(murmur2(key)) % partitions, where toPositive clears the sign bit
// (B023).
func partitionOf(key []byte, partitions int32) int32 {
	return (murmur2(key) & 0x7fffffff) % partitions
}

// murmur2 follows org.apache.kafka.common.utils.Utils.murmur2 line by line, in Java's signed arithmetic.
func murmur2(data []byte) int32 {
	const (
		seed = -1756908916 // 0x9747b28c
		m    = 0x5bd1e995
		r    = 24
	)
	length := int32(len(data))
	h := int32(seed) ^ length
	length4 := int(length / 4)
	for i := range length4 {
		i4 := i * 4
		k := int32(data[i4]) + int32(data[i4+1])<<8 + int32(data[i4+2])<<16 + int32(data[i4+3])<<24
		k *= m
		k ^= shiftRight(k, r)
		k *= m
		h *= m
		h ^= k
	}
	tail := length4 * 4
	switch length % 4 {
	case 3:
		h ^= int32(data[tail+2]) << 16
		fallthrough
	case 2:
		h ^= int32(data[tail+1]) << 8
		fallthrough
	case 1:
		h ^= int32(data[tail])
		h *= m
	}
	h ^= shiftRight(h, 13)
	h *= m
	h ^= shiftRight(h, 15)
	return h
}

// shiftRight is Java's >>>.
func shiftRight(v int32, by uint) int32 { return int32(uint32(v) >> by) }
