package ledger_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/ledger"
)

func TestBrokerKeyIsRFC8785(t *testing.T) {
	for _, c := range []struct{ item, location, want string }{
		{"widget", "berlin", `["widget","berlin"]`},
		{"<b>&", "line\u2028sep\u2029", "[\"<b>&\",\"line\u2028sep\u2029\"]"},
		{`q"uo\te`, "a/b", `["q\"uo\\te","a/b"]`},
		{"\b\t\n\f\r", "\x01\x0b\x1f\x7f", "[\"\\b\\t\\n\\f\\r\",\"\\u0001\\u000b\\u001f\x7f\"]"},
		{"é😀", "e\u0301", "[\"é😀\",\"e\u0301\"]"},
		{"", "", `["",""]`},
	} {
		if got := ledger.BrokerKey(c.item, c.location); string(got) != c.want {
			t.Errorf("want %s, got %s", c.want, got)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		item, location := rapid.String().Draw(r, "item"), rapid.String().Draw(r, "location")
		key := jsontext.Value(ledger.BrokerKey(item, location))
		canonical := bytes.Clone(key)
		if err := (*jsontext.Value)(&canonical).Canonicalize(); err != nil || !bytes.Equal(canonical, key) {
			r.Fatalf("%s is not canonical: %s, %v", key, canonical, err)
		}
	})
}

func TestB075TuplesDoNotCollide(t *testing.T) {
	pairs := [][2]string{{"a|b", "c"}, {"a", "b|c"}, {"a/", "b"}, {"a", "/b"}, {"a:", "1"}, {"a", ":1"}, {"123-", "456"}, {"123", "-456"}, {`a","b`, "c"}, {"a", `b","c`}}
	seen := make(map[string]bool)
	for _, pair := range pairs {
		key := string(ledger.BrokerKey(pair[0], pair[1]))
		if seen[key] {
			t.Errorf("%s stands for two stock keys", key)
		}
		seen[key] = true
	}
}

func TestB023MaskedMurmur2(t *testing.T) {
	for _, c := range []struct {
		key  string
		want int32
	}{{"a-little-bit-long-string", 8}, {"1", 3}, {"123", 5}, {"foobar", 6}} {
		if got := ledger.PartitionOf([]byte(c.key), 12); got != c.want {
			t.Errorf("%s: want partition %d, got %d", c.key, c.want, got)
		}
	}
	// Masked hashes of the vectors in Kafka's own UtilsTest, modulo 2^31-1.
	for key, hash := range map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971, "abc": 479470107, "": 275646681,
	} {
		if got, want := ledger.PartitionOf([]byte(key), 1<<31-1), hash&0x7fffffff; got != want {
			t.Errorf("%q: want %d, got %d", key, want, got)
		}
	}
}

// TestMillionKeys prepares a namespace of the largest size that is promised and finds its keys again.
func TestMillionKeys(t *testing.T) {
	const count = 1_000_000
	keys := make([]manifests.StockKey, count)
	for i := range keys {
		keys[i] = manifests.StockKey{Item: fmt.Sprintf("item-%07d", i), Location: "berlin"}
	}
	ns := namespace(origin2026, keys...)
	ns.Spec.Source.Partitions = 12
	cfg := ledger.NewConfig(ns, topicID)
	for _, i := range []int{0, 1, count / 2, count - 1} {
		key := ledger.BrokerKey(keys[i].Item, "berlin")
		value := strings.Replace(base, `"item":"A","location":"L"`, `"item":"`+keys[i].Item+`","location":"berlin"`, 1)
		tx, reason := cfg.Decode(ledger.Record{Partition: ledger.PartitionOf(key, 12), Key: key, Value: []byte(value)})
		if reason != ledger.ReasonNone || tx.KeyID != int32(i) || !bytes.Equal(cfg.BrokerKey(int32(i)), key) {
			t.Errorf("key %d: got %d, %q", i, tx.KeyID, reason)
		}
	}
}
