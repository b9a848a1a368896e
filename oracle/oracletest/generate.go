package oracletest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
)

// Case is a random configuration with a random history.
type Case struct {
	// Namespace has few keys, so that records meet on them.
	Namespace *manifests.Namespace
	// Records are in offset order within each partition.
	Records []engine.Record
}

// names are items and locations that encoders, sorters and separators get wrong; none is a prefix of the tuple of
// another by accident only.
var names = []string{"a", "A", "a-b", "007", "no", `q"uote`, "<b>&", "é", "e\u0301", "\u2028", "x\x01", "\U0001F600", "b\\", "ab"}

// quantities meet at the bounds of int64 and around small thresholds.
var quantities = []int64{0, 1, -1, 50, -50, 7, -30, 9223372036854775807, -9223372036854775808, 4611686018427387904, -4611686018427387904}

// origins lie before and after the epoch.
var origins = []string{"1969-12-20T00:00:00Z", "2026-01-01T00:00:00Z", "1960-01-01T12:30:00.000000001Z"}

// Cases generates configurations and histories: mostly accepted records over few identities, revisions and days, so
// that duplicates, stale records and conflicts are common, with hostile records between them.
func Cases() *rapid.Generator[Case] {
	return rapid.Custom(func(t *rapid.T) Case {
		ns := drawNamespace(t)
		next := make([]int64, ns.Spec.Source.Partitions)
		records := make([]engine.Record, 0, 60)
		for i := range rapid.IntRange(0, 60).Draw(t, "records") {
			r := drawRecord(t, ns)
			r.Offset = next[r.Partition] + rapid.Int64Range(0, 2).Draw(t, "gap")
			r.BrokerTime = int64(1767225600000 + i)
			next[r.Partition] = r.Offset + 1
			records = append(records, r)
		}
		return Case{ns, records}
	})
}

// drawNamespace draws one to four distinct stock keys with openings and thresholds.
func drawNamespace(t *rapid.T) *manifests.Namespace {
	keys := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) manifests.StockKey {
		return manifests.StockKey{
			Item:             rapid.SampledFrom(names).Draw(t, "item"),
			Location:         rapid.SampledFrom(names[:3]).Draw(t, "location"),
			OpeningBalance:   rapid.SampledFrom(quantities).Draw(t, "opening"),
			ReorderThreshold: rapid.SampledFrom(quantities).Draw(t, "threshold"),
		}
	}), 1, 4, func(k manifests.StockKey) string { return k.Item + "\x00" + k.Location }).Draw(t, "keys")
	origin, _ := decode.Instant([]byte(rapid.SampledFrom(origins).Draw(t, "origin")))
	ns, err := manifests.New("generated", manifests.Spec{
		LedgerOrigin: origin,
		Source:       manifests.Source{Topic: "t.transactions", Partitions: rapid.Int32Range(1, 4).Draw(t, "partitions"), MaxRecordBytes: 2048},
		Output:       manifests.Output{Topic: "t.outputs", Partitions: 1},
		StockKeys:    keys,
	})
	if err != nil {
		t.Fatalf("generated namespace: %v", err)
	}
	return ns
}

// drawRecord draws a valid record of a configured key and, one time in five, damages it.
func drawRecord(t *rapid.T, ns *manifests.Namespace) engine.Record {
	key := rapid.SampledFrom(ns.Spec.StockKeys).Draw(t, "key")
	brokerKey := decode.BrokerKey(key.Item, key.Location)
	r := engine.Record{
		Partition: decode.Partition(brokerKey, ns.Spec.Source.Partitions),
		Key:       brokerKey,
		Value:     drawValue(t, key),
	}
	if rapid.IntRange(0, 4).Draw(t, "damage") != 0 {
		return r
	}
	switch rapid.IntRange(0, 9).Draw(t, "fault") {
	case 0:
		r.Value = nil
	case 1:
		r.Key = nil
	case 2:
		r.Partition = rapid.Int32Range(0, ns.Spec.Source.Partitions-1).Draw(t, "elsewhere")
	case 3:
		r.Key = Mutated(t, r.Key)
	default:
		r.Value = Mutated(t, r.Value)
	}
	return r
}

