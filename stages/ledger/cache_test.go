package ledger_test

import (
	"errors"
	"fmt"
	"testing"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/ledger"
)

// TestIncompleteAuthoritySplitsTheUnit blocks and resolves a key, of which not everything is loaded, in one batch.
func TestIncompleteAuthoritySplitsTheUnit(t *testing.T) {
	var h history
	h.add("a", 1, ledger.KindNew, 1, -10)
	h.add("b", 1, ledger.KindNew, 2, -10)
	s := newShell(t, config(keyA), 0)
	if err := s.run(h.steps, 2); err != nil {
		t.Fatal(err)
	}
	h.add("b", 1, ledger.KindNew, 2, -11)
	h.add("b", 2, ledger.KindNew, 2, -12)
	decided, err := s.unit(h.steps[2:], true)
	if err != nil || decided != 1 || s.keyAuthorityRead != 0 {
		t.Fatalf("want one record decided, got %d, %v", decided, err)
	}
	decided, err = s.unit(h.steps[3:], true)
	if err != nil || decided != 1 || s.keyAuthorityRead != 1 {
		t.Fatalf("want the key's authority loaded and the record decided, got %d, %v", decided, err)
	}
	if last := outputs(s.envelopes[len(s.envelopes)-2:]); fmt.Sprint(last) != "[BalanceStated v2 02 78 KeyStatusStated v3 []]" {
		t.Errorf("got %v", last)
	}
}

func TestErrIncompleteLeavesTheBatchAsItWas(t *testing.T) {
	batch := ledger.NewBatch(config(keyA), 0)
	blocked := ledger.KeyRow{KeyID: 0, StatusVersion: 2, Conflicts: []ledger.ConflictRef{{TxnID: "a", Revision: 1}}}
	var h history
	h.add("a", 2, ledger.KindNew, 1, 5)
	txs := []ledger.Transaction{h.steps[0].tx}
	batch.AddKeys(batch.KeysNeeded(txs), []ledger.KeyRow{blocked}, nil)
	row := ledger.AuthorityRow{KeyID: 0, TxnID: "a", Ambiguous: true, Payload: ledger.Payload{Revision: 1, Kind: ledger.KindNew, ValidTime: origin2026, Qty: 1}}
	batch.AddAuthority(batch.AuthorityNeeded(txs), []ledger.AuthorityRow{row})
	if err := batch.Decide(h.steps[0].rec, h.steps[0].tx, ""); !errors.Is(err, ledger.ErrIncomplete) {
		t.Fatalf("got %v", err)
	}
	if c := batch.Changes(); c.NextOffset != 0 || len(c.Evidence)+len(c.ChangedAuthority)+len(c.Keys)+len(c.Envelopes) != 0 || c.Accepted != 0 {
		t.Errorf("got %+v", c)
	}
	if needed := batch.KeyAuthorityNeeded(txs); fmt.Sprint(needed) != "[0]" {
		t.Errorf("the key is not asked for: %v", needed)
	}
	batch.AddKeyAuthority([]int32{0}, []ledger.AuthorityRow{row})
	if err := batch.Decide(h.steps[0].rec, h.steps[0].tx, ""); err != nil {
		t.Error(err)
	}
}

// TestR15CacheOfAnotherEpochIsDropped is A, B, A: another owner made progress, then the first one returns.
func TestR15CacheOfAnotherEpochIsDropped(t *testing.T) {
	mark.Expect(t, "R15 cache of another owner dropped")
	var h history
	for i := range int64(6) {
		h.add("a", i+1, ledger.KindNew, 1, i)
	}
	s := newShell(t, config(keyA), 100)
	if err := s.run(h.steps[:2], 1); err != nil {
		t.Fatal(err)
	}
	if s.keysRead != 1 || s.authorityRead != 0 {
		t.Fatalf("the cache was not used: %d keys, %d identities read", s.keysRead, s.authorityRead)
	}
	mine := s.cache
	s.cache, s.epoch = ledger.NewCache(100), 2
	if err := s.run(h.steps[2:4], 1); err != nil {
		t.Fatal(err)
	}
	s.cache, s.epoch = mine, 3
	if err := s.run(h.steps[4:], 1); err != nil {
		t.Fatal(err)
	}
	if s.keysRead != 3 {
		t.Errorf("want one read by each owner's first unit, got %d", s.keysRead)
	}
	if last := outputs(s.envelopes[len(s.envelopes)-1:]); last[0] != "BalanceStated v6 01 105" {
		t.Errorf("got %v", last)
	}
}

