package postgres

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/replay/memory"
	"amends.dev/amends/stages/replay/replaytest"
	"amends.dev/amends/stages/worker/workertest"
)

// TestReplay runs the suite of the replay's shell on Postgres, each namespace in a schema of its own of one database.
func TestReplay(t *testing.T) {
	admin := open(t, pg.New(t), "")
	count := 0
	replaytest.Run(t, func(t *testing.T, cfg *ledger.Config) replaytest.Subject {
		count++
		name := fmt.Sprintf("r%d", count)
		ns := *cfg.Namespace()
		ns.Name = name
		if err := inTx(t, admin, func(tx pgx.Tx) error { return CreateNamespace(t.Context(), tx, &ns) }); err != nil {
			t.Fatal(err)
		}
		pool, err := Connect(t.Context(), Options{URL: admin.Config().ConnString(), Schema: StateSchema(name), MaxConns: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		store := NewReplayStore(pool, cfg.SourceTopicID())
		return replaytest.Subject{
			Store: store, Worker: store.WorkerStore, Log: &memory.Log{},
			Tables: func(t *testing.T) workertest.Tables { return dump(t, pool) },
		}
	})
}