// drawValue draws a transaction with its members in any order, with white space and escapes.
func drawValue(t *rapid.T, key manifests.StockKey) []byte {
	kind := rapid.SampledFrom([]string{"NEW", "NEW", "AMEND", "CANCEL"}).Draw(t, "kind")
	qty := rapid.SampledFrom(quantities).Draw(t, "qty")
	if rapid.IntRange(0, 9).Draw(t, "small") != 0 {
		qty %= 100
	}
	if kind == "CANCEL" {
		qty = 0
	}
	stock := []string{`"item":` + quote(t, key.Item), `"location":` + quote(t, key.Location)}
	members := []string{
		`"txn_id":` + quote(t, rapid.SampledFrom([]string{"t1", "t2", "t10", "T-1", "x\x011", "é"}).Draw(t, "txn")),
		`"kind":` + quote(t, kind),
		fmt.Sprintf(`"revision":%d`, rapid.SampledFrom([]int64{1, 2, 3, 9223372036854775807}).Draw(t, "revision")),
		fmt.Sprintf(`"qty":%d`, qty),
		`"valid_time":` + quote(t, drawTime(t)),
		`"source_time":` + quote(t, drawTime(t)),
		`"stock_key":{` + strings.Join(rapid.Permutation(stock).Draw(t, "stock order"), ",") + `}`,
	}
	separator := rapid.SampledFrom([]string{",", ", ", " ,\n\t"}).Draw(t, "separator")
	return []byte("{" + strings.Join(rapid.Permutation(members).Draw(t, "order"), separator) + "}")
}

// drawTime draws an instant near a day boundary, in any offset.
func drawTime(t *rapid.T) string {
	date := rapid.SampledFrom([]string{"1969-12-31", "1970-01-01", "2026-01-01", "2026-01-02", "2026-03-01"}).Draw(t, "date")
	clock := rapid.SampledFrom([]string{"00:00:00", "23:59:59.999999999", "12:00:00.5", "18:59:59"}).Draw(t, "clock")
	zone := rapid.SampledFrom([]string{"Z", "Z", "+05:30", "-05:00", "+23:59", "-23:59", "-00:00"}).Draw(t, "zone")
	return date + "T" + clock + zone
}

// quote writes a JSON string, sometimes with every character escaped.
func quote(t *rapid.T, s string) string {
	if rapid.IntRange(0, 7).Draw(t, "escape") != 0 {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var b strings.Builder
	for _, r := range s {
		if r > 0xFFFF {
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return `"` + b.String() + `"`
}

// fragments are pieces of JSON that a mutation puts into a record.
var fragments = []string{
	`"`, `\`, `\u0000`, `\ud800`, `\udc00`, `\ud83d\ude00`, `{`, `}`, `[`, `]`, `,`, `:`, `null`, `true`, `0`, `-`, `1e5`, `.5`, `"x":1,`, `"qty":1,`,
	`"Qty":1,`, `{"a":1,"a":2}`, "\xff", "\xed\xa0\x80", "\xef\xbb\xbf", " ", "\n", "\f", "\x00", "9223372036854775808", "T24:00:00Z", "+24:00", ":60", ".1234567891", "é",
}

// Mutated damages bytes in one to three places.
func Mutated(t *rapid.T, original []byte) []byte {
	data := slices.Clone(original)
	for range rapid.IntRange(1, 3).Draw(t, "mutations") {
		at := rapid.IntRange(0, len(data)).Draw(t, "at")
		end := min(len(data), at+rapid.IntRange(0, 12).Draw(t, "length"))
		switch rapid.IntRange(0, 5).Draw(t, "mutation") {
		case 0: // cut a piece out
			data = slices.Delete(data, at, end)
		case 1: // double a piece
			data = slices.Insert(data, at, slices.Clone(data[at:end])...)
		case 2: // flip a byte
			if at < len(data) {
				data[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			}
		case 3: // cut the end off
			data = data[:at]
		case 4: // replace a digit
			if i := slices.IndexFunc(data[at:], func(c byte) bool { return c >= '0' && c <= '9' }); i >= 0 {
				data[at+i] = '0' + byte(rapid.IntRange(0, 9).Draw(t, "digit"))
			}
		default:
			data = slices.Insert(data, at, []byte(rapid.SampledFrom(fragments).Draw(t, "fragment"))...)
		}
	}
	return data
}

// Permuted returns the records in another interleaving of the partitions, each partition's own order kept.
func Permuted(t *rapid.T, records []engine.Record) []engine.Record {
	slots := make([]int32, len(records))
	byPartition := make(map[int32][]engine.Record)
	for i, r := range records {
		slots[i] = r.Partition
		byPartition[r.Partition] = append(byPartition[r.Partition], r)
	}
	permuted := make([]engine.Record, 0, len(records))
	for _, p := range rapid.Permutation(slots).Draw(t, "interleaving") {
		permuted = append(permuted, byPartition[p][0])
		byPartition[p] = byPartition[p][1:]
	}
	return permuted
}
