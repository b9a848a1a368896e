package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	ownerpg "amends.dev/amends/stages/owner/postgres"
)

// TestNothingIsCompiled: what is pending of whatever kind has no index, and is read without compiling its plan, which
// takes a hundred times as long as reading does.
func TestNothingIsCompiled(t *testing.T) {
	t.Parallel()
	pool := connect(t, newSchema(t), nil)
	compiled := func(settings ...string) bool {
		t.Helper()
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(t.Context()) }()
		for _, setting := range settings {
			if _, err := tx.Exec(t.Context(), setting); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := tx.Query(t.Context(), `EXPLAIN (ANALYZE) `+ownerpg.PendingSQL, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(lines) == 0 {
			t.Fatal(lines, err)
		}
		return strings.Contains(strings.Join(lines, "\n"), "JIT:")
	}
	if !compiled(ownerpg.PlansSQL, `SET LOCAL jit = on`) {
		t.Log("this server compiles nothing anyhow")
	}
	if compiled(ownerpg.PlansSQL) {
		t.Error("the plan is compiled")
	}
}
