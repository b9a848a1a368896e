package postgres

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// planned are statements that look for many rows by their keys, as one connection prepares them: their parameters, and a
// call of n of them.
var planned = map[string]struct {
	sql       *string
	arguments []string
}{
	"keys":             {&workerKeysSQL, []string{"k"}},
	"days":             {&workerDaysSQL, []string{"k"}},
	"authority":        {&workerAuthoritySQL, []string{"k", "txn"}},
	"key_authority":    {&workerKeyAuthoritySQL, []string{"k"}},
	"evidence":         {&workerEvidenceSQL, []string{"k", "txn", "one"}},
	"change_days":      {&workerChangeDaysSQL, []string{"k", "day", "one", "one", "one", "one", "yes", "one"}},
	"change_authority": {&workerChangeAuthoritySQL, []string{"k", "txn", "one", "kind", "one", "one", "yes", "one"}},
	"guard_balance":    {&viewGuardBalanceSQL, []string{"k", "day"}},
	"guard_alert":      {&viewGuardAlertSQL, []string{"k", "day"}},
	"guard_status":     {&viewGuardStatusSQL, []string{"k"}},
}

// columns are the arrays that the arguments name, i being the number of an element.
var columns = map[string]string{
	"k": "(i * 7 % 2000)::integer", "txn": "'t' || i", "one": "1::bigint", "day": "(i / 2000)::integer", "yes": "true", "kind": "1::smallint",
}

// call is the EXECUTE of a statement with n of everything. Arguments of EXECUTE are no queries, so they come as text.
func call(t *testing.T, conn *pgxpool.Conn, name string, n int) string {
	t.Helper()
	var arguments []string
	for _, argument := range planned[name].arguments {
		var text string
		sql := fmt.Sprintf(`SELECT array_agg(%s ORDER BY i)::text FROM generate_series(0, %d) i`, columns[argument], n-1)
		if err := conn.QueryRow(t.Context(), sql).Scan(&text); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, "'"+text+"'")
	}
	return fmt.Sprintf("EXECUTE test_%s (%s)", name, strings.Join(arguments, ", "))
}

// scansOf prepares the statements while the tables are empty, lets their plans be kept, fills the tables, which nobody
// analyzes, and returns those that then read a whole table, or are compiled: under the kept plans, and under new ones.
func scansOf(t *testing.T, pool *pgxpool.Pool) []string {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	do := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%.200s: %v", sql, err)
		}
	}
	do(`SELECT set_config('search_path', current_setting('search_path') || ', test_view', false)`)
	for _, table := range []string{"day_state", "authority", "evidence", "key_state", "balance", "alert", "key_status"} {
		do(`ALTER TABLE ` + table + ` SET (autovacuum_enabled = off)`)
	}
	names := slices.Sorted(maps.Keys(planned))
	for _, name := range names {
		do("PREPARE test_" + name + " AS " + *planned[name].sql)
		few := call(t, conn, name, 20)
		for range 7 { // from the sixth on a plan may be kept
			do(few)
		}
	}
	do(`INSERT INTO day_state SELECT k, d, 1, 1, 1, 0, false, 0 FROM generate_series(0, 1999) k, generate_series(0, 99) d`)
	do(`INSERT INTO authority SELECT i * 7 % 2000, 't' || i, 1, 1, 1, 1, false, i FROM generate_series(0, 199999) i`)
	do(`INSERT INTO evidence SELECT i * 7 % 2000, 't' || i, 1, 1, 1, 1, i FROM generate_series(0, 199999) i`)
	do(`INSERT INTO key_state SELECT i, 1, '{}', '{}' FROM generate_series(0, 199999) i`)
	do(`INSERT INTO balance SELECT k, DATE '1970-01-01' + d, 1, 1, true, '\x00' FROM generate_series(0, 1999) k, generate_series(0, 99) d`)
	do(`INSERT INTO alert SELECT k, DATE '1970-01-01' + d, 1, 1, 1, true, '\x00' FROM generate_series(0, 1999) k, generate_series(0, 99) d`)
	do(`INSERT INTO key_status SELECT i, 'READY', '{}', '{}', 1, '\x00' FROM generate_series(0, 199999) i`)
	var found []string
	for _, when := range []string{"kept plan", "new plan"} {
		for _, name := range names {
			for _, n := range []int{20, 2000} {
				rows, err := conn.Query(t.Context(), "EXPLAIN "+call(t, conn, name, n), pgx.QueryExecModeSimpleProtocol)
				if err != nil {
					t.Fatal(err)
				}
				lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
				if err != nil {
					t.Fatal(err)
				}
				if plan := strings.Join(lines, "\n"); strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "JIT") {
					found = append(found, fmt.Sprintf("%s, %d rows, %s", name, n, when))
					t.Logf("%s of %d rows, %s:\n%s", name, n, when, plan)
				}
			}
		}
		do(`DISCARD PLANS`)
	}
	return found
}

// TestPlansOfFreshTables: every statement that names its rows finds them by an index, however large the tables have become
// since the statement was planned, and though nobody analyzed them. With the planner's own choice it would not.
func TestPlansOfFreshTables(t *testing.T) {
	fresh := func(configure func(*pgxpool.Config)) *pgxpool.Pool {
		pool := newState(t, 1, configure)
		if err := Migrate(t.Context(), pool, KindView, "test_view"); err != nil {
			t.Fatal(err)
		}
		return pool
	}
	if found := scansOf(t, fresh(nil)); len(found) != 0 {
		t.Errorf("whole tables are read by: %v", found)
	}
	if t.Failed() {
		return
	}
	free := fresh(func(c *pgxpool.Config) {
		for name := range plans {
			delete(c.ConnConfig.RuntimeParams, name)
		}
	})
	if found := scansOf(t, free); len(found) == 0 {
		t.Error("this server needs no such settings: the test shows nothing")
	}
}
