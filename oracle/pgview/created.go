package pgview

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// asCreated reports whether SQL views that users read are defined as the migration defines them. Then they label each row by
// its key's status, show exactly the present rows, and their certified forms are their certified parts, all by definition;
// otherwise their rows have to tell. What another version of the server spells otherwise counts as another
// definition, which costs time and nothing else.
//
// Like a statement that reads an SQL view it goes by the definition of its own moment.
func (v viewSnapshot) asCreated(ctx context.Context, views ...string) (bool, error) {
	type definition struct{ view, text string }
	scan := func(rows pgx.Rows, d *definition) error { return rows.Scan(&d.view, &d.text) }
	sql := `SELECT c.relname, pg_catalog.pg_get_viewdef(c.oid) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind = 'v' AND c.relname = ANY ($2)`
	schema, found := v.applied.ViewSchema, 0
	for d, err := range stream(ctx, v.tx, "how the view is defined", scan, sql, schema, views) {
		if err != nil {
			return false, err
		}
		if slices.Contains(definitions[d.view], plain(d.text, schema)) {
			found++
		}
	}
	return found == len(views), nil
}

// plain is a definition on one line, without the schema.
func plain(text, schema string) string {
	text = strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ";")
	return strings.NewReplacer(pgx.Identifier{schema}.Sanitize()+".", "S.", schema+".", "S.").Replace(text)
}

// allViews are the SQL views that users read.
var allViews = []string{"balances", "alerts", "balances_certified", "alerts_certified"}

// definitions are those of the migration, as Postgres spells them: 16 and later leave out the qualifiers that 15 and earlier
// write.
var definitions = map[string][]string{
	"balances": {joined("b", "S.balance", "b.close")},
	"alerts":   {joined("a", "S.alert", "a.close, a.threshold")},
	"balances_certified": {
		`SELECT balances.item, balances.location, balances.day, balances.close FROM S.balances WHERE balances.certified`,
		`SELECT item, location, day, close FROM S.balances WHERE certified`,
	},
	"alerts_certified": {
		`SELECT alerts.item, alerts.location, alerts.day, alerts.close, alerts.threshold FROM S.alerts WHERE alerts.certified`,
		`SELECT item, location, day, close, threshold FROM S.alerts WHERE certified`,
	},
}

// joined is the definition of an SQL view over a base table.
func joined(alias, base, columns string) string {
	const status = `COALESCE(s.status, 'READY'::text)`
	return fmt.Sprintf(`SELECT k.item, k.location, %[1]s.day, %[3]s, %[4]s AS key_status, (%[4]s = 'READY'::text) AS certified `+
		`FROM ((%[2]s %[1]s JOIN S.stock_key k USING (key_id)) LEFT JOIN S.key_status s USING (key_id)) WHERE %[1]s.present`,
		alias, base, columns, status)
}
