package pgview

import (
	"context"
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
// are shown although they are withdrawn, or are not shown although they are not (S7).
func (v viewSnapshot) Guards(ctx context.Context) iter.Seq2[compare.Guard, error] {
	scan := func(rows pgx.Rows, g *compare.Guard) error { return rows.Scan(&g.Item, &g.Location, &g.Day, &g.Fault) }
	schema := v.applied.ViewSchema
	return func(yield func(compare.Guard, error) bool) {
		right, err := v.asCreated(ctx, allViews...)
		if err != nil {
			yield(compare.Guard{}, err)
			return
		}
		marks := ` UNION ALL ` + hidden(schema, "balances", "balance") + ` UNION ALL ` + hidden(schema, "alerts", "alert")
		if right {
			marks = ``
		}
		stream(ctx, v.tx, "the view's guards", scan, `SELECT item, location, day, fault FROM (`+
			versions(schema, "balance", day)+` UNION ALL `+versions(schema, "alert", day)+` UNION ALL `+versions(schema, "key_status", `''`)+
			marks+`) AS f (item, location, day, fault)
		ORDER BY item COLLATE "C", location COLLATE "C", day COLLATE "C", fault COLLATE "C"`)(yield)
	}
}

// versions selects the rows of a table whose version no envelope can have had.
func versions(schema, base, day string) string {
	return `SELECT ` + named + `, ` + day + `, '` + base + ` version ' || coalesce(version::text, 'null') FROM ` + table(schema, base) +
		` LEFT JOIN ` + table(schema, "stock_key") + ` k USING (key_id) WHERE version IS NULL OR version < 1`
}

// hidden selects the rows of which users are shown the contrary of their deletion mark.
func hidden(schema, view, base string) string {
	return `SELECT item, location, ` + day + `, CASE WHEN shown THEN 'withdrawn ` + base + ` is shown' ELSE '` + base + ` is not shown' END FROM (
			SELECT k.item, k.location, b.day, b.present, u.item IS NOT NULL AS shown FROM ` + table(schema, base) + ` b
			JOIN ` + table(schema, "stock_key") + ` k USING (key_id)
			LEFT JOIN (SELECT DISTINCT item, location, day FROM ` + table(schema, view) + `) u ON (u.item, u.location, u.day) = (k.item, k.location, b.day)
		) r WHERE present IS DISTINCT FROM shown`
}
