package snapshot

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	foreignthrift "github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/oracletest"
)

// footed is a file with its metadata changed.
func footed(t *testing.T, data []byte, change func(m *format.FileMetaData)) []byte {
	t.Helper()
	p, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	m := *p.Metadata()
	change(&m)
	text, err := foreignthrift.Marshal(new(foreignthrift.CompactProtocol), &m)
	if err != nil {
		t.Fatal(err)
	}
	end := len(data) - 8 - int(binary.LittleEndian.Uint32(data[len(data)-8:]))
	out := append(slices.Clone(data[:end]), text...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(text))), "PAR1"...)
}

// TestRowGroupsWithoutRows puts row groups without rows before, between and behind those of each file, as writers may that end
// a group before anything came: nothing changes. A group that says to have rows and has none is refused.
func TestRowGroupsWithoutRows(t *testing.T) {
	c := oracletest.Mixed(t, 5, 150)
	s := export(t, limits{groupRows: 20, groupBytes: 1 << 20, fileGroups: 3}, filepath.Join(t.TempDir(), "set"), c.Namespace, c.Records)
	want := projections(t, c.Namespace, s)["reference"]
	empty := func(like format.RowGroup) format.RowGroup {
		g := format.RowGroup{Columns: slices.Clone(like.Columns)}
		for i := range g.Columns {
			m := &g.Columns[i].MetaData
			m.NumValues, m.TotalCompressedSize, m.TotalUncompressedSize, m.DictionaryPageOffset = 0, 0, 0, 0
		}
		return g
	}
	change := func(change func(m *format.FileMetaData)) {
		x := s.index
		for i, f := range x.Files {
			path := filepath.Join(s.dir, f.Name)
			data := footed(t, whole(t, path), change)
			write(t, path, data)
			x.Files[i].SHA256 = digest(data)
		}
		text, err := x.render()
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(s.dir, indexName), text)
	}
	change(func(m *format.FileMetaData) {
		var groups []format.RowGroup
		for _, g := range m.RowGroups {
			groups = append(groups, empty(g), g, empty(g))
		}
		for i := range groups {
			groups[i].Ordinal = int16(i)
		}
		m.RowGroups = groups
	})
	oracletest.Equal(t, "typed", typedOf(t, c.Namespace, s.dir, 2, 0), want)
	oracletest.Equal(t, "raw", rawOf(t, c.Namespace, s.dir, 2, 1), want)
	change(func(m *format.FileMetaData) { // the first group takes over the rows of the second
		m.RowGroups[0].NumRows, m.RowGroups[1].NumRows = m.RowGroups[1].NumRows, 0
	})
	_, err := arrow.Engine{}.ComputeColumns(t.Context(), c.Namespace, open(t, s.dir).Typed(), arrow.Options{})
	if err == nil || !strings.Contains(err.Error(), "part-") {
		t.Errorf("rows in a group without any: %v", err)
	}
}

// TestRefusedByName changes what the metadata of a typed file says of one column to something that is not read: the refusal names
// the file, and what it is.
func TestRefusedByName(t *testing.T) {
	c := oracletest.Mixed(t, 5, 40)
	s := export(t, standard, filepath.Join(t.TempDir(), "set"), c.Namespace, c.Records)
	first := s.index.Files[0]
	path := filepath.Join(s.dir, first.Name)
	good, index := whole(t, path), whole(t, filepath.Join(s.dir, indexName))
	if _, err := (arrow.Engine{}).ComputeColumns(t.Context(), c.Namespace, open(t, s.dir).Typed(), arrow.Options{}); err != nil {
		t.Fatalf("the set itself: %v", err)
	}
	at := func(m *format.FileMetaData, name string) *format.ColumnChunk {
		for i := range m.RowGroups[0].Columns {
			if m.RowGroups[0].Columns[i].MetaData.PathInSchema[0] == name {
				return &m.RowGroups[0].Columns[i]
			}
		}
		t.Fatalf("no column %s", name)
		return nil
	}
	element := func(m *format.FileMetaData, name string) *format.SchemaElement {
		for i := range m.Schema {
			if m.Schema[i].Name == name {
				return &m.Schema[i]
			}
		}
		t.Fatalf("no element %s", name)
		return nil
	}
	for what, refusal := range map[string]struct {
		change func(m *format.FileMetaData)
		says   string
	}{
		"brotli":        {func(m *format.FileMetaData) { at(m, "qty").MetaData.Codec = format.Brotli }, "compressed with BROTLI"},
		"the older lz4": {func(m *format.FileMetaData) { at(m, "item").MetaData.Codec = format.Lz4 }, "compressed with LZ4"},
		"lzo":           {func(m *format.FileMetaData) { at(m, "txn_id").MetaData.Codec = format.LZO }, "compressed with LZO"},
		"another file":  {func(m *format.FileMetaData) { at(m, "qty").FilePath = "elsewhere" }, "its pages do not lie in the file"},
		"another name":  {func(m *format.FileMetaData) { element(m, "qty").Name = "quantity" }, "no column qty"},
		"without a sign": {func(m *format.FileMetaData) {
			element(m, "qty").LogicalType = format.LogicalType{Value: &format.IntType{BitWidth: 64}}
		}, "column qty has type"},
		"without a sign, older": {func(m *format.FileMetaData) {
			element(m, "revision").LogicalType, element(m, "revision").ConvertedType = format.LogicalType{}, foreignthrift.New(deprecated.Uint64)
		}, "column revision has type"},
		"decimals": {func(m *format.FileMetaData) {
			element(m, "qty").LogicalType = format.LogicalType{Value: &format.DecimalType{Scale: 2, Precision: 18}}
		}, "column qty has type"},
		"two of a name": {func(m *format.FileMetaData) { element(m, "source_time").Name = "qty" }, "several columns qty"},
		"microseconds": {func(m *format.FileMetaData) {
			element(m, "valid_time").LogicalType = format.LogicalType{Value: &format.TimestampType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: &format.MicroSeconds{}}}}
		}, "column valid_time has type"},
	} {
		bad := footed(t, good, refusal.change)
		write(t, path, bad)
		write(t, filepath.Join(s.dir, indexName), sign([]byte(strings.Replace(string(index), first.SHA256, digest(bad), 1))))
		_, err := arrow.Engine{}.ComputeColumns(t.Context(), c.Namespace, open(t, s.dir).Typed(), arrow.Options{})
		if err == nil || !strings.Contains(err.Error(), refusal.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want a refusal of %s that says %q", what, err, first.Name, refusal.says)
		}
	}
}
