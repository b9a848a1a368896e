package pgview

import (
	"context"
	"fmt"

	"amends.dev/amends/oracle/verify"
)

// layouts are the layout versions that the SQL of this package reads, by kind of schema.
var layouts = map[string]int{"catalog": 1, "namespace": 1, "view": 1}

// checkLayout refuses a schema of another layout version: its rows may mean something else. A schema without the table
// of versions, or a role that may not read it, decides nothing here.
func (d *DB) checkLayout(ctx context.Context, schema, kind string) error {
	var have int
	sql := `SELECT coalesce(max(version), 0) FROM ` + table(schema, "schema_version") + ` WHERE kind = $1`
	err := d.pool.QueryRow(ctx, sql, kind).Scan(&have)
	switch {
	case absent(err) || denied(err):
		return nil
	case err != nil:
		return fmt.Errorf("read the layout version of schema %s: %w", schema, err)
	case have != layouts[kind]:
		return fmt.Errorf("%w: schema %s is of %s layout version %d and this build reads %d: use the amendsctl that applied it",
			verify.ErrRefused, schema, kind, have, layouts[kind])
	}
	return nil
}
