package reference_test

import (
	"fmt"
	"testing"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/oracle/reference"
)

// BenchmarkCompute computes a hundred thousand records of one key.
func BenchmarkCompute(b *testing.B) {
	ns, err := manifests.New("bench", manifests.Spec{
		Source:    manifests.Source{Topic: "in", Partitions: 1},
		Output:    manifests.Output{Topic: "out", Partitions: 1},
		StockKeys: []manifests.StockKey{{Item: "widget", Location: "berlin"}},
	})
	if err != nil {
		b.Fatal(err)
	}
	records := make([]engine.Record, 100_000)
	for i := range records {
		records[i] = engine.Record{Offset: int64(i), Key: decode.BrokerKey("widget", "berlin"), Value: fmt.Appendf(nil,
			`{"txn_id":"t%d","revision":1,"kind":"NEW","stock_key":{"item":"widget","location":"berlin"},`+
				`"valid_time":"2026-01-%02dT00:00:00Z","qty":1,"source_time":"2026-01-01T00:00:00Z"}`, i, i%28+1)}
	}
	for b.Loop() {
		oracletest.Compute(b, reference.Engine{}, ns, records)
	}
}
