package pgview

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/verify"
)

var _ verify.Internals = viewSnapshot{}

// Keys implements verify.Internals. Which number a key has in the view is its own affair; two of one name count twice.
func (v viewSnapshot) Keys(ctx context.Context) iter.Seq2[compare.Key, error] {
	scan := func(rows pgx.Rows, k *compare.Key) error { return rows.Scan(&k.Item, &k.Location) }
	return stream(ctx, v.tx, "the view's stock keys", scan, `SELECT item, location FROM `+table(v.applied.ViewSchema, "stock_key")+
		` ORDER BY item COLLATE "C", location COLLATE "C"`)
}

// Guards implements verify.Internals: rows with a version below 1, which no envelope can have had, and rows that users
// are shown although they are withdrawn, or are not shown although they are not (S7). A view without either is read once.
func (v viewSnapshot) Guards(ctx context.Context) (rows int64, damaged iter.Seq2[compare.Guard, error], err error) {
	right, err := v.asCreated(ctx, allViews...)
	if err != nil {
		return 0, nil, err
	}
	schema, wrong := v.applied.ViewSchema, int64(0)
	sql := `SELECT sum(n)::bigint, sum(wrong)::bigint FROM (` +
		counted(schema, "balance") + ` UNION ALL ` + counted(schema, "alert") + ` UNION ALL ` + counted(schema, "key_status") + `) AS t (n, wrong)`
	if err := v.tx.QueryRow(ctx, sql).Scan(&rows, &wrong); err != nil {
		return 0, nil, fmt.Errorf("count the view's guards: %w", err)
	}
	if right && wrong == 0 {
		return rows, func(func(compare.Guard, error) bool) {}, nil
	}
	marks := ` UNION ALL ` + hidden(schema, "balances", "balance") + ` UNION ALL ` + hidden(schema, "alerts", "alert")
	if right {
		marks = ``
	}
	scan := func(rows pgx.Rows, g *compare.Guard) error { return rows.Scan(&g.Item, &g.Location, &g.Day, &g.Fault) }
	return rows, stream(ctx, v.tx, "the view's guards", scan, `SELECT item, location, day, fault FROM (`+
		versions(schema, "balance", day)+` UNION ALL `+versions(schema, "alert", day)+` UNION ALL `+versions(schema, "key_status", `''`)+
		marks+`) AS f (item, location, day, fault)
		ORDER BY item COLLATE "C", location COLLATE "C", day COLLATE "C", fault COLLATE "C"`), nil
}

// wrongVersion is true of a row whose version no envelope can have had.
const wrongVersion = `version IS NULL OR version < 1`

// counted counts the rows of a table, and those of a wrong version among them.
func counted(schema, base string) string {
	return `SELECT count(*), count(*) FILTER (WHERE ` + wrongVersion + `) FROM ` + table(schema, base)
}

// versions selects the rows of a table whose version no envelope can have had.
func versions(schema, base, day string) string {
	return `SELECT ` + named + `, ` + day + `, '` + base + ` version ' || coalesce(version::text, 'null') FROM ` + table(schema, base) +
		` LEFT JOIN ` + table(schema, "stock_key") + ` k USING (key_id) WHERE ` + wrongVersion
}

// hidden selects the rows of which users are shown the contrary of their deletion mark.
func hidden(schema, view, base string) string {
	return `SELECT item, location, ` + day + `, CASE WHEN shown THEN 'withdrawn ` + base + ` is shown' ELSE '` + base + ` is not shown' END FROM (
			SELECT k.item, k.location, b.day, b.present, u.item IS NOT NULL AS shown FROM ` + table(schema, base) + ` b
			JOIN ` + table(schema, "stock_key") + ` k USING (key_id)
			LEFT JOIN (SELECT DISTINCT item, location, day FROM ` + table(schema, view) + `) u ON (u.item, u.location, u.day) = (k.item, k.location, b.day)
		) r WHERE present IS DISTINCT FROM shown`
}
