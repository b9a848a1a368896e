package postgres

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker/shelltest"
	"amends.dev/amends/stages/worker/storetest"
	"amends.dev/amends/stages/worker/workertest"
)

// TestShell runs the suite of the worker's shell on Postgres, each namespace in a schema of its own of one database.
func TestShell(t *testing.T) {
	url := pg.New(t)
	admin := open(t, url, "")
	count := 0
	shelltest.Run(t, func(t *testing.T, cfg *ledger.Config) storetest.Subject {
		count++
		return subjectIn(t, admin, cfg, fmt.Sprintf("n%d", count), nil)
	})
}

// subjectIn creates a namespace under a name of its own and returns its store.
func subjectIn(t *testing.T, admin *pgxpool.Pool, cfg *ledger.Config, name string, configure func(*pgxpool.Config)) storetest.Subject {
	t.Helper()
	ns := *cfg.Namespace()
	ns.Name = name
	if err := inTx(t, admin, func(tx pgx.Tx) error { return CreateNamespace(t.Context(), tx, &ns) }); err != nil {
		t.Fatal(err)
	}
	pool, err := Connect(t.Context(), Options{URL: admin.Config().ConnString(), Schema: StateSchema(name), MaxConns: 4, Configure: configure})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return storetest.Subject{
		Store:  NewWorkerStore(pool, cfg.SourceTopicID()),
		Tables: func(t *testing.T) workertest.Tables { return dump(t, pool) },
	}
}
