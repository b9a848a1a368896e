package snapshot

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	foreignfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"

	"amends.dev/amends/vectorized"
)

// sample is a column as a test writes it: a text for each row, nil for null.
type sample struct {
	name     string
	kind     valueKind
	node     parquet.Node
	encoding encoding.Encoding
}

// samples are the columns that the writer knows.
var samples = []sample{
	{"int32", int32Value, parquet.Int(32), &parquet.DeltaBinaryPacked},
	{"int32 plain", int32Value, parquet.Int(32), &parquet.Plain},
	{"int64", int64Value, parquet.Int(64), &parquet.DeltaBinaryPacked},
	{"int64 plain", int64Value, parquet.Int(64), &parquet.Plain},
	{"nanos", nanosValue, parquet.Timestamp(parquet.Nanosecond), &parquet.DeltaBinaryPacked},
	{"text", textValue, parquet.String(), &parquet.DeltaLengthByteArray},
	{"codes", codeValue, parquet.String(), &parquet.RLEDictionary},
	{"codes as text", textValue, parquet.String(), &parquet.RLEDictionary},
}

// layout is that of a file with this column alone.
func (s *sample) layout(t *testing.T, codec compress.Codec, optional bool) *fileLayout {
	t.Helper()
	node := parquet.Compressed(parquet.Encoded(s.node, s.encoding), codec)
	if optional {
		node = parquet.Optional(node)
	}
	l, err := newLayout(parquet.NewSchema("sample", parquet.Group{"v": node}), codec)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// cells are values of a column by row, nil for null. Integers are decimal.
type cells []any

// data are cells as a writer takes them. Codes stand for a dictionary that has a text twice and one that does not occur.
func (s *sample) data(rows cells) columnData {
	var c columnData
	var small int32s
	var large int64s
	text := vectorized.Strings{Offsets: []uint32{0}}
	codes := vectorized.Dictionary{Values: [][]byte{[]byte("does not occur")}}
	for _, v := range rows {
		if v == nil {
			c.levels = append(c.levels, 0)
			continue
		}
		c.levels = append(c.levels, 1)
		switch v := v.(type) {
		case int32:
			small = append(small, v)
		case int64:
			large = append(large, v)
		case string:
			text.Data = append(text.Data, v...)
			text.Offsets = append(text.Offsets, uint32(len(text.Data)))
			at := slices.IndexFunc(codes.Values, func(b []byte) bool { return string(b) == v })
			if at < 0 {
				at = len(codes.Values)
				codes.Values = append(codes.Values, []byte(v))
			}
			codes.Codes = append(codes.Codes, int32(at))
		}
	}
	if !slices.Contains(c.levels, 0) {
		c.levels = nil
	}
	switch {
	case s.encoding == encoding.Encoding(&parquet.RLEDictionary):
		c.codes = &codes
	case s.kind == textValue:
		c.values = (*texts)(&text)
	case s.kind == int32Value:
		c.values = small
	default:
		c.values = large
	}
	return c
}

// write writes groups of rows as a file.
func (s *sample) write(t *testing.T, l *fileLayout, e *encoder, groups []cells) []byte {
	t.Helper()
	var out bytes.Buffer
	f := &parquetFile{digest: sha256.New(), buffer: bufio.NewWriter(&out), layout: l}
	err := f.write([]byte(magic))
	for _, rows := range groups {
		err = errors.Join(err, f.group(e, len(rows), []columnData{s.data(rows)}))
	}
	if err = errors.Join(err, f.footer(), f.buffer.Flush()); err != nil {
		t.Fatal(err)
	}
	if f.size != int64(out.Len()) || f.sum() != digest(out.Bytes()) {
		t.Fatalf("%d bytes, %d were counted, or the digest is not theirs", out.Len(), f.size)
	}
	return out.Bytes()
}

// ours reads a group by the oracle's reader.
func (s *sample) ours(t *testing.T, data []byte, groups []cells) []cells {
	t.Helper()
	var rows int64
	for _, g := range groups {
		rows += int64(len(g))
	}
	f := &loadedFile{file: File{Rows: rows}, wanted: []columnSpec{{"v", s.kind}}}
	if err := f.open(slices.Clip(data)); err != nil {
		t.Fatal(err)
	}
	var all []cells
	var r [1]columnReader
	var pages decompressor
	for g := range f.groups {
		if err := f.readColumns(r[:], &pages, g); err != nil {
			t.Fatal(err)
		}
		all = append(all, s.cells(&r[0]))
	}
	return all
}

// cells are what a reader has read.
func (s *sample) cells(r *columnReader) cells {
	rows, n := cells{}, 0
	for row := range r.seen {
		if len(r.levels) > 0 && r.levels[row] == 0 {
			rows = append(rows, nil)
			continue
		}
		switch s.kind {
		case int32Value:
			rows = append(rows, r.small[n])
		case codeValue:
			rows = append(rows, string(r.dictionary.entries[r.small[n]]))
		case textValue:
			rows = append(rows, string(r.data[r.offsets[n]:r.offsets[n+1]]))
		default:
			rows = append(rows, r.integers[n])
		}
		n++
	}
	return rows
}

// theirs reads all groups by the Parquet library, which compares checksums.
func theirs(t *testing.T, data []byte) []cells {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var all []cells
	for _, group := range f.RowGroups() {
		rows := cells{}
		err := readColumn(group, 0, func(v parquet.Value) error {
			switch {
			case v.IsNull():
				rows = append(rows, nil)
			case v.Kind() == parquet.Int32:
				rows = append(rows, v.Int32())
			case v.Kind() == parquet.Int64:
				rows = append(rows, v.Int64())
			default:
				rows = append(rows, string(v.ByteArray()))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rows)
	}
	return all
}

// byArrow reads all rows by arrow-go.
func byArrow(t *testing.T, data []byte) cells {
	t.Helper()
	f, err := foreignfile.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return foreign{f}.column(t, 0)
}

// shapes are groups of rows by what is special about them; null stands for every row that is none.
func (s *sample) shapes() map[string][]cells {
	long := strings.Repeat("ü", 128)
	value := func(i int) any {
		switch s.kind {
		case int32Value:
			return int32(i*i - 7)
		case codeValue:
			return fmt.Sprint("text ", i%37)
		case textValue:
			return fmt.Sprint("text ", i)
		default:
			return int64(i)*1_000_003 - 5
		}
	}
	extremes := cells{"", long, "", strings.Repeat("x", 1<<16), "x"}
	switch s.kind {
	case int32Value:
		extremes = cells{int32(math.MinInt32), int32(math.MaxInt32), int32(0), int32(math.MinInt32)}
	case int64Value, nanosValue:
		extremes = cells{int64(math.MinInt64), int64(math.MaxInt64), int64(0), int64(math.MinInt64), int64(-1)}
	default:
	}
	many, some := cells{}, cells{}
	for i := range 3000 {
		many = append(many, value(i))
		if some = append(some, value(i)); i%5 == 3 || i > 1000 && i < 1100 {
			some[i] = nil
		}
	}
	shapes := map[string][]cells{
		"no rows": {}, "an empty group": {cells{}}, "one value": {{value(3)}}, "extremes": {extremes}, "many": {many, many[:1000], {}, many[:9]},
		"one null": {{nil}}, "only nulls": {make(cells, 1000), {nil, nil}}, "some nulls": {some, some[3:1050], make(cells, 8), some[1000:]},
	}
	if s.kind == textValue {
		large := strings.Repeat("0123456789abcdef", pageBytes/20)
		shapes["several pages"] = []cells{{large, large, "", large, "x"}}
		shapes["several pages with nulls"] = []cells{{nil, large, nil, nil, large, nil, "x", large, large + large, nil}}
	}
	return shapes
}

// TestColumnsRoundTrip writes each kind of column in each encoding, compression and shape, and reads it by the oracle's
// reader, by arrow-go and by the Parquet library.
func TestColumnsRoundTrip(t *testing.T) {
	e := &encoder{} // with what the column before left in it
	for _, s := range samples {
		for _, codec := range []compress.Codec{&parquet.Uncompressed, fast, &parquet.Zstd} {
			for _, optional := range []bool{true, false} {
				l := s.layout(t, codec, optional)
				for what, groups := range s.shapes() {
					if !optional && strings.Contains(what, "null") {
						continue
					}
					t.Run(fmt.Sprint(s.name, codec, optional, what), func(t *testing.T) {
						data := s.write(t, l, e, groups)
						if got := s.ours(t, data, groups); !slices.EqualFunc(got, groups, slices.Equal) {
							t.Errorf("read by us: %v, want %v", got, groups)
						}
						if got := byArrow(t, data); !slices.Equal(got, slices.Concat(groups...)) {
							t.Errorf("read by Arrow: %v, want %v", got, groups)
						}
						if codec == compress.Codec(fast) {
							return // the library loses what of LZ4 is longer than it guessed
						}
						if got := theirs(t, data); !slices.EqualFunc(got, groups, slices.Equal) {
							t.Errorf("read by the library: %v, want %v", got, groups)
						}
					})
				}
			}
		}
	}
}

// TestLayoutRefused refuses an encoding of text that pages are not made for.
func TestLayoutRefused(t *testing.T) {
	for _, e := range []encoding.Encoding{&parquet.DeltaLengthByteArray, &parquet.RLEDictionary, &parquet.Plain, &parquet.DeltaByteArray} {
		_, err := newLayout(parquet.NewSchema("sample", parquet.Group{"v": parquet.Encoded(parquet.String(), e)}), fast)
		if known := e == &parquet.DeltaLengthByteArray || e == &parquet.RLEDictionary; known != (err == nil) {
			t.Errorf("%v: %v", e, err)
		}
	}
}

// TestChunkMetadata compares what a footer says of a column with what was written: other readers leave row groups out by it.
func TestChunkMetadata(t *testing.T) {
	for _, c := range []struct {
		sample    sample
		rows      cells
		nulls     int64
		low, high []byte
	}{
		{samples[0], cells{int32(7), int32(-7), int32(0)}, 0, []byte{0xF9, 0xFF, 0xFF, 0xFF}, []byte{7, 0, 0, 0}},
		{samples[2], cells{nil, int64(3), int64(-2), nil, int64(258)}, 2, []byte{0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, []byte{2, 1, 0, 0, 0, 0, 0, 0}},
		{samples[2], cells{nil, nil}, 2, nil, nil},
		{samples[5], cells{"b", nil, "a"}, 1, nil, nil},
		{samples[6], cells{"b", nil, "a", "b"}, 1, nil, nil},
	} {
		data := c.sample.write(t, c.sample.layout(t, fast, true), &encoder{}, []cells{c.rows})
		f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		g := f.Metadata().RowGroups[0]
		m := g.Columns[0].MetaData
		s := m.Statistics
		if s.NullCount != c.nulls || !bytes.Equal(s.MinValue, c.low) || !bytes.Equal(s.MaxValue, c.high) {
			t.Errorf("%s, %v: %d nulls, from %x to %x", c.sample.name, c.rows, s.NullCount, s.MinValue, s.MaxValue)
		}
		rows := int64(len(c.rows))
		footer := int64(binary.LittleEndian.Uint32(data[len(data)-8:])) + 8
		pages := int64(len(data)-len(magic)) - footer // of the only column
		if m.NumValues != rows || g.NumRows != rows || f.NumRows() != rows || m.TotalCompressedSize != pages || g.TotalCompressedSize != pages {
			t.Errorf("%s: %d values, %d and %d rows, want %d; %d bytes of %d", c.sample.name, m.NumValues, g.NumRows, f.NumRows(), rows, m.TotalCompressedSize, pages)
		}
	}
}
