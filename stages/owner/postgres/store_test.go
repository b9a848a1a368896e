package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/owner/ownertest"
	ownerpg "amends.dev/amends/stages/owner/postgres"
	"amends.dev/amends/stages/postgres"
)

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

// subject is a store for the suite, in a schema that other tests of the suite use too.
func subject(t *testing.T, url string) *ownertest.Subject {
	t.Helper()
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

func TestStore(t *testing.T) {
	url := newSchema(t)
	ownertest.Suite(t, func(t *testing.T) *ownertest.Subject { return subject(t, url) })
}

func TestB134SameInboxOtherContent(t *testing.T) { ownertest.B134(t, subject(t, newSchema(t))) }

func TestB135FiftyAtOnce(t *testing.T) { ownertest.B135(t, subject(t, newSchema(t))) }

func TestB139RedeliveryAfterHandOff(t *testing.T) { ownertest.B139(t, subject(t, newSchema(t))) }

func TestR28LatestIsPublishedOnce(t *testing.T) { ownertest.R28(t, subject(t, newSchema(t))) }
