package snapshot

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"

	"amends.dev/amends/vectorized"
)

// Positions of the columns that a computation needs, in typed.
const (
	columnPartition = iota
	columnOffset
	columnItem
	columnLocation
	columnTxnID
	columnRevision
	columnKind
	columnValidTime
	columnQty
	columnReject
	typedColumns
)

// valueKind says how a column is decoded.
type valueKind int

const (
	int32Value valueKind = iota
	int64Value
	nanosValue // int64 of nanoseconds, UTC
	codeValue  // text, as dictionary codes
	textValue
)

// columnSpec is a column that a computation needs. It is found by name, so that files of other writers may order columns
// otherwise and have more of them.
type columnSpec struct {
	name string
	kind valueKind
}

// typed are the columns of typed files.
var typed = []columnSpec{
	columnPartition: {"partition", int32Value},
	columnOffset:    {"offset", int64Value},
	columnItem:      {"item", codeValue},
	columnLocation:  {"location", codeValue},
	columnTxnID:     {"txn_id", textValue},
	columnRevision:  {"revision", int64Value},
	columnKind:      {"kind", codeValue},
	columnValidTime: {"valid_time", nanosValue},
	columnQty:       {"qty", int64Value},
	columnReject:    {"reject_reason", codeValue},
}

// ofAccepted are the columns that are null where a record was rejected.
var ofAccepted = []int{columnItem, columnLocation, columnTxnID, columnRevision, columnKind, columnValidTime, columnQty}

// Positions of the columns of raw files that a computation needs, in raw.
const (
	rawColumnPartition = iota
	rawColumnOffset
	rawColumnKey
	rawColumnValue
	rawColumnCount
)

// raw are the columns of raw files.
var raw = []columnSpec{
	rawColumnPartition: {"partition", int32Value},
	rawColumnOffset:    {"offset", int64Value},
	rawColumnKey:       {"key", textValue},
	rawColumnValue:     {"value", textValue},
}

// findColumns finds the columns of a file and refuses those of another type.
func findColumns(p *parquet.File, wanted []columnSpec) ([]int, error) {
	at := make([]int, len(wanted))
	for i, w := range wanted {
		column := p.Root().Column(w.name)
		if column == nil || !column.Leaf() {
			return nil, fmt.Errorf("it has no column %s", w.name)
		}
		if column.Repeated() {
			return nil, fmt.Errorf("column %s is repeated", w.name)
		}
		if !w.kind.fits(column.Type()) {
			return nil, fmt.Errorf("column %s has type %s", w.name, column.Type())
		}
		at[i] = column.Index()
	}
	return at, nil
}

// fits reports whether a column of a Parquet type can be decoded as this kind.
func (k valueKind) fits(t parquet.Type) bool {
	logical := t.LogicalType()
	switch k {
	case int32Value:
		return t.Kind() == parquet.Int32
	case int64Value:
		return t.Kind() == parquet.Int64 && !isTimestamp(logical)
	case nanosValue:
		return t.Kind() == parquet.Int64 && isTimestamp(logical) && isNanos(logical)
	case codeValue, textValue:
	}
	return t.Kind() == parquet.ByteArray
}

// isTimestamp reports whether a logical type is a timestamp.
func isTimestamp(l *format.LogicalType) bool {
	if l == nil {
		return false
	}
	_, ok := l.Value.(*format.TimestampType)
	return ok
}

// isNanos reports whether a timestamp counts nanoseconds.
func isNanos(l *format.LogicalType) bool {
	ts, _ := l.Value.(*format.TimestampType)
	_, ok := ts.Unit.Value.(*format.NanoSeconds)
	return ok
}

// columnReader collects the values of one column of one row group. Its memory is reused.
type columnReader struct {
	present  int    // values that are not null
	levels   []byte // by row, 1 where a value is present; empty where no value can be null
	integers []int64
	small    []int32 // int32 values, or codes
	data     []byte
	offsets  []uint32
	entries  [][]byte // of the dictionary
	codes    map[string]int32
	rows     []uint32
}

// int32s are the values of an int32 column.
func (c *columnReader) int32s() []int32 { return c.small }

// dictionary are the values of a column of codes.
func (c *columnReader) dictionary() vectorized.Dictionary {
	return vectorized.Dictionary{Codes: c.small, Values: c.entries}
}

// strings are the values of a text column.
func (c *columnReader) strings() vectorized.Strings {
	return vectorized.Strings{Data: c.data, Offsets: c.offsets}
}

