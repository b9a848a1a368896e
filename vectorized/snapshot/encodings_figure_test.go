//go:build figure

package snapshot

import (
	"bytes"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/lz4"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding"

	"amends.dev/amends/vectorized"
)

var (
	historyDir = flag.String("history", "", "folder of a generated history")
	groupRows  = flag.Int("group", 1<<17, "rows of a row group")
	only       = flag.String("column", "", "one column")
	uuids      = flag.Bool("uuids", false, "transaction IDs that look like random UUIDs")
)

// usage is the processor time of this process so far in nanoseconds.
func usage(t testing.TB) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// measured is one column of a history, in memory.
type measured struct {
	spec     columnSpec
	integers []int64
	text     vectorized.Strings
}

// TestEncodings prints what each encoding and compression of each column costs: bytes, encoding and decoding. Run as
// go test -tags figure -run TestEncodings -v ./vectorized/snapshot -history DIR.
func TestEncodings(t *testing.T) {
	if *historyDir == "" {
		t.Skip("name a folder that `amendsctl bench generate --no-raw --dir` made with -history")
	}
	s := open(t, filepath.Join(*historyDir, "snapshot"))
	for _, c := range columnsOf(t, s) {
		if *only != "" && *only != c.spec.name {
			continue
		}
		encodings := []encoding.Encoding{&parquet.Plain, &parquet.RLEDictionary, &parquet.DeltaBinaryPacked, &parquet.ByteStreamSplit}
		if c.spec.kind == codeValue || c.spec.kind == textValue {
			encodings = []encoding.Encoding{&parquet.Plain, &parquet.RLEDictionary, &parquet.DeltaLengthByteArray, &parquet.DeltaByteArray}
		}
		for _, e := range encodings {
			for _, codec := range []compress.Codec{
				&parquet.Uncompressed, &lz4.Codec{Level: lz4.Fastest}, &parquet.Snappy, &zstd.Codec{Level: zstd.SpeedFastest}, &zstd.Codec{Level: zstd.SpeedDefault},
			} {
				c.measure(t, e, codec)
			}
		}
	}
}

// columnsOf decodes the first file of a history.
func columnsOf(t *testing.T, s *Snapshot) []measured {
	source := s.Typed()
	loaded, _, err := source.Load(t.Context(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	of := make([]measured, typedColumns)
	decoder := source.NewDecoder()
	for g := range loaded.Groups() {
		c, err := decoder.Columns(loaded, g)
		if err != nil {
			t.Fatal(err)
		}
		for i, values := range map[int][]int64{columnOffset: c.Offset, columnRevision: c.Revision, columnValidTime: c.ValidTime, columnQty: c.Qty} {
			of[i].integers = append(of[i].integers, values...)
		}
		for i, d := range map[int]vectorized.Dictionary{columnItem: c.Item, columnLocation: c.Location, columnKind: c.Kind} {
			for _, code := range d.Codes {
				of[i].add(d.Values[code])
			}
		}
		for i := range c.TxnID.Len() {
			id := c.TxnID.Value(i)
			if *uuids {
				sum := digest(id)
				id = []byte(sum[:8] + "-" + sum[8:12] + "-" + sum[12:16] + "-" + sum[16:20] + "-" + sum[20:32])
			}
			of[columnTxnID].add(id)
		}
	}
	for i := range of {
		of[i].spec = typed[i]
	}
	return slices.DeleteFunc(of, func(m measured) bool { return len(m.integers) == 0 && m.text.Len() == 0 })
}

// add adds a text.
func (m *measured) add(text []byte) {
	if m.text.Offsets == nil {
		m.text.Offsets = []uint32{0}
	}
	m.text.Data = append(m.text.Data, text...)
	m.text.Offsets = append(m.text.Offsets, uint32(len(m.text.Data)))
}

// rows is the number of values.
func (m *measured) rows() int { return max(len(m.integers), m.text.Len()) }

// encode writes the column as a file.
func (m *measured) encode(t *testing.T, e encoding.Encoding, codec compress.Codec) []byte {
	var node parquet.Node
	switch m.spec.kind {
	case codeValue, textValue:
		node = parquet.String()
	case nanosValue:
		node = parquet.Timestamp(parquet.Nanosecond)
	default:
		node = parquet.Int(64)
	}
	node = parquet.Optional(parquet.Compressed(parquet.Encoded(node, e), codec))
	var file bytes.Buffer
	w := parquet.NewGenericWriter[any](&file, parquet.NewSchema("x", parquet.Group{m.spec.name: node}))
	values := make([]parquet.Value, 0, *groupRows)
	for at := 0; at < m.rows(); at += *groupRows {
		values = values[:0]
		for i := at; i < min(at+*groupRows, m.rows()); i++ {
			v := parquet.Value{}
			if len(m.integers) > 0 {
				v = parquet.Int64Value(m.integers[i])
			} else {
				v = parquet.ByteArrayValue(m.text.Value(i))
			}
			values = append(values, v.Level(0, 1, 0))
		}
		if _, err := w.ColumnWriters()[0].WriteRowValues(values); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// measure prints one line.
func (m *measured) measure(t *testing.T, e encoding.Encoding, codec compress.Codec) {
	rows := m.rows()
	began := usage(t)
	data := m.encode(t, e, codec)
	encoded := usage(t) - began
	f := &loadedFile{file: File{Rows: int64(rows)}, wanted: []columnSpec{m.spec}}
	var reader [1]columnReader
	var pages decompressor
	best := int64(1 << 62)
	if err := f.open(data); err != nil {
		t.Fatal(err)
	}
	for range 7 {
		began := usage(t)
		for g := range f.groups {
			if err := f.readColumns(reader[:], &pages, g); err != nil {
				t.Fatal(err)
			}
		}
		best = min(best, usage(t)-began)
	}
	per := func(n int64) float64 { return float64(n) / float64(rows) }
	level := ""
	if z, ok := codec.(*zstd.Codec); ok {
		level = z.Level.String()
	}
	fmt.Printf("%-11s %-24v %-22s %6.2f B  encode %6.1f ns  decode %5.1f ns\n", m.spec.name, e, codec.String()+" "+level, per(int64(len(data))), per(encoded), per(best))
}
