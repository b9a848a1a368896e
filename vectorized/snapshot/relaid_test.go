package snapshot

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"

	"amends.dev/amends/oracle/oracletest"
)

// layout is how a writer lays the files of a set out.
type layout struct {
	codec   compress.Codec
	pages   int // version of data pages
	page    int // bytes that end one
	group   int // rows of a row group
	dict    int // bytes of a dictionary, beyond which values are plain; 0: without bound
	whole   encoding.Encoding
	text    encoding.Encoding
	must    bool // columns are required, where no value is null
	ordered bool // columns in the order of their names, which is another one
}

// String names a layout in failures.
func (l layout) String() string {
	return fmt.Sprintf("%v, v%d pages of %d bytes, groups of %d, dictionary of %d, %v, %v, required %v, ordered %v", l.codec, l.pages, l.page, l.group, l.dict, l.whole, l.text, l.must, l.ordered)
}

// The choices of writers.
var (
	codecs    = []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd, &parquet.Lz4Raw}
	integersE = []encoding.Encoding{&parquet.Plain, &parquet.RLEDictionary, &parquet.DeltaBinaryPacked, &parquet.ByteStreamSplit}
	textsE    = []encoding.Encoding{&parquet.Plain, &parquet.RLEDictionary, &parquet.DeltaLengthByteArray, &parquet.DeltaByteArray}
)

// anyLayout draws one.
func anyLayout(r *rand.Rand) layout {
	return layout{
		codec: codecs[r.IntN(len(codecs))], pages: 1 + r.IntN(2), page: []int{1, 40, 300, 1 << 20}[r.IntN(4)], group: []int{1, 5, 100, 600, 1 << 20}[r.IntN(5)],
		dict: []int{0, 8, 60}[r.IntN(3)], whole: integersE[r.IntN(len(integersE))], text: textsE[r.IntN(len(textsE))], must: r.IntN(2) == 0, ordered: r.IntN(2) == 0,
	}
}

// column is one of a file, with all its values.
type columnOf struct {
	name   string
	node   parquet.Node
	values []parquet.Value
	nulls  int
}

// relay rewrites the files of one kind of a set in another layout, and makes snapshot.json agree.
func relay(t oracletest.TB, s *Snapshot, kind string, l layout) {
	t.Helper()
	x := s.index
	for i, f := range x.Files {
		if f.Name[:len(kind)+1] != kind+"-" {
			continue
		}
		path := filepath.Join(s.dir, f.Name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("%v", err)
		}
		data = relaid(t, data, l)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatalf("%v", err)
		}
		x.Files[i].SHA256 = digest(data)
	}
	text, err := x.render()
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, indexName), text, 0o600)
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// relaid is a file in another layout.
func relaid(t oracletest.TB, data []byte, l layout) []byte {
	t.Helper()
	return relaidWith(t, data, l, func([]columnOf) {})
}

