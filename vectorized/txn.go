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

// The layout. Short: Hi are bytes 0 to 7, little-endian, Lo bytes 8 to 14 and then the length. Long: Hi is the hash, Lo
// 39 bits of offset, 8 of arena, 9 of length, then the marker, which no length is.
const (
	shortMax    = 15
	longMarker  = 0xFF
	markerShift = 56
	lengthShift = markerShift - 9
	arenaShift  = lengthShift - 8
	offsetMask  = 1<<arenaShift - 1
	// MaxArenas bounds the number of arenas that IDs of one computation refer to.
	MaxArenas = 1 << (lengthShift - arenaShift)
)

// Arenas are the bytes of long IDs, by arena number.
type Arenas [][]byte

// pack packs an ID of 1 to 256 bytes. Bytes of a long one are appended to the arena of that number.
func pack(id []byte, seed maphash.Seed, arena *[]byte, number int) TxnID {
	if len(id) <= shortMax {
		return packShort(id)
	}
	at := uint64(len(*arena))
	*arena = append(*arena, id...)
	return TxnID{
		Hi: maphash.Bytes(seed, id),
		Lo: longMarker<<markerShift | uint64(len(id))<<lengthShift | uint64(number)<<arenaShift | at,
	}
}

// packShort packs up to 15 bytes.
func packShort(id []byte) TxnID {
	var b [16]byte
	copy(b[:], id)
	b[15] = byte(len(id))
	return TxnID{binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:])}
}

// packFrom packs the first n bytes, at most 15, of at least 16. Copying them to bytes of their own first, as packShort
// does, would make the processor wait, at each ID, until all rows before it are written to memory.
func packFrom(data []byte, n uint32) TxnID {
	m := &shortMasks[n%16]
	return TxnID{binary.LittleEndian.Uint64(data) & m.hi, binary.LittleEndian.Uint64(data[8:])&m.lo | m.length}
}

// shortMasks are, by the length of a short ID, the bits that its bytes take, and the length in its place.
var shortMasks = func() (all [16]struct{ hi, lo, length uint64 }) {
	for n := range uint64(len(all)) {
		all[n].hi = 1<<(8*min(n, 8)) - 1
		all[n].lo = 1<<(8*(max(n, 8)-8)) - 1
		all[n].length = n << markerShift
	}
	return all
}()

// long reports whether the bytes are in an arena.
func (t TxnID) long() bool { return t.Lo>>markerShift == longMarker }

// Append appends the ID's bytes.
func (t TxnID) Append(to []byte, arenas Arenas) []byte {
	if t.long() {
		at, n := t.Lo&offsetMask, t.Lo>>lengthShift&0x1FF
		return append(to, arenas[t.Lo>>arenaShift&(MaxArenas-1)][at:at+n]...)
	}
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], t.Hi)
	binary.LittleEndian.PutUint64(b[8:], t.Lo)
	return append(to, b[:b[15]]...)
}

// same reports whether two IDs are equal, byte by byte.
func (t *TxnID) same(other *TxnID, arenas Arenas) bool {
	return t.Hi == other.Hi && (t.Lo == other.Lo || t.sameLong(other, arenas))
}

// sameLong reports whether two IDs are long ones with the same bytes.
func (t *TxnID) sameLong(other *TxnID, arenas Arenas) bool {
	var a, b [256]byte
	return t.long() && other.long() && bytes.Equal(t.Append(a[:0], arenas), other.Append(b[:0], arenas))
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
