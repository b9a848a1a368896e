package decode_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/oracletest"
)

// agree fails the test unless Decode says what the scanner alone says, and returns whether the record is accepted.
func agree(t oracletest.TB, d *decode.Decoder, m message) bool {
	t.Helper()
	got, reason := d.Decode(m.partition, m.key, m.value)
	want, wanted := d.Scanned(m.partition, m.key, m.value)
	id, wantedID := got.TxnID, want.TxnID
	got.TxnID, want.TxnID = nil, nil
	if reason != wanted || fmt.Sprint(got) != fmt.Sprint(want) || !bytes.Equal(id, wantedID) {
		t.Fatalf("%s %q\ndecoded %q %+v %q\nscanned %q %+v %q", m.key, m.value, reason, got, id, wanted, want, wantedID)
	}
	return reason == decode.Accepted
}

// TestUsualHistories decodes every history that there is with the fast path and without it.
func TestUsualHistories(t *testing.T) {
	taken := 0
	for _, h := range oracletest.All(t) {
		d := decode.New(h.Namespace)
		for _, r := range h.Records {
			agree(t, d, message{r.Partition, r.Key, r.Value})
			if d.Usual(r.Key, r.Value) {
				taken++
			}
		}
	}
	if taken == 0 {
		t.Error("no record of any history is in the usual layout")
	}
}

// TestUsualMixedHistories does so with seeded histories in which every anomaly is common; most of their records are in the
// usual layout.
func TestUsualMixedHistories(t *testing.T) {
	taken, left := 0, 0
	for seed := range uint64(100) {
		c := oracletest.Mixed(t, seed, 4+int(seed)*5)
		d := decode.New(c.Namespace)
		for _, r := range c.Records {
			agree(t, d, message{r.Partition, r.Key, r.Value})
			if d.Usual(r.Key, r.Value) {
				taken++
			} else {
				left++
			}
		}
	}
	if taken < left || left == 0 {
		t.Errorf("%d records are in the usual layout and %d are not: want more than half, and some", taken, left)
	}
}

// TestUsualRandomHistories does so with records in any order of members, with escapes, white space and damage, and with good
// records damaged in several places.
func TestUsualRandomHistories(t *testing.T) {
	spoiled := awkwardDecoder(t)
	rapid.Check(t, func(t *rapid.T) {
		c := oracletest.Cases().Draw(t, "case")
		d := decode.New(c.Namespace)
		for _, r := range c.Records {
			agree(t, d, message{r.Partition, r.Key, r.Value})
		}
		good := rapid.SampledFrom(edges()).Draw(t, "good")
		agree(t, spoiled, message{good.partition, good.key, oracletest.Mutated(t, good.value)})
	})
}

// TestUsualSynthetic: the scanner gets none of the good records that package synthetic makes, and all others.
func TestUsualSynthetic(t *testing.T) {
	d, records := syntheticRecords(t, 50_000, 500)
	accepted, left := 0, 0
	for _, m := range records {
		if !agree(t, d, m) {
			continue
		}
		accepted++
		if !d.Usual(m.key, m.value) {
			left++
		}
	}
	if left > 0 || accepted < len(records)*99/100 {
		t.Errorf("of %d records %d are accepted, %d of them by the scanner; want nearly all, and none", len(records), accepted, left)
	}
}

