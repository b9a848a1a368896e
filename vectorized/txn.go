package vectorized

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// TxnID is a transaction ID of 1 to 256 bytes in 128 bits: up to 15 bytes exactly, longer ones as hash and place of
// their bytes in an Arena. Only IDs of one Arenas are comparable.
type TxnID struct{ Hi, Lo uint64 }

// The layout of Lo. Short: bytes 8 to 14 of the ID, then its length. Long: 39 bits of offset, 8 of arena, 9 of length,
// then the marker, which no length is. Hi holds bytes 0 to 7, or the hash.
const (
	shortMax    = 15
	longMarker  = 0xFF
	lengthShift = 8
	arenaShift  = lengthShift + 9
	offsetShift = arenaShift + 8
	// MaxArenas bounds the number of arenas that IDs of one computation refer to.
	MaxArenas = 1 << (offsetShift - arenaShift)
)

// Arenas are the bytes of long IDs, by arena number.
type Arenas [][]byte

// Pack packs an ID of 1 to 256 bytes. Bytes of a long one are appended to the arena of that number.
func Pack(id []byte, seed maphash.Seed, arena *[]byte, number int) TxnID {
	if len(id) <= shortMax {
		return packShort(id)
	}
	at := uint64(len(*arena))
	*arena = append(*arena, id...)
	return TxnID{
		Hi: maphash.Bytes(seed, id),
		Lo: at<<offsetShift | uint64(number)<<arenaShift | uint64(len(id))<<lengthShift | longMarker,
	}
}

// packShort packs up to 15 bytes.
func packShort(id []byte) TxnID {
	var b [16]byte
	copy(b[:], id)
	b[15] = byte(len(id))
	return TxnID{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// long reports whether the bytes are in an arena.
func (t TxnID) long() bool { return t.Lo&0xFF == longMarker }

// Append appends the ID's bytes.
func (t TxnID) Append(to []byte, arenas Arenas) []byte {
	if t.long() {
		at, n := t.Lo>>offsetShift, t.Lo>>lengthShift&0x1FF
		return append(to, arenas[t.Lo>>arenaShift&(MaxArenas-1)][at:at+n]...)
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], t.Hi)
	binary.BigEndian.PutUint64(b[8:], t.Lo)
	return append(to, b[:b[15]]...)
}

// same reports whether two IDs are equal, byte by byte.
func (t TxnID) same(other TxnID, arenas Arenas) bool {
	if t == other {
		return true
	}
	return t.Hi == other.Hi && t.long() && other.long() && t.sameBytes(other, arenas)
}

// sameBytes compares two long IDs of one hash.
func (t TxnID) sameBytes(other TxnID, arenas Arenas) bool {
	var a, b [256]byte
	return bytes.Equal(t.Append(a[:0], arenas), other.Append(b[:0], arenas))
}

// hash spreads IDs over a table. Equal IDs have equal hashes.
func (t TxnID) hash(seed uint64) uint64 {
	lo := t.Lo
	if t.long() {
		lo = longMarker // the place of the bytes is not the ID's
	}
	hi, low := bits.Mul64(t.Hi^seed, lo^0x9E3779B97F4A7C15)
	return mix(hi ^ low ^ t.Hi)
}

// mix makes the low bits depend on all bits.
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xD6E8FEB86659FD93
	return x ^ x>>29
}
