package postgres

import (
	"errors"
	"testing"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/storetest"
)

// TestB031BothFences: the epoch is compared under the lock at the beginning of a unit of work, and again by the statement
// that moves the frontier, so that a unit whose row changed in spite of the lock writes nothing.
func TestB031BothFences(t *testing.T) {
	mark.Expect(t, "postgres.2 other epoch under the lock")
	pool := newState(t, 1, nil)
	store := NewWorkerStore(pool, "topic-id")
	old := storetest.Install(t, store, 0, "a", 1)
	owner := storetest.Install(t, store, 0, "b", 2)
	unit, err := store.Begin(t.Context(), 0, old.Epoch, 0)
	if err == nil {
		unit.Rollback(t.Context())
	}
	if !errors.Is(err, worker.ErrFenced) {
		t.Errorf("begin under the old epoch: %v", err)
	}
	for _, replaced := range []bool{true, false} { // the undamaged twin last: it moves the frontier
		unit, err := store.Begin(t.Context(), 0, owner.Epoch, 0)
		if err != nil {
			t.Fatal(err)
		}
		if replaced {
			inner, ok := unit.(*workerUnit)
			if !ok {
				t.Fatalf("not a Postgres unit: %T", unit)
			}
			if _, err := inner.tx.Exec(t.Context(), `UPDATE partition_state SET epoch = epoch + 1`); err != nil {
				t.Fatal(err)
			}
		}
		err = unit.Commit(t.Context(), ledger.Changes{NextOffset: 1})
		if errors.Is(err, worker.ErrFenced) != replaced || !replaced && err != nil {
			t.Errorf("epoch replaced %v: %v", replaced, err)
		}
	}
}

// TestB033BeginLocksTheRow: from its beginning to its end a unit of work keeps every other writer from its row.
func TestB033BeginLocksTheRow(t *testing.T) {
	mark.Expect(t, "postgres.1 row lock comes first")
	pool := newState(t, 1, nil)
	store := NewWorkerStore(pool, "topic-id")
	owner := storetest.Install(t, store, 0, "a", 1)
	locked := func() bool {
		t.Helper()
		_, err := pool.Exec(t.Context(), `SELECT FROM partition_state WHERE partition = 0 FOR UPDATE NOWAIT`)
		if err != nil && sqlState(err) != "55P03" {
			t.Fatal(err)
		}
		return err != nil
	}
	if locked() {
		t.Error("the undamaged twin: the row is locked without a unit of work")
	}
	unit, err := store.Begin(t.Context(), 0, owner.Epoch, 0)
	if err != nil {
		t.Fatal(err)
	}
	during := locked()
	unit.Rollback(t.Context())
	if !during || locked() {
		t.Errorf("locked while a unit of work is open: %v; after it: %v", during, locked())
	}
}
