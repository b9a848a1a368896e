package snapshot

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/reference"
)

// accepted makes n accepted records of one key, with an ID of many bytes, and behind each third one a rejected one.
func accepted(t *testing.T, n int) (*manifests.Namespace, []engine.Record) {
	t.Helper()
	ns, err := manifests.New("tampered", manifests.Spec{
		LedgerOrigin: 1_767_225_600_000_000_000, Source: manifests.Source{Topic: "in", Partitions: 1}, Output: manifests.Output{Topic: "out", Partitions: 1},
		StockKeys: []manifests.StockKey{{Item: "widget", Location: "berlin"}, {Item: "other", Location: "berlin"}, {Item: "other", Location: "oslo"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, records := many(t, n)
	for i := range records {
		records[i].Key = decode.BrokerKey("widget", "berlin")
	}
	return ns, records
}

// TestTamperedColumns changes values of typed columns to what no export can have written, with digests that agree: each is an
// error that names the file. What is checked is what docs/reference/snapshot.md says.
func TestTamperedColumns(t *testing.T) {
	ns, records := accepted(t, 30)
	text := func(s string) parquet.Value { return parquet.ByteArrayValue([]byte(s)) }
	number := parquet.Int64Value
	null := parquet.NullValue()
	type change = func(value func(column string, row int, v parquet.Value))
	for what, c := range map[string]struct {
		change change
		says   string
	}{
		"nothing":                    {func(func(string, int, parquet.Value)) {}, ""},
		"a value and a reason":       {func(set func(string, int, parquet.Value)) { set("reject_reason", 0, text("null_value")) }, "a reject reason and a value, or neither"},
		"neither":                    {func(set func(string, int, parquet.Value)) { set("reject_reason", 2, null) }, "a reject reason and a value, or neither"},
		"a value missing":            {func(set func(string, int, parquet.Value)) { set("qty", 0, null) }, "column qty: a row has"},
		"a value missing of two":     {func(set func(string, int, parquet.Value)) { set("qty", 1, null) }, "row group 0: column qty: a row has"},
		"a value of another row":     {func(set func(string, int, parquet.Value)) { set("qty", 0, null); set("qty", 2, number(1)) }, "row 0, column qty"},
		"another partition":          {func(set func(string, int, parquet.Value)) { set("partition", 4, parquet.Int32Value(1)) }, "a row of partition 1"},
		"an offset twice":            {func(set func(string, int, parquet.Value)) { set("offset", 5, number(4)) }, "out of order"},
		"offsets exchanged":          {func(set func(string, int, parquet.Value)) { set("offset", 5, number(6)); set("offset", 6, number(5)) }, "out of order"},
		"an offset before the first": {func(set func(string, int, parquet.Value)) { set("offset", 0, number(-1)) }, "out of order"},
		"an offset behind the last":  {func(set func(string, int, parquet.Value)) { set("offset", 29, number(30)) }, "do not fit"},
		"a group too far":            {func(set func(string, int, parquet.Value)) { set("offset", 9, number(20)) }, "do not fit"},
		"an unknown reason":          {func(set func(string, int, parquet.Value)) { set("reject_reason", 2, text("because")) }, "none that the decoder gives"},
		"a foreign item":             {func(set func(string, int, parquet.Value)) { set("item", 0, text("gadget")) }, "no stock key"},
		"a pair that is none":        {func(set func(string, int, parquet.Value)) { set("location", 0, text("oslo")) }, "no stock key"},
		"another kind":               {func(set func(string, int, parquet.Value)) { set("kind", 0, text("new")) }, "kind is none of"},
		"a cancelled quantity":       {func(set func(string, int, parquet.Value)) { set("kind", 0, text("CANCEL")) }, "a CANCEL with a quantity"},
		"revision 0":                 {func(set func(string, int, parquet.Value)) { set("revision", 0, number(0)) }, "revision is below 1"},
		"before the origin":          {func(set func(string, int, parquet.Value)) { set("valid_time", 0, number(1_767_225_599_999_999_999)) }, "before the ledger origin"},
		"an ID with U+0000":          {func(set func(string, int, parquet.Value)) { set("txn_id", 0, text("a\x00b")) }, "txn_id is not"},
		"an ID that is no text":      {func(set func(string, int, parquet.Value)) { set("txn_id", 0, text("\xff")) }, "txn_id is not"},
		"an ID of 257 bytes":         {func(set func(string, int, parquet.Value)) { set("txn_id", 0, text(strings.Repeat("x", 257))) }, "txn_id is not"},
		"an empty ID":                {func(set func(string, int, parquet.Value)) { set("txn_id", 0, text("")) }, "txn_id is not"},
	} {
		t.Run(what, func(t *testing.T) {
			s := export(t, limits{groupRows: 10, groupBytes: 1 << 20, fileGroups: 3}, filepath.Join(t.TempDir(), "set"), ns, records)
			path := filepath.Join(s.dir, s.index.Files[0].Name)
			l := layout{codec: &parquet.Zstd, pages: 2, page: 1 << 20, group: 10, whole: &parquet.Plain, text: &parquet.Plain}
			if strings.HasSuffix(what, "of two") { // none of which is rejected
				l.group = 2
			}
			data := relaidWith(t, whole(t, path), l, func(columns []columnOf) {
				c.change(func(column string, row int, v parquet.Value) {
					at := byName(columns, column)
					at.values = slices.Clone(at.values)
					at.values[row] = v
				})
			})
			write(t, path, data)
			x := s.index
			x.Files[0].SHA256 = digest(data)
			index, err := x.render()
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(s.dir, indexName), index)
			_, err = arrow.Engine{}.ComputeColumns(t.Context(), ns, open(t, s.dir).Typed(), arrow.Options{})
			var fault *FileError
			switch {
			case c.says == "" && err != nil:
				t.Errorf("the twin: %v", err)
			case c.says != "" && (!errors.As(err, &fault) || fault.File != path || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%v, want a fault of the file that says %q", err, c.says)
			}
		})
	}
}

// TestB106GroupsDoNotOverlap: offsets rise through a whole file, over the borders of row groups too, which are decoded in any
// order. A history with gaps has room for a record that is there twice.
func TestB106GroupsDoNotOverlap(t *testing.T) {
	ns, records := accepted(t, 30)
	for i := range records {
		records[i].Offset *= 3 // groups begin at 0, 30 and 60
	}
	for what, c := range map[string]struct {
		row    int
		offset int64
		says   string
	}{
		"as it was":                 {9, 27, ""},
		"up to the next group":      {9, 29, ""},
		"twice":                     {9, 30, "out of order"},
		"overlapping":               {9, 31, "out of order"},
		"twice in the last groups":  {20, 57, "out of order"},
		"overlapping, last groups":  {20, 56, "out of order"},
		"behind the group before":   {20, 58, ""},
		"over a whole group, first": {9, 61, "out of order"},
	} {
		t.Run(what, func(t *testing.T) {
			s := export(t, limits{groupRows: 10, groupBytes: 1 << 20, fileGroups: 3}, filepath.Join(t.TempDir(), "set"), ns, records)
			x := s.index
			for i := range x.Files {
				path := filepath.Join(s.dir, x.Files[i].Name)
				l := layout{codec: &parquet.Zstd, pages: 2, page: 1 << 20, group: 10, whole: &parquet.Plain, text: &parquet.Plain}
				data := relaidWith(t, whole(t, path), l, func(columns []columnOf) {
					at := byName(columns, "offset")
					at.values = slices.Clone(at.values)
					at.values[c.row] = parquet.Int64Value(c.offset)
				})
				write(t, path, data)
				x.Files[i].SHA256 = digest(data)
			}
			index, err := x.render()
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(s.dir, indexName), index)
			s = open(t, s.dir)
			raw, err := s.Raw()
			if err != nil {
				t.Fatal(err)
			}
			for _, workers := range []int{1, 2, 8} {
				_, typedErr := arrow.Engine{}.ComputeColumns(t.Context(), ns, s.Typed(), arrow.Options{Workers: workers})
				_, rawErr := arrow.Engine{}.ComputeRaw(t.Context(), ns, raw, arrow.Options{Workers: workers})
				_, naiveErr := reference.Engine{}.Compute(t.Context(), ns, s.History())
				for i, err := range []error{typedErr, rawErr, naiveErr} {
					var fault *FileError
					if c.says == "" && err != nil {
						t.Errorf("reader %d, %d workers: %v", i, workers, err)
					} else if c.says != "" && (!errors.As(err, &fault) || !strings.Contains(err.Error(), c.says)) {
						t.Errorf("reader %d, %d workers: %v, want a fault of the file that says %q", i, workers, err, c.says)
					}
				}
			}
		})
	}
}
