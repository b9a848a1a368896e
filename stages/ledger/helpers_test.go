package ledger_test

import (
	"strings"
	"testing"

	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/ledger"
)

// origin2026 is 2026-01-01T00:00:00Z in nanoseconds since the Unix epoch.
const origin2026 = 1767225600_000000000

// base is the record of the pitfalls' base envelope; tests edit one part at a time.
const base = `{"txn_id":"t1","revision":1,"kind":"NEW","stock_key":{"item":"A","location":"L"},` +
	`"valid_time":"2026-01-01T10:00:00Z","qty":-50,"source_time":"2026-01-01T10:00:00Z"}`

// namespace returns a namespace of one partition; keys must be sorted.
func namespace(origin int64, keys ...manifests.StockKey) *manifests.Namespace {
	return &manifests.Namespace{Name: "demo", Spec: manifests.Spec{
		SemanticsVersion: manifests.SemanticsVersion,
		LedgerOrigin:     origin,
		Source: manifests.Source{
			Topic: "demo.transactions", Partitions: 1, Partitioner: manifests.PartitionerMurmur2,
			MaxRecordBytes: manifests.DefaultMaxRecordBytes,
		},
		Output:    manifests.Output{Topic: "demo.outputs", Partitions: 1},
		StockKeys: keys,
	}}
}

// keyA is the stock key of the base envelope, opening at 100 with threshold 60.
var keyA = manifests.StockKey{Item: "A", Location: "L", OpeningBalance: 100, ReorderThreshold: 60}

// topicID is the source topic of the tests.
const topicID = "AAAAAAAAAAAAAAAAAAAAAQ"

// config prepares a namespace of one partition.
func config(keys ...manifests.StockKey) *ledger.Config {
	return ledger.NewConfig(namespace(origin2026, keys...), topicID)
}

// record wraps a value as a record of keyA.
func record(value string) ledger.Record {
	return ledger.Record{Key: ledger.BrokerKey("A", "L"), Value: []byte(value)}
}

// edit replaces a part of a text that must be there.
func edit(t testing.TB, text, old, replacement string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("no %q in %q", old, text)
	}
	return strings.Replace(text, old, replacement, 1)
}

// member replaces the value of one member of the base envelope.
func member(t testing.TB, name, value string) string {
	t.Helper()
	old := map[string]string{
		"txn_id": `"txn_id":"t1"`, "revision": `"revision":1`, "kind": `"kind":"NEW"`,
		"stock_key": `"stock_key":{"item":"A","location":"L"}`, "item": `"item":"A"`, "location": `"location":"L"`,
		"valid_time": `"valid_time":"2026-01-01T10:00:00Z"`, "qty": `"qty":-50`, "source_time": `"source_time":"2026-01-01T10:00:00Z"`,
	}[name]
	return edit(t, base, old, `"`+name+`":`+value)
}

// wantReason decodes a value as a record of keyA and compares the reason.
func wantReason(t *testing.T, cfg *ledger.Config, value string, want ledger.Reason) ledger.Transaction {
	t.Helper()
	tx, got := cfg.Decode(record(value))
	if got != want {
		t.Errorf("%.120q: want reason %q, got %q", value, want, got)
	}
	return tx
}
