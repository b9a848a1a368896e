package ledger_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/ledger"
)

// benchKeys and benchDays size the benchmark history: 1,000 keys over a quarter.
const (
	benchKeys = 1000
	benchDays = 90
)

// benchHistory returns a namespace and records: three of four are new transactions in rising days, the rest amend one
// of the latest, one in five of those backdated.
func benchHistory(count int) (*ledger.Config, []ledger.Record) {
	var keys []manifests.StockKey
	for i := range benchKeys {
		keys = append(keys, manifests.StockKey{Item: fmt.Sprintf("item-%04d", i), Location: "berlin", OpeningBalance: 100, ReorderThreshold: 60})
	}
	cfg := config(keys...)
	random := rand.New(rand.NewPCG(1, 2))
	records := make([]ledger.Record, 0, count)
	latest := make([]int, benchKeys)
	for i := range count {
		key := random.IntN(benchKeys)
		day := i * benchDays / count
		txn, revision, kind := i, 1, "NEW"
		if latest[key] > 0 && random.IntN(4) == 0 {
			txn, revision, kind = latest[key], i+2, "AMEND"
			if random.IntN(5) == 0 {
				day = random.IntN(day + 1)
			}
		}
		latest[key] = txn
		at := time.Unix(0, origin2026).UTC().AddDate(0, 0, day).Format(time.RFC3339)
		records = append(records, ledger.Record{
			Offset: int64(i), Key: cfg.BrokerKey(int32(key)),
			Value: fmt.Appendf(nil, `{"txn_id":"txn-%08d","revision":%d,"kind":%q,"stock_key":{"item":"item-%04d","location":"berlin"},"valid_time":%q,"qty":%d,"source_time":%q}`,
				txn, revision, kind, key, at, random.IntN(100)-50, at),
		})
	}
	return cfg, records
}

// BenchmarkDecode decodes records of about 170 bytes.
func BenchmarkDecode(b *testing.B) {
	cfg, records := benchHistory(20_000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, reason := cfg.Decode(records[i%len(records)]); reason != ledger.ReasonNone {
			b.Fatal(reason)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkDecide decodes and decides a history in units of 2,000 records with a warm cache, without a store.
func BenchmarkDecide(b *testing.B) {
	const count, unit = 100_000, 2000
	cfg, records := benchHistory(count)
	txs := make([]ledger.Transaction, unit)
	b.ReportAllocs()
	decided := 0
	for b.Loop() {
		cache := ledger.NewCache(1 << 20)
		for start := 0; start < count; start += unit {
			batch := ledger.NewBatch(cfg, int64(start))
			for i := range txs {
				txs[i], _ = cfg.Decode(records[start+i])
			}
			cache.Open(1, int64(start))
			cache.Checkout(batch, txs)
			batch.AddKeys(batch.KeysNeeded(txs), nil, nil)
			batch.AddAuthority(batch.AuthorityNeeded(txs), nil)
			for i, tx := range txs {
				if err := batch.Decide(records[start+i], tx, ledger.ReasonNone); err != nil {
					b.Fatal(err)
				}
			}
			batch.Changes()
			cache.Return(batch)
			decided += unit
		}
	}
	b.ReportMetric(float64(decided)/b.Elapsed().Seconds(), "records/s")
}
