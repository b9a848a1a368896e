package postgres_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	ownerpg "amends.dev/amends/stages/owner/postgres"
)

// TestR29Plans: statements that are planned once and for all while their tables are empty, vacuumed and analyzed, as that of
// pending effects is most of the time, look for each row by itself, from the first column of an index on. A plan that has a
// table on the outside of a loop, or looks by less, is cheap then, and visits all of the table for each row once it is large.
func TestR29Plans(t *testing.T) {
	pool := connect(t, newSchema(t), nil)
	for _, table := range []string{"owner", "owner_inbox", "owner_effect", "owner_pending", "owner_receipt"} {
		if _, err := pool.Exec(t.Context(), `VACUUM ANALYZE `+table); err != nil {
			t.Fatal(err)
		}
	}
	// The first columns, by index.
	first := map[string]string{
		"owner_pkey": "owner_no", "owner_id_unique": "owner_id", "owner_inbox_pkey": "owner_no", "owner_effect_pkey": "owner_no",
		"owner_pending_pkey": "kind", "owner_pending_lane": "lane",
		"owner_receipt_pkey": "owner_no", "owner_receipt_owner_no_effect_id_key": "owner_no",
	}
	scan := regexp.MustCompile(`Index (?:Only )?Scan using (\w+) on [^\n]*\n\s*Index Cond: \(+(\w+) = `)
	for name, c := range map[string]struct {
		sql, args string
		scans     int
	}{
		"inbox":           {ownerpg.InboxSQL, `'{o}', '{i}'`, 2},
		"effects":         {ownerpg.EffectsSQL, `'{o}', '{e}'`, 3},
		"receipts":        {ownerpg.ReceiptsSQL, `'{o}', '{r}'`, 2},
		"effect receipts": {ownerpg.EffectReceiptsSQL, `'{o}', '{e}'`, 2},
		"settle":          {ownerpg.SettleSQL, `'{e}', '{1}'`, 1},
		"pending":         {ownerpg.PendingOfLaneSQL, `'a/b/c/', 10, 'a/b/c'`, 3},
	} {
		plan := planOf(t, pool.Config().ConnConfig, c.sql, c.args)
		found := scan.FindAllStringSubmatch(plan, -1)
		good := len(found) == c.scans && strings.Count(plan, "Index ")-strings.Count(plan, "Index Cond") == c.scans
		for _, f := range found {
			good = good && first[f[1]] == f[2]
		}
		if !good || strings.Contains(plan, "Join Filter") || strings.Contains(plan, "Seq Scan") {
			t.Errorf("%s:\n%s", name, plan)
		}
	}
}

// planOf is the generic plan of a statement.
func planOf(t *testing.T, config *pgx.ConnConfig, sql, args string) string {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), config.Copy())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	run := func(sql string) string {
		t.Helper()
		results, err := conn.PgConn().Exec(t.Context(), sql).ReadAll()
		if err != nil {
			t.Fatalf("%v\n%s", err, sql)
		}
		var lines []string
		for _, row := range results[0].Rows {
			lines = append(lines, string(row[0]))
		}
		return strings.Join(lines, "\n")
	}
	run(`BEGIN`)
	run(ownerpg.PlansSQL)
	run(`SET LOCAL plan_cache_mode = force_generic_plan`)
	run(fmt.Sprint(`PREPARE p AS `, sql))
	return run(fmt.Sprintf(`EXPLAIN EXECUTE p (%s)`, args))
}
