package generate

import (
	"fmt"
	"math"

	"github.com/go-json-experiment/json/jsontext"

	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/ledger"
)

// recordBytesMax bounds a generated record without the text of its stock key.
const recordBytesMax = 400

// account is one stock key that takes part.
type account struct {
	keyID     int32
	partition int32
	brokerKey []byte
	// stockKey is the key's JSON object.
	stockKey []byte
	// budget is what further absolute quantities may add up to (S3).
	budget int64
	// running is roughly the latest balance; it only makes quantities plausible.
	running   int64
	threshold int64
	// scale is the size of a large movement.
	scale int64
	// lastDay is the latest day with activity, -1 before the first.
	lastDay int64
}

// newAccount returns the account of a stock key, or why it cannot take part: its opening balance leaves no room
// (S3), or its records would be too large.
func newAccount(spec manifests.Spec, keyID int32) (*account, error) {
	k := spec.StockKeys[keyID]
	if k.OpeningBalance == math.MinInt64 || abs(k.OpeningBalance) >= math.MaxInt64-1 {
		return nil, fmt.Errorf("stock key %s: the opening balance %d leaves no room for quantities", ledger.BrokerKey(k.Item, k.Location), k.OpeningBalance)
	}
	a := &account{keyID: keyID, brokerKey: ledger.BrokerKey(k.Item, k.Location), budget: math.MaxInt64 - 1 - abs(k.OpeningBalance),
		running: k.OpeningBalance, threshold: k.ReorderThreshold, lastDay: -1}
	a.partition = ledger.PartitionOf(a.brokerKey, spec.Source.Partitions)
	a.scale = 8 + min(abs(k.OpeningBalance)/4, 1_000_000)
	stockKey, err := stockKeyJSON(k.Item, k.Location)
	if err != nil {
		return nil, err
	}
	a.stockKey = stockKey
	if int64(len(a.stockKey)+recordBytesMax) > spec.Source.MaxRecordBytes {
		return nil, fmt.Errorf("stock key %s: its records may be larger than maxRecordBytes %d", a.brokerKey, spec.Source.MaxRecordBytes)
	}
	return a, nil
}

func stockKeyJSON(item, location string) ([]byte, error) {
	dst, err := jsontext.AppendQuote([]byte(`{"item":`), item)
	if err != nil {
		return nil, fmt.Errorf("encode item: %w", err)
	}
	dst, err = jsontext.AppendQuote(append(dst, `,"location":`...), location)
	if err != nil {
		return nil, fmt.Errorf("encode location: %w", err)
	}
	return append(dst, '}'), nil
}

// quantity draws a movement: mostly issues, more receipts once the balance is below the threshold, now and then zero.
func (a *account) quantity(r *random) int64 {
	receipts := int64(3)
	if a.running < a.threshold {
		receipts = 7
	}
	qty := int64(0)
	switch {
	case r.oneIn(64):
	case r.below(10) < receipts:
		qty = r.between(1, a.scale)
	default:
		qty = -r.between(1, 1+a.scale/2)
	}
	if !a.affords(qty) {
		return 0
	}
	return qty
}

// affords reports whether one more record of the quantity stays inside the bound of S3.
func (a *account) affords(qty int64) bool { return abs(qty) <= a.budget }

func (a *account) spend(qty int64) { a.budget -= abs(qty) }

// abs is |v|; v is never MinInt64 here.
func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}
