package worlds

import (
	"fmt"
	"testing"
	"time"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/stages/ledger"
)

// symbol is one record of a small world; its stock key is always the only one.
type symbol struct {
	txnID    string
	revision int64
	kind     string
	day      int // of January 2026
	qty      int64
}

// alphabet is a set of symbols of which small worlds are made up to a size.
type alphabet struct {
	name    string
	symbols []symbol
	// most is the size of the largest world in the complete form, short in go test.
	most, short int
}

// The alphabets hold every pair that the contract tells apart: other revisions, NEW and AMEND alike but for the kind,
// CANCEL, equal and other days, quantities that cross the threshold, do not, or are zero, and payloads that differ in one
// field alone.
var alphabets = []alphabet{
	{name: "one identity, 16 symbols", most: 4, short: 3, symbols: []symbol{
		{"a", 1, "NEW", 2, -50}, {"a", 1, "NEW", 2, -30}, {"a", 1, "NEW", 4, -50}, {"a", 1, "AMEND", 2, -50},
		{"a", 1, "CANCEL", 2, 0}, {"a", 1, "NEW", 2, 0},
		{"a", 2, "AMEND", 2, -50}, {"a", 2, "AMEND", 2, -30}, {"a", 2, "AMEND", 1, -50}, {"a", 2, "NEW", 4, 20},
		{"a", 2, "CANCEL", 2, 0}, {"a", 2, "CANCEL", 3, 0},
		{"a", 3, "AMEND", 2, -50}, {"a", 3, "NEW", 3, -60}, {"a", 3, "CANCEL", 1, 0}, {"a", 3, "AMEND", 2, 0},
	}},
	{name: "one identity, 8 symbols", most: 6, short: 4, symbols: []symbol{
		{"a", 1, "NEW", 2, -50}, {"a", 1, "NEW", 2, -30}, {"a", 2, "AMEND", 2, -30}, {"a", 2, "CANCEL", 2, 0},
		{"a", 2, "AMEND", 4, -50}, {"a", 3, "AMEND", 2, -50}, {"a", 3, "CANCEL", 9, 0}, {"a", 4, "NEW", 1, -60},
	}},
	{name: "two identities, 16 symbols", most: 4, short: 3, symbols: []symbol{
		{"a", 1, "NEW", 2, -30}, {"a", 1, "NEW", 2, -50}, {"a", 1, "NEW", 3, 20}, {"a", 2, "AMEND", 1, -30},
		{"a", 2, "AMEND", 3, -30}, {"a", 2, "CANCEL", 2, 0}, {"a", 3, "NEW", 2, 0}, {"a", 3, "AMEND", 2, -50},
		{"b", 1, "NEW", 2, -30}, {"b", 1, "NEW", 4, -30}, {"b", 1, "AMEND", 4, -30}, {"b", 2, "AMEND", 2, 30},
		{"b", 2, "CANCEL", 4, 0}, {"b", 2, "AMEND", 1, -50}, {"b", 3, "NEW", 3, -10}, {"b", 3, "CANCEL", 3, 0},
	}},
	{name: "two identities, 8 symbols", most: 6, short: 4, symbols: []symbol{
		{"a", 1, "NEW", 2, -30}, {"a", 1, "NEW", 3, -30}, {"a", 2, "AMEND", 1, -50}, {"a", 2, "CANCEL", 2, 0},
		{"b", 1, "NEW", 2, -20}, {"b", 2, "AMEND", 4, -20}, {"b", 2, "CANCEL", 4, 0}, {"b", 3, "AMEND", 3, 40},
	}},
}

// small is a namespace of one stock key with an alphabet spelled out for both sides: bytes for the judges, transactions
// decoded from them for the core.
type small struct {
	cfg          *ledger.Config
	values       [][]byte
	transactions []ledger.Transaction
}

// newSmall opens the stock key with a balance; its threshold is 60.
func newSmall(t *testing.T, symbols []symbol, opening int64) *small {
	t.Helper()
	ns, err := manifests.New("w", manifests.Spec{
		LedgerOrigin: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(),
		Source:       manifests.Source{Topic: "w.in", Partitions: 1},
		Output:       manifests.Output{Topic: "w.out", Partitions: 1},
		StockKeys:    []manifests.StockKey{{Item: "i", Location: "l", OpeningBalance: opening, ReorderThreshold: 60}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &small{cfg: ledger.NewConfig(ns, "AAAAAAAAAAAAAAAAAAAAAQ")}
	for _, s := range symbols {
		value := fmt.Appendf(nil, `{"txn_id":%q,"revision":%d,"kind":%q,"stock_key":{"item":"i","location":"l"},`+
			`"valid_time":"2026-01-%02dT10:00:00Z","qty":%d,"source_time":"2026-01-01T00:00:00Z"}`, s.txnID, s.revision, s.kind, s.day, s.qty)
		tx, reason := w.cfg.Decode(ledger.Record{Key: w.cfg.BrokerKey(0), Value: value})
		if reason != ledger.ReasonNone {
			t.Fatalf("%s is rejected: %s", value, reason)
		}
		w.values = append(w.values, value)
		w.transactions = append(w.transactions, tx)
	}
	return w
}

// records spells a world in the order given.
func (w *small) records(world []int) []engine.Record {
	records := make([]engine.Record, len(world))
	for i, s := range world {
		records[i] = engine.Record{Offset: int64(i), Key: w.cfg.BrokerKey(0), Value: w.values[s]}
	}
	return records
}

// multisets visits every multiset of a size as a sorted list of symbols, which the visitor may reorder but not keep.
func multisets(symbols, size int, visit func(world []int)) {
	world, scratch := make([]int, size), make([]int, size)
	for {
		copy(scratch, world)
		visit(scratch)
		last := size - 1
		for last >= 0 && world[last] == symbols-1 {
			last--
		}
		if last < 0 {
			return
		}
		next := world[last] + 1
		for i := last; i < size; i++ {
			world[i] = next
		}
	}
}

// nextOrder turns a list into the next one in lexical order; false, unchanged, after the last.
func nextOrder(world []int) bool {
	i := len(world) - 2
	for i >= 0 && world[i] >= world[i+1] {
		i--
	}
	if i < 0 {
		return false
	}
	j := len(world) - 1
	for world[j] <= world[i] {
		j--
	}
	world[i], world[j] = world[j], world[i]
	for left, right := i+1, len(world)-1; left < right; left, right = left+1, right-1 {
		world[left], world[right] = world[right], world[left]
	}
	return true
}

// TestEnumeration holds the enumeration to the closed forms: C(16+4-1, 4) multisets, 16^4 orders of them.
func TestEnumeration(t *testing.T) {
	for _, c := range []struct{ symbols, size, multisets, orders int }{{16, 4, 3876, 65536}, {8, 5, 792, 32768}, {3, 1, 3, 3}} {
		count, orders := 0, make(map[string]bool)
		multisets(c.symbols, c.size, func(world []int) {
			count++
			for more := true; more; more = nextOrder(world) {
				orders[fmt.Sprint(world)] = true
			}
		})
		if count != c.multisets || len(orders) != c.orders {
			t.Errorf("%d of %d symbols: %d multisets, %d orders, want %d, %d", c.size, c.symbols, count, len(orders), c.multisets, c.orders)
		}
	}
}
