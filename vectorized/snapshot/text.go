package snapshot

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/parquet-go/format"
)

// maxText bounds the text of one column of a row group: encodings can make much of a few bytes.
const maxText = 1 << 30

// textDecoder is memory for decoding text.
type textDecoder struct{ lengths, prefixes, codes []int32 }

// readText appends the values of a page of text.
func (c *columnReader) readText(p *page, n int) error {
	switch p.encoding {
	case format.Plain:
		return c.plainText(p.values, n)
	case format.DeltaLengthByteArray:
		return c.lengthText(p.values, n)
	case format.DeltaByteArray:
		return c.prefixText(p.values, n)
	case format.RLEDictionary, plainDictionary:
		return c.dictionaryText(p.values, n)
	default:
		return encodingError(p)
	}
}

// reserve checks that more bytes of text are allowed, and makes room for them and slack behind them.
func (c *columnReader) reserve(n int) error {
	if n > maxText-len(c.data) {
		return fmt.Errorf("more than %d bytes of text in a row group", maxText)
	}
	if cap(c.data)-len(c.data) < n+2*slack {
		c.data = grow(c.data, n+2*slack)[:len(c.data)]
	}
	return nil
}

// appendEntries appends n plain texts as parts of data.
func appendEntries(to [][]byte, data []byte, n int) ([][]byte, error) {
	if n > len(data)/4 {
		return to, errEncoded
	}
	for range n {
		if len(data) < 4 {
			return to, errEncoded
		}
		size := binary.LittleEndian.Uint32(data)
		if uint64(size) > uint64(len(data)-4) {
			return to, errEncoded
		}
		end := 4 + int(size)
		to = append(to, data[4:end:end])
		data = data[end:]
	}
	return to, nil
}

// plainText appends n texts, each behind its length.
func (c *columnReader) plainText(data []byte, n int) error {
	if n > len(data)/4 {
		return errEncoded
	}
	if err := c.reserve(len(data) - 4*n); err != nil {
		return err
	}
	for range n {
		if len(data) < 4 {
			return errEncoded
		}
		size := binary.LittleEndian.Uint32(data)
		if uint64(size) > uint64(len(data)-4) {
			return errEncoded
		}
		end := 4 + int(size)
		c.data = append(c.data, data[4:end]...)
		c.offsets = append(c.offsets, uint32(len(c.data)))
		data = data[end:]
	}
	return nil
}

// sum adds up lengths of which none may be negative.
func sum(lengths []int32) (total int, ok bool) {
	signs := int32(0)
	for _, n := range lengths {
		signs |= n
		total += int(n)
	}
	return total, signs >= 0
}

// lengthText appends n texts, whose lengths come first.
func (c *columnReader) lengthText(data []byte, n int) (err error) {
	t := &c.text
	if t.lengths, data, err = appendDeltas(t.lengths[:0], data, n); err != nil {
		return err
	}
	total, ok := sum(t.lengths)
	if !ok || total > len(data) {
		return errEncoded
	}
	if err := c.reserve(total); err != nil {
		return err
	}
	at := uint32(len(c.data))
	c.data = append(c.data, data[:total]...)
	old := len(c.offsets)
	c.offsets = grow(c.offsets, n)
	for i, length := range t.lengths {
		at += uint32(length)
		c.offsets[old+i] = at
	}
	return nil
}

// prefixText appends n texts, each as the length of what it has in common with the one before and the rest.
func (c *columnReader) prefixText(data []byte, n int) (err error) {
	t := &c.text
	if t.prefixes, data, err = appendDeltas(t.prefixes[:0], data, n); err != nil {
		return err
	}
	if t.lengths, data, err = appendDeltas(t.lengths[:0], data, n); err != nil {
		return err
	}
	prefixes, ok := sum(t.prefixes)
	suffixes, okay := sum(t.lengths)
	if !ok || !okay || suffixes > len(data) {
		return errEncoded
	}
	if err := c.reserve(prefixes + suffixes); err != nil {
		return err
	}
	c.offsets, c.data, err = joinPrefixes(c.offsets, c.data, beyond(data), t.prefixes, t.lengths)
	return err
}

// joinPrefixes appends texts to data, which has room for them and two slacks, and their ends to offsets. The suffixes have
// slack behind them. The beginning of the text before is kept in two words, so that short ones are put together without
// waiting for memory.
func joinPrefixes(offsets []uint32, data, suffixes []byte, prefixes, lengths []int32) ([]uint32, []byte, error) {
	at, previous, last := len(data), len(data), 0 // where the next one goes, and the one before with its length
	var low, high uint64                          // its first 16 bytes
	data = data[:cap(data)]
	old := len(offsets)
	offsets = grow(offsets, len(lengths))
	ends := offsets[old:]
	lengths = lengths[:len(prefixes)]
	for i, prefix := range prefixes {
		p, n := int(prefix), int(lengths[i])
		if p > last {
			return offsets[:old], data[:at], errEncoded
		}
		if to := data[at:]; n <= slack && p+n <= 2*slack {
			// Shifts by 64 bits and more, also by what is negative, give 0.
			s, shift := load(suffixes, 0), uint(8*p)
			low = low&(1<<shift-1) | s<<shift
			high = high&(1<<(max(shift, 64)-64)-1) | s>>(64-shift) | s<<(shift-64)
			binary.LittleEndian.PutUint64(to, low)
			binary.LittleEndian.PutUint64(to[slack:], high)
		} else {
			copy(to, data[previous:previous+p])
			copy(to[p:], suffixes[:n])
			low, high = load(to, 0), load(to, slack)
		}
		suffixes = suffixes[n:]
		previous, last = at, p+n
		at += last
		ends[i] = uint32(at)
	}
	return offsets, data[:at], nil
}

// dictionaryText appends n texts that are entries of the dictionary.
func (c *columnReader) dictionaryText(data []byte, n int) (err error) {
	t, entries := &c.text, c.dictionary.entries
	if t.codes, err = appendCodes(t.codes[:0], data, n, len(entries)); err != nil {
		return err
	}
	total := 0
	for _, code := range t.codes {
		total += len(entries[code])
	}
	if err := c.reserve(total); err != nil {
		return err
	}
	for _, code := range t.codes {
		c.data = append(c.data, entries[code]...)
		c.offsets = append(c.offsets, uint32(len(c.data)))
	}
	return nil
}