func TestR15AbandonedBatchLeavesNoTrace(t *testing.T) {
	var h history
	h.add("a", 1, ledger.KindNew, 1, 1)
	h.add("a", 2, ledger.KindNew, 1, 2)
	cfg := config(keyA)
	s := newShell(t, cfg, 100)
	if err := s.run(h.steps[:1], 1); err != nil {
		t.Fatal(err)
	}
	s.cache.Open(1, 1)
	batch := ledger.NewBatch(cfg, 1)
	s.load(batch, []ledger.Transaction{h.steps[1].tx})
	if err := batch.Decide(h.steps[1].rec, h.steps[1].tx, ""); err != nil {
		t.Fatal(err)
	}
	// The commit failed: the batch is dropped, and its key is no longer in the cache even without Drop.
	if s.cache.Used() != 0 {
		t.Errorf("%d rows left", s.cache.Used())
	}
	if err := s.run(h.steps[1:], 1); err != nil {
		t.Fatal(err)
	}
	if last := outputs(s.envelopes[len(s.envelopes)-1:]); last[0] != "BalanceStated v2 01 102" {
		t.Errorf("got %v", last)
	}
}

func TestR15CacheOfAnotherFrontierIsDropped(t *testing.T) {
	mark.Expect(t, "R15 batch elsewhere gets nothing")
	var h history
	h.add("a", 1, ledger.KindNew, 1, 1)
	cfg := config(keyA)
	s := newShell(t, cfg, 100)
	if err := s.run(h.steps, 1); err != nil {
		t.Fatal(err)
	}
	used := s.cache.Used()
	s.cache.Open(1, 1)
	if used == 0 || s.cache.Used() != used {
		t.Fatalf("the undamaged twin: %d, then %d rows", used, s.cache.Used())
	}
	batch := ledger.NewBatch(cfg, 2) // starts elsewhere
	s.cache.Checkout(batch, []ledger.Transaction{h.steps[0].tx})
	if len(batch.KeysNeeded([]ledger.Transaction{h.steps[0].tx})) != 1 || s.cache.Used() != 0 {
		t.Error("a stale state was handed out")
	}
}

func TestCacheIsBounded(t *testing.T) {
	var keys []manifests.StockKey
	for i := range 50 {
		keys = append(keys, manifests.StockKey{Item: fmt.Sprintf("k%02d", i), Location: "L", OpeningBalance: 100})
	}
	cfg := config(keys...)
	const capacity = 100
	var h history
	for i := range 2000 {
		h.addTo(int32(i*7%50), fmt.Sprintf("t%d", i), 1, ledger.KindNew, 1+i%11, 1)
	}
	for i := range 200 { // one hot key with more identities than the cache may hold
		h.addTo(3, fmt.Sprintf("hot%d", i), 1, ledger.KindNew, 1+i%3, 1)
	}
	s := newShell(t, cfg, capacity)
	for rest := h.steps; len(rest) > 0; rest = rest[40:] {
		if err := s.run(rest[:40], 40); err != nil {
			t.Fatal(err)
		}
		if s.cache.Used() > capacity {
			t.Fatalf("%d rows in a cache of %d", s.cache.Used(), capacity)
		}
	}
	if s.cache.Used() == 0 {
		t.Error("nothing is cached")
	}
	reads := s.keysRead
	hot := h.steps[len(h.steps)-1]
	hot.rec.Offset, hot.tx.TxnID = int64(len(h.steps)), "one more"
	if err := s.run([]step{hot}, 1); err != nil {
		t.Fatal(err)
	}
	if s.keysRead != reads {
		t.Error("the hot key's days should have stayed in the cache without its identities")
	}
}