// relaidWith is a file in another layout, with its values changed.
func relaidWith(t oracletest.TB, data []byte, l layout, change func([]columnOf)) []byte {
	t.Helper()
	columns := columnsIn(t, data)
	change(columns)
	for i := range columns {
		columns[i].lay(l)
	}
	var out bytes.Buffer
	options := []parquet.WriterOption{schemaOf(columns, l), parquet.DataPageVersion(l.pages), parquet.PageBufferSize(l.page)}
	if l.dict > 0 {
		options = append(options, parquet.DictionaryMaxBytes(int64(l.dict)))
	}
	w := parquet.NewGenericWriter[any](&out, options...)
	rows := len(columns[0].values)
	for start := 0; start < rows; start += l.group {
		end := min(start+l.group, rows)
		for at, writer := range w.ColumnWriters() {
			c := byName(columns, w.Schema().Columns()[at][0])
			for i := start; i < end; i += 3 { // few at a time, so that pages end
				batch := make([]parquet.Value, 0, 3)
				for _, v := range c.values[i:min(i+3, end)] {
					batch = append(batch, v.Level(0, c.level(v), at))
				}
				if _, err := writer.WriteRowValues(batch); err != nil {
					t.Fatalf("%v: %v", l, err)
				}
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatalf("%v: %v", l, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatalf("%v: %v", l, err)
	}
	return out.Bytes()
}

// schemaOf is that of columns, in their order or in that of their names.
func schemaOf(columns []columnOf, l layout) *parquet.Schema {
	group := parquet.Group{}
	for i := range columns {
		group[columns[i].name] = columns[i].node
	}
	if l.ordered {
		return parquet.NewSchema("set", group)
	}
	return parquet.NewSchema("set", inOrder{group, columns})
}

// inOrder is a group whose columns keep their order.
type inOrder struct {
	parquet.Group
	columns []columnOf
}

// Fields implements parquet.Node.
func (g inOrder) Fields() []parquet.Field {
	var all []parquet.Field
	for i := range g.columns {
		for _, f := range g.Group.Fields() {
			if f.Name() == g.columns[i].name {
				all = append(all, f)
			}
		}
	}
	return all
}

// columnsIn reads all columns of a file with the chunk reader: the Parquet library does not read all that it writes, a page
// of nulls only for one.
func columnsIn(t oracletest.TB, data []byte) []columnOf {
	t.Helper()
	p, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatalf("%v", err)
	}
	var all []columnOf
	for i, field := range p.Schema().Fields() {
		c := columnOf{name: field.Name(), node: parquet.Leaf(field.Type())}
		if field.Optional() {
			c.node = parquet.Optional(c.node)
		}
		groups := p.Metadata().RowGroups
		for g := range groups {
			if err := c.add(data, &groups[g], i); err != nil {
				t.Fatalf("column %s: %v", c.name, err)
			}
		}
		all = append(all, c)
	}
	return all
}

// add adds the values of the column in one row group.
func (c *columnOf) add(data []byte, group *format.RowGroup, i int) error {
	kind := map[parquet.Kind]valueKind{parquet.Int32: int32Value, parquet.Int64: int64Value, parquet.ByteArray: textValue}[c.node.Type().Kind()]
	rows := int(group.NumRows)
	chunk, err := newChunk(data, &group.Columns[i], c.node.Optional(), rows)
	var r columnReader
	var d decompressor
	if err == nil {
		err = r.read(chunk, kind, &d)
	}
	if err != nil {
		return err
	}
	n := 0
	for row := range rows {
		switch {
		case len(r.levels) > 0 && r.levels[row] == 0:
			c.values, c.nulls = append(c.values, parquet.NullValue()), c.nulls+1
			continue
		case kind == int32Value:
			c.values = append(c.values, parquet.Int32Value(r.small[n]))
		case kind == int64Value:
			c.values = append(c.values, parquet.Int64Value(r.integers[n]))
		default:
			c.values = append(c.values, parquet.ByteArrayValue(r.data[r.offsets[n]:r.offsets[n+1]]))
		}
		n++
	}
	return nil
}

// lay gives a column what a layout says.
func (c *columnOf) lay(l layout) {
	must := c.node.Required() || l.must && c.nulls == 0
	node, e := parquet.Leaf(c.node.Type()), l.whole
	if c.node.Type().Kind() == parquet.ByteArray {
		e = l.text
	}
	node = parquet.Encoded(node, e)
	if !must {
		node = parquet.Optional(node)
	}
	c.node = parquet.Compressed(node, l.codec)
}

// level is the definition level of a value.
func (c *columnOf) level(v parquet.Value) int {
	if c.node.Required() || v.IsNull() {
		return 0
	}
	return 1
}

// byName finds a column.
func byName(columns []columnOf, name string) *columnOf {
	for i := range columns {
		if columns[i].name == name {
			return &columns[i]
		}
	}
	return nil
}

// TestLayouts reads one history in every encoding under every compression and both versions of pages, in small pages and
// row groups, typed and raw: the result is that of the reference engine.
func TestLayouts(t *testing.T) {
	c := oracletest.Mixed(t, 11, 700)
	s := export(t, standard, filepath.Join(t.TempDir(), "set"), c.Namespace, c.Records)
	want := projections(t, c.Namespace, s)["reference"]
	for _, codec := range codecs {
		for version := 1; version <= 2; version++ {
			for i := range integersE {
				l := layout{codec: codec, pages: version, page: 200, group: 300, whole: integersE[i], text: textsE[i], must: i%2 == 0, ordered: version == 1}
				if i == 1 {
					l.dict = 30 // a few entries, the rest is plain
				}
				relay(t, s, KindTyped, l)
				relay(t, s, KindRaw, l)
				oracletest.Equal(t, l.String()+", typed", typedOf(t, c.Namespace, s.dir, 2, 0), want)
				oracletest.Equal(t, l.String()+", raw", rawOf(t, c.Namespace, s.dir, 2, 0), want)
			}
		}
	}
}
