package workertest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/ledger"
)

// TopicID is the source topic's ID in configurations made here.
const TopicID = "AAAAAAAAAAAAAAAAAAAAAQ"

// Config is a namespace of so many stock keys, all opened with 100 and a threshold of 60, from 2026-01-01 on.
func Config(name string, partitions int32, keys int) *ledger.Config {
	ns := &manifests.Namespace{Name: name, Spec: manifests.Spec{
		SemanticsVersion: manifests.SemanticsVersion,
		LedgerOrigin:     time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(),
		Source: manifests.Source{
			Topic: name + ".in", Partitions: partitions, Partitioner: manifests.PartitionerMurmur2,
			MaxRecordBytes: manifests.DefaultMaxRecordBytes,
		},
		Output: manifests.Output{Topic: name + ".out", Partitions: 2},
	}}
	for i := range keys {
		ns.Spec.StockKeys = append(ns.Spec.StockKeys, manifests.StockKey{
			Item: fmt.Sprintf("item-%04d", i), Location: "berlin", OpeningBalance: 100, ReorderThreshold: 60,
		})
	}
	return ledger.NewConfig(ns, TopicID)
}

// Txn is a transaction to be sent.
type Txn struct {
	Key      int32
	ID       string
	Revision int64
	// Kind is NEW, AMEND or CANCEL.
	Kind string
	// Time is the valid time as the record spells it.
	Time string
	Qty  int64
}

// On returns noon of a day of 2026, day 1 being January 1.
func On(day int) string {
	return time.Date(2026, 1, day, 12, 0, 0, 0, time.UTC).Format(time.RFC3339)
}

// Encode returns the record's value.
func (x Txn) Encode(cfg *ledger.Config) []byte {
	key := cfg.StockKey(x.Key)
	value, err := json.Marshal(map[string]any{
		"txn_id": x.ID, "revision": x.Revision, "kind": x.Kind,
		"stock_key":  map[string]string{"item": key.Item, "location": key.Location},
		"valid_time": x.Time, "qty": x.Qty, "source_time": "2026-01-01T00:00:00Z",
	})
	if err != nil { // strings and integers always encode
		return nil
	}
	return value
}

// Send appends transactions to the log, each to the partition of its key.
func (l *Log) Send(cfg *ledger.Config, transactions ...Txn) {
	for _, x := range transactions {
		l.Append(cfg.SourcePartition(x.Key), cfg.BrokerKey(x.Key), x.Encode(cfg))
	}
}

// Spread is what Mix draws from.
type Spread struct {
	Keys, Identities, Days int
}

// Mix appends a random history of count records: all kinds of revisions in any order, exact duplicates, stale records,
// some conflicts and their resolutions, malformed and misrouted records, control markers and gaps.
func (l *Log) Mix(cfg *ledger.Config, rng *rand.Rand, count int, spread Spread) {
	partitions := cfg.Namespace().Spec.Source.Partitions
	for range count {
		x := mixed(rng, spread)
		partition := cfg.SourcePartition(x.Key)
		switch rng.IntN(40) {
		case 0:
			l.Append(partition, cfg.BrokerKey(x.Key), []byte(`{"qty":`))
		case 1:
			l.Append((partition+1)%partitions, cfg.BrokerKey(x.Key), x.Encode(cfg))
		case 2:
			l.Append(partition, nil, nil)
		case 3:
			l.AppendControl(partition)
		case 4:
			l.AppendGap(partition, 1+rng.Int64N(3))
		case 5:
			l.Send(cfg, x, x)
		case 6:
			x.Qty++ // another payload at what may be a revision already seen
			l.Send(cfg, x)
		default:
			l.Send(cfg, x)
		}
	}
}

// mixed draws a revision of some identity. Its payload follows from identity and revision, so that drawing it again gives
// an exact duplicate.
func mixed(rng *rand.Rand, spread Spread) Txn {
	id, revision := rng.IntN(spread.Identities), 1+rng.Int64N(4)
	x := Txn{Key: int32(rng.IntN(spread.Keys)), ID: fmt.Sprintf("t%d", id), Revision: revision, Kind: "NEW"}
	own := rand.New(rand.NewPCG(uint64(x.Key)<<32|uint64(id), uint64(revision)))
	x.Time, x.Qty = On(1+own.IntN(spread.Days)), own.Int64N(61)-40
	switch own.IntN(10) {
	case 0, 1, 2:
		x.Kind = "AMEND"
	case 3:
		x.Kind, x.Qty = "CANCEL", 0
	}
	return x
}
