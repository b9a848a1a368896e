package decode_test

import (
	"bytes"
	"slices"
	"testing"

	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/synthetic"
)

// message is a record as a broker delivers it.
type message struct {
	partition  int32
	key, value []byte
}

// syntheticRecords returns a history as oracle/synthetic makes it, and a decoder for it.
func syntheticRecords(tb testing.TB, rows, keys int64) (*decode.Decoder, []message) {
	tb.Helper()
	h, err := synthetic.New(synthetic.Config{Rows: rows, Keys: keys, Raw: true})
	if err != nil {
		tb.Fatal(err)
	}
	records := make([]message, 0, rows)
	for p := range h.Rows() {
		for run := range h.Partition(int32(p)) {
			raw := run.Raw // valid until the next run
			raw.Key.Data, raw.Value.Data = bytes.Clone(raw.Key.Data), bytes.Clone(raw.Value.Data)
			for i := range raw.Rows {
				records = append(records, message{int32(p), raw.Key.Value(i), raw.Value.Value(i)})
			}
		}
	}
	return decode.New(h.Namespace), records
}

// layouts are ways to write a record: the first is the usual one, the others are left to the scanner.
var layouts = []struct {
	name   string
	change func(value []byte) []byte
}{
	{"usual", bytes.Clone},
	{"shuffled", func(value []byte) []byte { // the first member is the last
		first, rest, _ := bytes.Cut(value[1:len(value)-1], []byte(`,"revision"`))
		return slices.Concat([]byte(`{"revision"`), rest, []byte(","), first, []byte("}"))
	}},
	{"spaced", func(value []byte) []byte {
		return bytes.ReplaceAll(bytes.ReplaceAll(value, []byte(`":`), []byte(`": `)), []byte(`,"`), []byte(`, "`))
	}},
	{"escaped", func(value []byte) []byte { return bytes.Replace(value, []byte(`:"T`), []byte(`:"\u0054`), 1) }},
}

// BenchmarkDecode decodes records of as many stock keys as ten million synthetic ones have.
func BenchmarkDecode(b *testing.B) {
	d, records := syntheticRecords(b, 100_000, 40_000)
	records = slices.DeleteFunc(records, func(m message) bool {
		_, reason := d.Decode(m.partition, m.key, m.value)
		return reason != decode.Accepted
	})
	for _, layout := range layouts {
		b.Run(layout.name, func(b *testing.B) {
			changed := slices.Clone(records)
			for i := range changed {
				changed[i].value = layout.change(changed[i].value)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				m := &changed[i%len(changed)]
				if _, reason := d.Decode(m.partition, m.key, m.value); reason != decode.Accepted {
					b.Fatalf("%s: %s", m.value, reason)
				}
			}
		})
	}
}
