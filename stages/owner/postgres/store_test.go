package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/owner/ownertest"
	ownerpg "amends.dev/amends/stages/owner/postgres"
	"amends.dev/amends/stages/postgres"
)

// TestMain finds connections and pools that a test, or the code under test, left open.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// schema is where the tests' owners live.
const schema = "owners"

// newSchema makes the owner layout in a database of its own and returns the database's URL.
func newSchema(t testing.TB) string {
	t.Helper()
	url := pg.New(t)
	if err := postgres.Migrate(t.Context(), connect(t, url, nil), postgres.KindOwner, schema); err != nil {
		t.Fatal(err)
	}
	return url
}

// connect opens a pool on the owners.
func connect(t testing.TB, url string, configure func(*pgxpool.Config)) *postgres.Pool {
	t.Helper()
	pool, err := postgres.Connect(t.Context(), postgres.Options{URL: url, Schema: schema, Configure: configure})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// subject is an empty store for the suite.
func subject(t *testing.T) *ownertest.Subject {
	t.Helper()
	url := newSchema(t)
	pool := connect(t, url, nil)
	return &ownertest.Subject{
		Store:  ownerpg.New(pool),
		Reopen: func(t *testing.T) owner.Store { return ownerpg.New(connect(t, url, nil)) },
		Crashing: func(t *testing.T) owner.Store {
			var cut cutter
			store := ownerpg.New(connect(t, url, cut.configure))
			cut.arm(cutBefore)
			return store
		},
		Place: func(t *testing.T, ownerID string, position uint64) {
			if _, err := pool.Exec(t.Context(), `UPDATE owner SET position = $2 WHERE owner_id = $1`, ownerID, position); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func TestStore(t *testing.T) { ownertest.Suite(t, subject) }
