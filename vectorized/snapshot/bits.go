package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// errEncoded says that the values of a page end before their number is reached, or are none.
var errEncoded = errors.New("the values of a page are damaged")

// load reads 64 bits from any byte on.
func load(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

// beyond is a slice with the slack that is behind it.
func beyond(b []byte) []byte { return b[:len(b)+slack] }

// hybrid is a sequence of numbers of up to 32 bits in Parquet's mixture of runs and packed groups (RLE). It has slack
// behind it.
type hybrid struct {
	data  []byte
	at    int
	width uint
}

// run reads the next run of at most want numbers: count times value, or count numbers packed from byte at on.
func (h *hybrid) run(want int) (count int, value uint32, packed bool, at int, err error) {
	header, n := binary.Uvarint(h.data[h.at:])
	if n <= 0 || header>>1 == 0 {
		return 0, 0, false, 0, errEncoded
	}
	h.at += n
	if header&1 == 0 {
		size := int(h.width+7) / 8
		if len(h.data)-h.at < size {
			return 0, 0, false, 0, errEncoded
		}
		value = uint32(load(beyond(h.data), h.at)) & mask32(uint(size)*8)
		if value > mask32(h.width) {
			return 0, 0, false, 0, errEncoded
		}
		h.at += size
		return int(min(header>>1, uint64(want))), value, false, 0, nil
	}
	at = h.at
	count = want
	if header>>1 < uint64(want+7)/8 {
		count = int(header>>1) * 8
	}
	// The last group of eight may be cut behind the last number.
	size := len(h.data) - at
	if groups := header >> 1; groups <= uint64(size) {
		size = min(size, int(groups)*int(h.width))
	}
	if (count*int(h.width)+7)/8 > size {
		return 0, 0, false, 0, errEncoded
	}
	h.at += size
	return count, 0, true, at, nil
}

// mask32 has the given number of low bits.
func mask32(width uint) uint32 { return uint32(1<<width - 1) }

// appendCodes appends n codes of a page, which begins with their width, and checks that they are below limit.
func appendCodes(to []int32, data []byte, n, limit int) ([]int32, error) {
	if n == 0 {
		return to, nil
	}
	if len(data) == 0 || data[0] > 32 {
		return to, errEncoded
	}
	h := hybrid{data: data, at: 1, width: uint(data[0])}
	for n > 0 {
		count, value, packed, at, err := h.run(n)
		if err != nil {
			return to, err
		}
		old := len(to)
		to = grow(to, count)
		highest := value
		if packed {
			highest = unpackCodes(to[old:], beyond(data)[at:], h.width)
		} else {
			fill(to[old:], int32(value))
		}
		if int64(highest) >= int64(limit) {
			return to, errCode
		}
		n -= count
	}
	return to, nil
}

// unpackCodes unpacks numbers and returns the largest.
func unpackCodes(to []int32, data []byte, width uint) uint32 {
	mask, highest, bit := mask32(width), uint32(0), uint(0)
	for i := range to {
		v := uint32(load(data, int(bit>>3))>>(bit&7)) & mask
		highest = max(highest, v)
		to[i] = int32(v)
		bit += width
	}
	return highest
}

// appendLevels appends n levels of 0 or 1 and returns how many are 1.
func appendLevels(to, data []byte, n int) ([]byte, int, error) {
	present := 0
	h := hybrid{data: data, width: 1}
	for n > 0 {
		count, value, packed, at, err := h.run(n)
		if err != nil {
			return to, 0, err
		}
		old := len(to)
		to = grow(to, count)
		if packed {
			for i := range count {
				level := data[at+i>>3] >> (i & 7) & 1
				to[old+i] = level
				present += int(level)
			}
		} else {
			fillLevels(to[old:], byte(value))
			present += count * int(value)
		}
		n -= count
	}
	return to, present, nil
}

// ones are levels of values that are present.
var ones = [1 << 12]byte(bytes.Repeat([]byte{1}, 1<<12))

// fillLevels sets all levels to 0 or 1.
func fillLevels(levels []byte, level byte) {
	if level == 0 {
		clear(levels)
		return
	}
	for len(levels) > 0 {
		levels = levels[copy(levels, ones[:]):]
	}
}

// allPresent reports whether n levels are a single run of 1, as writers encode them where nothing is null.
func allPresent(data []byte, n int) bool {
	h := hybrid{data: data, width: 1}
	count, value, packed, _, err := h.run(n)
	return err == nil && !packed && value == 1 && count == n
}

// grow makes a slice longer by n elements, with anything in them.
func grow[T any](s []T, n int) []T {
	if cap(s)-len(s) < n {
		grown := make([]T, len(s), len(s)+n+len(s)/2+64)
		copy(grown, s)
		s = grown
	}
	return s[:len(s)+n]
}

// fill sets all elements.
func fill[T any](s []T, v T) {
	for i := range s {
		s[i] = v
	}
}

// deltas is a sequence of integers in Parquet's DELTA_BINARY_PACKED. It has slack behind it.
type deltas struct {
	data           []byte
	perMini, minis int
	total          uint64
	first          int64
}

// newDeltas reads the header.
func newDeltas(data []byte) (deltas, error) {
	t := thrift{data: data} // the same variable-length numbers
	block, minis, total := t.uvarint(), t.uvarint(), t.uvarint()
	first := t.uvarint()
	if t.err != nil || minis == 0 || block > 1<<20 || minis > block || block%minis != 0 || block/minis%8 != 0 {
		return deltas{}, errEncoded
	}
	return deltas{
		data: data[t.at:], perMini: int(block / minis), minis: int(minis), total: total, first: int64(first>>1) ^ -int64(first&1),
	}, nil
}

// appendDeltas appends the n integers that data begins with, and returns the bytes behind them.
func appendDeltas[T int32 | int64](to []T, data []byte, n int) ([]T, []byte, error) {
	d, err := newDeltas(data)
	if err != nil {
		return to, nil, err
	}
	if d.total != uint64(n) {
		return to, nil, fmt.Errorf("%d values where there should be %d", d.total, n)
	}
	if n == 0 {
		return to, d.data, nil
	}
	last := T(d.first)
	to = append(to, last)
	for n--; n > 0; {
		at := d.minis
		low, size := binary.Varint(d.data)
		if size <= 0 || len(d.data)-size < at {
			return to, nil, errEncoded
		}
		widths := d.data[size : size+at]
		d.data = d.data[size+at:]
		for _, width := range widths {
			if n == 0 {
				break
			}
			count := min(n, d.perMini)
			if int(width) > widest[T]() || len(d.data) < (count*int(width)+7)/8 {
				return to, nil, errEncoded
			}
			old := len(to)
			to = grow(to, count)
			last = unpackDeltas(to[old:], beyond(d.data), uint(width), T(low), last)
			d.data = d.data[min(len(d.data), d.perMini*int(width)/8):]
			n -= count
		}
	}
	return to, d.data, nil
}

// widest is the number of bits of a type.
func widest[T int32 | int64]() int {
	if _, is := any(T(0)).(int64); is {
		return 64
	}
	return 32
}

// unpackDeltas adds up the differences to low that are packed, from last on, and returns the last sum. Sums wrap.
func unpackDeltas[T int32 | int64](to []T, data []byte, width uint, low, last T) T {
	bit := uint(0)
	switch {
	case width == 0:
		for i := range to {
			last += low
			to[i] = last
		}
	case width <= 57: // in 64 bits from any byte on
		mask := uint64(1)<<width - 1
		for i := range to {
			last += low + T(load(data, int(bit>>3))>>(bit&7)&mask)
			to[i] = last
			bit += width
		}
	default:
		mask := uint64(1)<<(width-1)<<1 - 1
		for i := range to {
			at, shift := int(bit>>3), bit&7
			v := load(data, at)>>shift | uint64(data[at+8])<<(64-shift)
			last += low + T(v&mask)
			to[i] = last
			bit += width
		}
	}
	return last
}
