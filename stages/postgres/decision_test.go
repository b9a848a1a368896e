package postgres

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/stages/intake"
	"amends.dev/amends/stages/ledger"
)

// TestDecisionAtTheFrontier asks for a record below the frontier, which was decided, and for one at it, which was not,
// although it says the same.
func TestDecisionAtTheFrontier(t *testing.T) {
	pool := newState(t, 1, nil)
	config := ledger.NewConfig(testNamespace("shop", 1), "topic-id")
	value := []byte(`{"txn_id":"t1","revision":1,"kind":"NEW","stock_key":{"item":"widget","location":"berlin"},` +
		`"valid_time":"2026-01-02T10:00:00Z","qty":-5,"source_time":"2026-01-02T10:00:00Z"}`)
	record := intake.NewRecord(value, 1)
	transaction, reason := config.Decode(ledger.Record{Partition: 0, Key: record.Key, Value: record.Value})
	if reason != ledger.ReasonNone {
		t.Fatal(reason)
	}
	if _, err := pool.Exec(t.Context(), `UPDATE partition_state SET next_offset = 1, accepted = 1 WHERE partition = 0`); err != nil {
		t.Fatal(err)
	}
	p := transaction.Payload
	if _, err := pool.Exec(t.Context(), `INSERT INTO authority (key_id, txn_id, revision, kind, valid_time, qty, ambiguous, source_offset)
		VALUES ($1, $2, $3, $4, $5, $6, false, 0)`, transaction.KeyID, transaction.TxnID, p.Revision, p.Kind, p.ValidTime, p.Qty); err != nil {
		t.Fatal(err)
	}
	decisions := NewDecisions(pool, config)
	got, err := decisions.Decision(t.Context(), intake.Coordinates{Partition: 0, Offset: 0}, value)
	if err != nil {
		t.Fatal(err)
	}
	want := &intake.Decision{Outcome: intake.Accepted, Authority: intake.Current}
	if got != nil {
		got.Outputs = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("below the frontier:\n%s", diff)
	}
	if got, err = decisions.Decision(t.Context(), intake.Coordinates{Partition: 0, Offset: 1}, value); got != nil || err != nil {
		t.Errorf("at the frontier: %+v, %v", got, err)
	}
}
