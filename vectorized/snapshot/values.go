package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"amends.dev/amends/vectorized"
)

// columnReader collects the values of one column of one row group. Its memory is reused.
type columnReader struct {
	seen, present int    // rows, and those that are not null
	levels        []byte // by row, 1 where a value is present; empty where all are
	integers      []int64
	small         []int32 // int32 values, or codes
	data          []byte
	offsets       []uint32
	rows          []uint32
	dictionary    dictionary
	text          textDecoder
}

// dictionary are the entries that the codes of a column chunk refer to.
type dictionary struct {
	known    bool
	integers []int64
	small    []int32
	entries  [][]byte
	data     []byte           // of entries
	codes    map[string]int32 // by entry, where pages have values that are not encoded with it
}

// int32s are the values of an int32 column.
func (c *columnReader) int32s() []int32 { return c.small }

// coded are the values of a column of codes. Each code is that of an entry.
func (c *columnReader) coded() vectorized.Dictionary {
	return vectorized.Dictionary{Codes: c.small, Values: c.dictionary.entries}
}

// strings are the values of a text column.
func (c *columnReader) strings() vectorized.Strings {
	return vectorized.Strings{Data: c.data, Offsets: c.offsets}
}

// positions are the row numbers of the values that are present.
func (c *columnReader) positions() []uint32 {
	c.rows = c.rows[:0]
	if len(c.levels) == 0 {
		for row := range c.present {
			c.rows = append(c.rows, uint32(row))
		}
	}
	for row, level := range c.levels {
		if level == 1 {
			c.rows = append(c.rows, uint32(row))
		}
	}
	return c.rows
}

// reset empties the reader.
func (c *columnReader) reset() {
	c.seen, c.present = 0, 0
	c.levels, c.integers, c.small = c.levels[:0], c.integers[:0], c.small[:0]
	c.data, c.offsets = c.data[:0], append(c.offsets[:0], 0)
	d := &c.dictionary
	d.known, d.integers, d.small, d.entries, d.data, d.codes = false, d.integers[:0], d.small[:0], d.entries[:0], d.data[:0], nil
}

