package pgview

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/verify"
)

// TestAsCreated: the definitions of the migration are recognized, whatever the schema's name, and those of any other view
// are not.
func TestAsCreated(t *testing.T) {
	ctx, url := t.Context(), pg.New(t)
	db, err := Open(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	admin, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close(context.Background()) })
	exec := func(sql string) {
		t.Helper()
		if _, err := admin.Exec(ctx, sql); err != nil {
			t.Fatalf("%v\n%s", err, sql)
		}
	}
	migration, err := os.ReadFile(filepath.Join("..", "..", "stages", "postgres", "migrations", "view", "0001_view.sql"))
	if err != nil {
		t.Fatal(err)
	}
	asCreated := func(schema string) (is bool) {
		t.Helper()
		applied := &verify.Applied{Identity: verify.Identity{ViewSchema: schema}, Namespace: &manifests.Namespace{}}
		err := db.snapshot(ctx, func(tx pgx.Tx) (err error) {
			is, err = viewSnapshot{tx: tx, applied: applied}.asCreated(ctx, allViews...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	for _, schema := range []string{"amends_shop_view", "amends_My-shop_view", "S"} {
		quoted := pgx.Identifier{schema}.Sanitize()
		exec(`CREATE SCHEMA ` + quoted + `; SET search_path = ` + quoted)
		exec(string(migration))
		if !asCreated(schema) {
			t.Fatalf("schema %s: the migration's own views are not recognized", schema)
		}
		for view, damage := range map[string]string{
			"balances": `SELECT k.item, k.location, b.day, b.close, coalesce(s.status, 'READY') AS key_status, true AS certified
				FROM balance b JOIN stock_key k USING (key_id) LEFT JOIN key_status s USING (key_id) WHERE b.present`,
			"alerts": `SELECT k.item, k.location, a.day, a.close, a.threshold, coalesce(s.status, 'READY') AS key_status,
				coalesce(s.status, 'READY') = 'READY' AS certified
				FROM alert a JOIN stock_key k USING (key_id) LEFT JOIN key_status s USING (key_id) WHERE a.present OR a.close = 7`,
			"balances_certified": `SELECT item, location, day, close FROM balances`,
			"alerts_certified":   `SELECT item, location, day, close, close AS threshold FROM alerts WHERE certified`,
		} {
			exec(`BEGIN`)
			exec(`CREATE OR REPLACE VIEW ` + view + ` AS ` + damage)
			exec(`COMMIT`)
			if asCreated(schema) {
				t.Errorf("schema %s: another view %s is taken for the migration's", schema, view)
			}
			exec(`DROP SCHEMA ` + quoted + ` CASCADE; CREATE SCHEMA ` + quoted)
			exec(string(migration))
		}
		exec(`DROP VIEW alerts_certified`)
		if asCreated(schema) {
			t.Errorf("schema %s: a view that is not there is taken for the migration's", schema)
		}
	}
}
