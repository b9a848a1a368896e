package snapshot

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	foreignfile "github.com/apache/arrow-go/v18/parquet/file"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
)

// many makes n records of one key with distinct transaction IDs of 60 bytes, every third one rejected.
func many(t testing.TB, n int) (*manifests.Namespace, []engine.Record) {
	t.Helper()
	ns, err := manifests.New("many", manifests.Spec{
		Source:    manifests.Source{Topic: "in", Partitions: 1},
		Output:    manifests.Output{Topic: "out", Partitions: 1},
		StockKeys: []manifests.StockKey{{Item: "widget", Location: "berlin"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	key := decode.BrokerKey("widget", "berlin")
	records := make([]engine.Record, n)
	for i := range records {
		kind := "NEW"
		if i%3 == 2 {
			kind = "new"
		}
		records[i] = engine.Record{Offset: int64(i), BrokerTime: int64(1767225600000 + i), Key: key, Value: fmt.Appendf(nil,
			`{"txn_id":"%060d","revision":%d,"kind":"%s","stock_key":{"item":"widget","location":"berlin"},`+
				`"valid_time":"2026-01-%02dT00:00:00.%09dZ","qty":%d,"source_time":"2026-01-01T00:00:00Z"}`, i, i+1, kind, i%28+1, i, i%121-60)}
	}
	return ns, records
}

// TestB107OtherReader reads a typed and a raw file of several row groups with another Parquet library, arrow-go's, and
// finds every value and every null where it was written.
func TestB107OtherReader(t *testing.T) {
	ns, records := many(t, 200_000)
	dir := filepath.Join(t.TempDir(), "set")
	s := export(t, standard, dir, ns, records)
	names := s.Files()
	if len(names) != 2 {
		t.Fatalf("%d files", len(names))
	}
	part := newForeign(t, filepath.Join(dir, names[0].Name))
	raw := newForeign(t, filepath.Join(dir, names[1].Name))
	if part.file.NumRowGroups() < 2 {
		t.Fatal("only one row group")
	}
	offsets, revisions := part.column(t, partOffset), part.column(t, partRevision)
	ids, reasons := part.column(t, partTxnID), part.column(t, partRejectReason)
	values := raw.column(t, rawValue)
	told, same := part.column(t, partBrokerTime), raw.column(t, partBrokerTime)
	for i, r := range records {
		want := []any{int64(i), int64(i + 1), fmt.Sprintf("%060d", i), nil, string(r.Value), r.BrokerTime, r.BrokerTime}
		if i%3 == 2 {
			want = []any{int64(i), nil, nil, "invalid_kind", string(r.Value), r.BrokerTime, r.BrokerTime}
		}
		got := []any{offsets[i], revisions[i], ids[i], reasons[i], values[i], told[i], same[i]}
		for j := range want {
			if got[j] != want[j] {
				t.Fatalf("row %d: %v, want %v", i, got, want)
			}
		}
	}
}

// foreign is a file opened with arrow-go.
type foreign struct{ file *foreignfile.Reader }

func newForeign(t *testing.T, path string) foreign {
	t.Helper()
	f, err := foreignfile.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return foreign{f}
}

// column reads all values of a column, nil for null.
func (f foreign) column(t *testing.T, column int) []any {
	t.Helper()
	var all []any
	for g := range f.file.NumRowGroups() {
		group := f.file.RowGroup(g)
		reader, err := group.Column(column)
		if err != nil {
			t.Fatal(err)
		}
		for left := group.NumRows(); left > 0; {
			n, values := batch(t, reader, left)
			all = append(all, values...)
			if left -= n; n == 0 {
				t.Fatalf("column %d ends early", column)
			}
		}
	}
	return all
}

// batch reads some values and puts the nulls between them.
func batch(t *testing.T, reader foreignfile.ColumnChunkReader, n int64) (int64, []any) {
	t.Helper()
	n = min(n, 4096)
	levels := make([]int16, n)
	values := make([]any, 0, n)
	var read int64
	var err error
	switch r := reader.(type) {
	case *foreignfile.Int64ColumnChunkReader:
		out := make([]int64, n)
		if read, _, err = r.ReadBatch(n, out, levels, nil); err == nil {
			for _, v := range out {
				values = append(values, v)
			}
		}
	case *foreignfile.Int32ColumnChunkReader:
		out := make([]int32, n)
		if read, _, err = r.ReadBatch(n, out, levels, nil); err == nil {
			for _, v := range out {
				values = append(values, v)
			}
		}
	case *foreignfile.ByteArrayColumnChunkReader:
		out := make([]parquet.ByteArray, n)
		if read, _, err = r.ReadBatch(n, out, levels, nil); err == nil {
			for _, v := range out {
				values = append(values, string(v))
			}
		}
	default:
		t.Fatalf("%T", reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	if reader.Descriptor().MaxDefinitionLevel() == 0 {
		return read, values[:read]
	}
	spaced := make([]any, 0, read)
	for _, level := range levels[:read] {
		if level == 0 {
			spaced = append(spaced, nil)
			continue
		}
		spaced, values = append(spaced, values[0]), values[1:]
	}
	return read, spaced
}

// BenchmarkExport writes a million records; BenchmarkTyped reads the typed columns of as many.
func BenchmarkExport(b *testing.B) {
	ns, records := many(b, 1_000_000)
	for b.Loop() {
		export(b, standard, filepath.Join(b.TempDir(), "set"), ns, records)
	}
}

// BenchmarkTyped reads the typed columns of a million records, digests included.
func BenchmarkTyped(b *testing.B) {
	ns, records := many(b, 1_000_000)
	s := export(b, standard, filepath.Join(b.TempDir(), "set"), ns, records)
	for b.Loop() {
		source := s.Typed()
		decoder := source.NewDecoder()
		for i := range source.Parts() {
			part, _, err := source.Load(context.Background(), i, nil)
			if err != nil {
				b.Fatal(err)
			}
			for group := range part.Groups() {
				if _, err := decoder.Columns(part, group); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

// BenchmarkRaw reads the raw columns of a million records.
func BenchmarkRaw(b *testing.B) {
	ns, records := many(b, 1_000_000)
	s := export(b, standard, filepath.Join(b.TempDir(), "set"), ns, records)
	for b.Loop() {
		rows(b, s)
	}
}
