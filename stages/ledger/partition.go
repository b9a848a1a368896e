package ledger

import "encoding/binary"

// PartitionOf is the fixed partition mapping of source and output topics (S3, design section 3): Kafka's murmur2 of
// the record key with the sign bit masked, modulo the partition count. partitions must be at least 1.
//
// Masking is not the same as an absolute value or an unsigned remainder: those send half of all keys elsewhere (B023).
func PartitionOf(key []byte, partitions int32) int32 {
	return int32(murmur2(key)&0x7fffffff) % partitions
}

// murmur2 is the 32-bit MurmurHash2 variant of Kafka's org.apache.kafka.common.utils.Utils.murmur2.
func murmur2(data []byte) uint32 {
	const (
		seed  = 0x9747b28c
		mix   = 0x5bd1e995
		shift = 24
	)
	h := seed ^ uint32(len(data)) // the hash is defined on the length modulo 2^32
	for len(data) >= 4 {
		k := binary.LittleEndian.Uint32(data)
		k *= mix
		k ^= k >> shift
		k *= mix
		h *= mix
		h ^= k
		data = data[4:]
	}
	switch len(data) {
	case 3:
		h ^= uint32(data[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(data[1]) << 8
		fallthrough
	case 1:
		h ^= uint32(data[0])
		h *= mix
	}
	h ^= h >> 13
	h *= mix
	h ^= h >> 15
	return h
}