// awkward are keys whose names need escapes, are no ASCII, contain what the layout does, or are empty.
var awkward = []manifests.StockKey{
	{Item: "widget", Location: "berlin"}, {Item: `q"uote`, Location: `b\`}, {Item: "x\x01\b\n", Location: "é\u2028"},
	{Item: `","location":"`, Location: `}`}, {Item: "a", Location: "b"}, {Item: "a,", Location: "b"}, {Item: "a", Location: ",b"},
	{Item: strings.Repeat("long ", 20), Location: "\U0001F600"},
}

// awkwardDecoder is one for these keys, with the ledger origin of 1900.
func awkwardDecoder(tb testing.TB) *decode.Decoder {
	tb.Helper()
	ns, err := manifests.New("awkward", manifests.Spec{
		LedgerOrigin: time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(),
		Source:       manifests.Source{Topic: "in", Partitions: 3},
		Output:       manifests.Output{Topic: "out", Partitions: 1},
		StockKeys:    slices.Clone(awkward),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return decode.New(ns)
}

// written is a record as a careful sender writes it.
func written(k manifests.StockKey, id string, revision int64, kind, validTime string, qty int64, sourceTime string) message {
	key := decode.BrokerKey(k.Item, k.Location)
	alone := decode.BrokerKey(k.Item, "")
	item := alone[1 : len(alone)-len(`,""]`)]
	location := key[len(item)+2 : len(key)-1]
	return message{decode.Partition(key, 3), key, fmt.Appendf(nil,
		`{"txn_id":"%s","revision":%d,"kind":"%s","stock_key":{"item":%s,"location":%s},"valid_time":"%s","qty":%d,"source_time":"%s"}`,
		id, revision, kind, item, location, validTime, qty, sourceTime)}
}

// TestUsualTakesWhatSendersWrite: no record that a careful sender writes is left to the scanner, so that the fast path cannot
// fall out of use unseen.
func TestUsualTakesWhatSendersWrite(t *testing.T) {
	d := awkwardDecoder(t)
	const small = 1e18 - 1
	printable := rapid.StringMatching(`[ !#-\[\]-~]{1,256}`)
	instant := rapid.Custom(func(t *rapid.T) string {
		at := time.Unix(0, rapid.Int64Range(-2_208_988_800_000_000_000, math.MaxInt64).Draw(t, "at"))
		at = at.Truncate(time.Duration(math.Pow10(rapid.IntRange(0, 9).Draw(t, "precision"))))
		zone := rapid.SampledFrom([]int{0, 0, 2 * 3600, -5*3600 - 1800}).Draw(t, "zone")
		return at.In(time.FixedZone("", zone)).Format(time.RFC3339Nano)
	})
	rapid.Check(t, func(t *rapid.T) {
		kind, qty := rapid.SampledFrom([]string{"NEW", "AMEND", "CANCEL"}).Draw(t, "kind"), rapid.Int64Range(-small, small).Draw(t, "qty")
		if kind == "CANCEL" {
			qty = 0
		}
		m := written(rapid.SampledFrom(awkward).Draw(t, "key"), printable.Draw(t, "id"), rapid.Int64Range(1, small).Draw(t, "revision"),
			kind, instant.Draw(t, "valid"), qty, instant.Draw(t, "source"))
		if !agree(t, d, m) || !d.Usual(m.key, m.value) {
			t.Fatalf("%s %s is not in the usual layout", m.key, m.value)
		}
	})
}

// edges are records in the usual layout at the bounds of what the fast path takes.
func edges() []message {
	const day, late = "2026-02-28T23:59:59Z", "2026-12-31T00:00:00.123456789Z"
	return []message{
		written(awkward[0], "TX-0000000001", 1, "NEW", day, -5, late),
		written(awkward[1], "x", 999_999_999_999_999_999, "AMEND", late, -999_999_999_999_999_999, day),
		written(awkward[2], "eight888", 10, "CANCEL", "2024-02-29T12:30:00+05:30", 0, "1900-01-01T00:00:00.5Z"),
		written(awkward[3], "1234567", 7, "NEW", "1900-01-01T00:00:00Z", 0, "2262-04-11T23:47:16.854775807Z"),
	}
}

