package pg_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/internal/testkit/pg"
)

// TestDatabasesAreApart: each call gives an empty database.
func TestDatabasesAreApart(t *testing.T) {
	first, second := pg.New(t), pg.New(t)
	if first == second {
		t.Fatalf("the same database twice: %s", first)
	}
	for _, url := range []string{first, second} {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), "CREATE TABLE mine (a int)"); err != nil {
			t.Error(err)
		}
		_ = conn.Close(t.Context())
	}
}