// read collects the values of a column chunk.
func (c *columnReader) read(from chunk, kind valueKind, d *decompressor) error {
	c.reset()
	for c.seen < from.rows {
		p, err := from.next(d)
		if err != nil {
			return err
		}
		if p.kind == format.DictionaryPage {
			err = c.readDictionary(&p, kind)
		} else {
			err = c.page(&p, from.optional, from.rows-c.seen, kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// page collects the values of a data page of at most so many rows.
func (c *columnReader) page(p *page, optional bool, most int, kind valueKind) error {
	if p.rows > most {
		return fmt.Errorf("%d values more than its group has rows", p.rows-most)
	}
	present := p.rows
	if optional {
		var err error
		if present, err = c.level(p); err != nil {
			return err
		}
	}
	if p.nulls >= 0 && p.rows-present != p.nulls {
		return fmt.Errorf("a page has %d nulls, its header says %d", p.rows-present, p.nulls)
	}
	c.seen, c.present = c.seen+p.rows, c.present+present
	switch kind {
	case int32Value:
		return c.readInt32(p, present)
	case int64Value, nanosValue:
		return c.readInt64(p, present)
	case codeValue:
		return c.readCodes(p, present)
	case textValue:
	}
	return c.readText(p, present)
}

// level reads the levels of a page and returns how many values are present. Levels are kept from the first null on.
func (c *columnReader) level(p *page) (int, error) {
	if allPresent(p.levels, p.rows) {
		if len(c.levels) > 0 {
			old := len(c.levels)
			c.levels = grow(c.levels, p.rows)
			fillLevels(c.levels[old:], 1)
		}
		return p.rows, nil
	}
	if len(c.levels) < c.seen {
		c.levels = grow(c.levels, c.seen)
		fillLevels(c.levels, 1)
	}
	var present int
	var err error
	c.levels, present, err = appendLevels(c.levels, p.levels, p.rows)
	return present, err
}

// errCode is a code outside its dictionary.
var errCode = errors.New("a code is outside its dictionary")

// errDictionary says that a chunk's dictionary is missing, comes twice or comes late.
var errDictionary = errors.New("a page has no dictionary, or two")

// encodingError refuses an encoding.
func encodingError(p *page) error { return fmt.Errorf("a page is encoded as %v", p.encoding) }

// plainDictionary is the older name of dictionary pages and of codes into them, which some writers still use.
const plainDictionary format.Encoding = 2

// isDictionary reports whether the values of a page are codes.
func isDictionary(p *page) bool {
	return p.encoding == format.RLEDictionary || p.encoding == plainDictionary
}

// readDictionary keeps the entries of a chunk's dictionary.
func (c *columnReader) readDictionary(p *page, kind valueKind) (err error) {
	d := &c.dictionary
	if d.known || c.seen > 0 {
		return errDictionary
	}
	if p.encoding != format.Plain && p.encoding != plainDictionary {
		return encodingError(p)
	}
	d.known = true
	switch kind {
	case int32Value:
		d.small, err = appendInt32s(d.small, p.values, p.rows)
	case int64Value, nanosValue:
		d.integers, err = appendInt64s(d.integers, p.values, p.rows)
	case codeValue, textValue:
		d.data = append(d.data, p.values...) // a page is valid until the next one
		d.entries, err = appendEntries(d.entries, d.data, p.rows)
	}
	return err
}

// readInt32 appends the values of a page of int32.
func (c *columnReader) readInt32(p *page, n int) (err error) {
	old := len(c.small)
	switch p.encoding {
	case format.Plain:
		c.small, err = appendInt32s(c.small, p.values, n)
	case format.DeltaBinaryPacked:
		c.small, _, err = appendDeltas(c.small, p.values, n)
	case format.ByteStreamSplit:
		c.small, err = appendSplit(c.small, p.values, n, 4)
	case format.RLEDictionary, plainDictionary:
		entries := c.dictionary.small
		if c.small, err = appendCodes(c.small, p.values, n, len(entries)); err == nil {
			for i, code := range c.small[old:] {
				c.small[old+i] = entries[code]
			}
		}
	default:
		err = encodingError(p)
	}
	return err
}

// readInt64 appends the values of a page of int64.
func (c *columnReader) readInt64(p *page, n int) (err error) {
	switch p.encoding {
	case format.Plain:
		c.integers, err = appendInt64s(c.integers, p.values, n)
	case format.DeltaBinaryPacked:
		c.integers, _, err = appendDeltas(c.integers, p.values, n)
	case format.ByteStreamSplit:
		c.integers, err = appendSplit(c.integers, p.values, n, 8)
	case format.RLEDictionary, plainDictionary:
		entries := c.dictionary.integers
		if c.small, err = appendCodes(c.small[:0], p.values, n, len(entries)); err == nil {
			old := len(c.integers)
			c.integers = grow(c.integers, n)
			for i, code := range c.small {
				c.integers[old+i] = entries[code]
			}
		}
	default:
		err = encodingError(p)
	}
	return err
}

// appendInt32s appends n plain values.
func appendInt32s(to []int32, data []byte, n int) ([]int32, error) {
	if n > len(data)/4 {
		return to, errEncoded
	}
	old := len(to)
	to = grow(to, n)
	for i := range n {
		to[old+i] = int32(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return to, nil
}

// appendInt64s appends n plain values.
func appendInt64s(to []int64, data []byte, n int) ([]int64, error) {
	if n > len(data)/8 {
		return to, errEncoded
	}
	old := len(to)
	to = grow(to, n)
	for i := range n {
		to[old+i] = int64(load(data, 8*i))
	}
	return to, nil
}

// appendSplit appends n values of which all lowest bytes come first, then all second ones, and so on.
func appendSplit[T int32 | int64](to []T, data []byte, n, width int) ([]T, error) {
	if n > len(data)/width {
		return to, errEncoded
	}
	size := len(data) / width
	old := len(to)
	to = grow(to, n)
	for i := range n {
		var v T
		for b := range width {
			v |= T(data[b*size+i]) << (8 * b)
		}
		to[old+i] = v
	}
	return to, nil
}

// readCodes appends the codes of a page of text. Values that a writer did not put into the chunk's dictionary get codes of
// our own behind it.
func (c *columnReader) readCodes(p *page, n int) (err error) {
	d := &c.dictionary
	if isDictionary(p) {
		c.small, err = appendCodes(c.small, p.values, n, len(d.entries))
		return err
	}
	if d.codes == nil {
		d.codes = make(map[string]int32, len(d.entries))
		for code, entry := range d.entries {
			d.codes[string(entry)] = int32(code)
		}
	}
	c.data, c.offsets = c.data[:0], append(c.offsets[:0], 0)
	if err := c.readText(p, n); err != nil {
		return err
	}
	for i := 1; i < len(c.offsets); i++ {
		value := c.data[c.offsets[i-1]:c.offsets[i]]
		code, ok := d.codes[string(value)]
		if !ok {
			code = int32(len(d.entries))
			entry := append([]byte(nil), value...)
			d.entries, d.codes[string(entry)] = append(d.entries, entry), code
		}
		c.small = append(c.small, code)
	}
	return nil
}