// TestUsualEveryByte changes, inserts and removes each byte of good records, of their keys too.
func TestUsualEveryByte(t *testing.T) {
	d := awkwardDecoder(t)
	inserted := []byte("\"\\{}[]:,.+-019Z T\x00\x1f\x7f\x80\xc3\xffe")
	for _, good := range edges() {
		if !agree(t, d, good) || !d.Usual(good.key, good.value) {
			t.Fatalf("%s is not in the usual layout", good.value)
		}
		for at := range good.value {
			for b := range 256 {
				changed := slices.Clone(good.value)
				changed[at] = byte(b)
				agree(t, d, message{good.partition, good.key, changed})
			}
			for _, b := range inserted {
				agree(t, d, message{good.partition, good.key, slices.Insert(slices.Clone(good.value), at, b)})
			}
			agree(t, d, message{good.partition, good.key, slices.Delete(slices.Clone(good.value), at, at+1)})
			agree(t, d, message{good.partition, good.key, good.value[:at]})
		}
		for at := range good.key {
			for b := range 256 {
				changed := slices.Clone(good.key)
				changed[at] = byte(b)
				agree(t, d, message{good.partition, changed, good.value})
			}
			agree(t, d, message{good.partition, good.key[:at], good.value})
		}
		for p := range int32(3) {
			agree(t, d, message{p, good.key, good.value})
		}
		for _, other := range edges() {
			agree(t, d, message{other.partition, other.key, good.value})
		}
	}
}

// TestB080UTCByPlaces reads midnight and noon of each day of eight centuries, and days that there are not, as Instant does.
func TestB080UTCByPlaces(t *testing.T) {
	for year := 1600; year <= 2400; year++ {
		for month := range 14 {
			for day := range 33 {
				for _, clock := range []string{"00:00:00Z", "12:34:56.789Z"} {
					samePlaces(t, fmt.Sprintf("%04d-%02d-%02dT%s", year, month, day, clock))
				}
			}
		}
	}
	for hundredth := range 100 {
		for _, layout := range []string{"2026-03-04T%02d:00:00Z", "2026-03-04T00:%02d:00Z", "2026-03-04T00:00:%02dZ", "2026-03-04T00:00:00.%02dZ"} {
			samePlaces(t, fmt.Sprintf(layout, hundredth))
		}
	}
	for _, text := range []string{
		"1677-09-21T00:12:43.145224191Z", "1677-09-21T00:12:43.145224192Z", "2262-04-11T23:47:16.854775807Z", "2262-04-11T23:47:16.854775808Z",
		"0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-03-04T00:00:00.Z", "2026-03-04T00:00:00.1234567891Z", "2026-03-04T00:00:00.123456789",
	} {
		samePlaces(t, text)
	}
}

// samePlaces reads an instant by its places, and as Instant does.
func samePlaces(t *testing.T, text string) {
	t.Helper()
	got, n, ok := decode.UTC([]byte(text))
	want, wanted := decode.Instant([]byte(text))
	if ok != wanted || ok && (got != want || n != len(text)) {
		t.Errorf("%s is %d, %d bytes, %v; want %d, %v", text, got, n, ok, want, wanted)
	}
}

// TestIndexFindsEveryKey looks for all keys of namespaces of many sizes, and for keys that are like them.
func TestIndexFindsEveryKey(t *testing.T) {
	for keys := 1; keys < 5000; keys += 1 + keys/2 {
		spec := manifests.Spec{Source: manifests.Source{Topic: "in", Partitions: 5}, Output: manifests.Output{Topic: "out", Partitions: 1}}
		for k := range keys {
			spec.StockKeys = append(spec.StockKeys, manifests.StockKey{Item: fmt.Sprintf("item %d", k), Location: "berlin"})
		}
		ns, err := manifests.New("index", spec)
		if err != nil {
			t.Fatal(err)
		}
		d := decode.New(ns)
		for i, k := range ns.Spec.StockKeys {
			key := decode.BrokerKey(k.Item, k.Location)
			if got, ok := d.Indexed(key); !ok || int(got) != i {
				t.Fatalf("%d keys: %s is %d, %v, want %d", keys, key, got, ok, i)
			}
			for _, absent := range [][]byte{key[:len(key)-1], decode.BrokerKey(k.Item, "Berlin"), nil} {
				if got, ok := d.Indexed(absent); ok {
					t.Fatalf("%d keys: %q is %d", keys, absent, got)
				}
			}
		}
	}
}