// positions are the row numbers of the values that are present.
func (c *columnReader) positions() []uint32 {
	c.rows = c.rows[:0]
	if len(c.levels) == 0 { // none can be null
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

// read collects the values of a column chunk.
func (c *columnReader) read(chunk parquet.ColumnChunk, kind valueKind, rows int) (err error) {
	c.present, c.levels, c.integers, c.small = 0, c.levels[:0], c.integers[:0], c.small[:0]
	c.data, c.offsets, c.entries, c.codes = c.data[:0], append(c.offsets[:0], 0), c.entries[:0], nil
	pages := chunk.Pages()
	defer func() { err = errors.Join(err, pages.Close()) }()
	seen := 0
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		err = c.page(page, kind)
		seen += int(page.NumRows())
		parquet.Release(page)
		if err != nil {
			return err
		}
	}
	if seen != rows {
		return fmt.Errorf("%d values in a group of %d rows", seen, rows)
	}
	if len(c.levels) == 0 {
		c.present = rows
	}
	return nil
}

// page collects the values of one page.
func (c *columnReader) page(page parquet.Page, kind valueKind) error {
	if levels := page.DefinitionLevels(); len(levels) > 0 {
		c.levels = append(c.levels, levels...)
		c.present += len(levels) - int(page.NumNulls())
	}
	values := page.Data()
	dictionary := page.Dictionary()
	switch kind {
	case int32Value:
		return expand(&c.small, &values, dictionary, (*encoding.Values).Int32)
	case int64Value, nanosValue:
		return expand(&c.integers, &values, dictionary, (*encoding.Values).Int64)
	case codeValue:
		return c.code(&values, dictionary)
	case textValue:
	}
	return c.text(&values, dictionary)
}

// errCode is a code outside its dictionary.
var errCode = errors.New("a code is outside its dictionary")

// expand appends integers, looked up where they are codes.
func expand[T int32 | int64](to *[]T, values *encoding.Values, dictionary parquet.Dictionary, of func(*encoding.Values) []T) error {
	if dictionary == nil {
		*to = append(*to, of(values)...)
		return nil
	}
	entryValues := dictionary.Page().Data()
	entries := of(&entryValues)
	for _, code := range values.Int32() {
		if uint(code) >= uint(len(entries)) {
			return errCode
		}
		*to = append(*to, entries[code])
	}
	return nil
}

// code appends codes of a text column. The dictionary of a chunk comes with its first page; values that a writer did not
// put into it get codes of our own.
func (c *columnReader) code(values *encoding.Values, dictionary parquet.Dictionary) error {
	if dictionary != nil {
		if len(c.entries) == 0 {
			c.adopt(dictionary)
		}
		c.small = append(c.small, values.Int32()...)
		return nil
	}
	if c.codes == nil {
		c.codes = make(map[string]int32, len(c.entries))
		for code, entry := range c.entries {
			c.codes[string(entry)] = int32(code)
		}
	}
	data, offsets := values.ByteArray()
	for i := 1; i < len(offsets); i++ {
		value := data[offsets[i-1]:offsets[i]]
		code, ok := c.codes[string(value)]
		if !ok {
			code = int32(len(c.entries))
			entry := append([]byte(nil), value...)
			c.entries, c.codes[string(entry)] = append(c.entries, entry), code
		}
		c.small = append(c.small, code)
	}
	return nil
}

// adopt copies the entries of a chunk's dictionary.
func (c *columnReader) adopt(dictionary parquet.Dictionary) {
	values := dictionary.Page().Data()
	data, offsets := values.ByteArray()
	data = append([]byte(nil), data...)
	for i := 1; i < len(offsets); i++ {
		c.entries = append(c.entries, data[offsets[i-1]:offsets[i]])
	}
}

// text appends text.
func (c *columnReader) text(values *encoding.Values, dictionary parquet.Dictionary) error {
	if dictionary == nil {
		data, offsets := values.ByteArray()
		if len(offsets) == 0 {
			return nil
		}
		base := uint32(len(c.data)) - offsets[0]
		c.data = append(c.data, data[offsets[0]:offsets[len(offsets)-1]]...)
		for _, o := range offsets[1:] {
			c.offsets = append(c.offsets, base+o)
		}
		return nil
	}
	entryValues := dictionary.Page().Data()
	data, offsets := entryValues.ByteArray()
	for _, code := range values.Int32() {
		if uint(code)+1 >= uint(len(offsets)) {
			return errCode
		}
		c.data = append(c.data, data[offsets[code]:offsets[code+1]]...)
		c.offsets = append(c.offsets, uint32(len(c.data)))
	}
	return nil
}
