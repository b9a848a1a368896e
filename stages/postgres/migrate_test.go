package postgres

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/manifests"
)

func open(t *testing.T, url, schema string) *pgxpool.Pool {
	t.Helper()
	pool, err := Connect(t.Context(), Options{URL: url, Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func testNamespace(name string, partitions int32) *manifests.Namespace {
	return &manifests.Namespace{Name: name, Spec: manifests.Spec{
		SemanticsVersion: 1,
		Source:           manifests.Source{Topic: "in", Partitions: partitions, Partitioner: "murmur2", MaxRecordBytes: 65536},
		Output:           manifests.Output{Topic: "out", Partitions: 2},
		StockKeys: []manifests.StockKey{
			{Item: "widget", Location: "berlin", OpeningBalance: 100, ReorderThreshold: 60},
			{Item: "widget", Location: "köln \u2028", OpeningBalance: -1 << 63, ReorderThreshold: 1<<63 - 1},
		},
	}}
}

func inTx(t *testing.T, pool *pgxpool.Pool, f func(tx pgx.Tx) error) error {
	t.Helper()
	return pgx.BeginFunc(t.Context(), pool, f)
}

// TestMigrateConcurrently: calls at once leave every migration applied once.
func TestMigrateConcurrently(t *testing.T) {
	pool := open(t, pg.New(t), "")
	for _, kind := range []Kind{KindCatalog, KindNamespace, KindView, KindOwner} {
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if err := Migrate(context.Background(), pool, kind, "s "+string(kind)); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if err := CheckLayout(t.Context(), pool, kind, "s "+string(kind)); err != nil {
			t.Error(err)
		}
	}
}

// TestLayoutOfAnotherVersionIsRefused: newer, missing and altered layouts are told apart, and nothing is changed.
func TestLayoutOfAnotherVersionIsRefused(t *testing.T) {
	pool := open(t, pg.New(t), "")
	ctx := t.Context()
	var layout *LayoutError
	if err := CheckLayout(ctx, pool, KindCatalog, CatalogSchema); !errors.As(err, &layout) || layout.Have != 0 {
		t.Fatalf("missing schema: %v", err)
	}
	if err := Migrate(ctx, pool, KindCatalog, CatalogSchema); err != nil {
		t.Fatal(err)
	}
	if err := CheckLayout(ctx, pool, KindCatalog, CatalogSchema); err != nil {
		t.Fatalf("undamaged twin: %v", err)
	}
	if _, err := pool.Exec(ctx, `INSERT INTO amends.schema_version VALUES ('catalog', 99, 'x')`); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"Migrate":     Migrate(ctx, pool, KindCatalog, CatalogSchema),
		"CheckLayout": CheckLayout(ctx, pool, KindCatalog, CatalogSchema),
	} {
		if !errors.As(err, &layout) || layout.Have != 99 || !strings.Contains(err.Error(), "use a newer amendsctl") {
			t.Errorf("%s of a newer layout: %v", name, err)
		}
	}
	if _, err := pool.Exec(ctx, `DELETE FROM amends.schema_version WHERE version = 99`); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(ctx, `UPDATE amends.schema_version SET sha256 = 'other'`); err != nil {
		t.Fatal(err)
	}
	if err := Migrate(ctx, pool, KindCatalog, CatalogSchema); err == nil || !strings.Contains(err.Error(), "catalog/0001_catalog.sql is other…, this build's is ") {
		t.Errorf("altered migration: %v", err)
	}
}

// TestCreateNamespace: everything is there after the caller's commit, nothing after its rollback, and a taken schema is
// refused (R04).
func TestCreateNamespace(t *testing.T) {
	pool := open(t, pg.New(t), CatalogSchema)
	ns := testNamespace("shop-1", 3)
	stop := errors.New("caller gives up")
	err := inTx(t, pool, func(tx pgx.Tx) error {
		if err := CreateNamespace(t.Context(), tx, ns); err != nil {
			t.Error(err)
		}
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	create := func(tx pgx.Tx) error {
		if err := CreateNamespace(t.Context(), tx, ns); err != nil {
			return err
		}
		var path string
		if err := tx.QueryRow(t.Context(), `SHOW search_path`).Scan(&path); err != nil {
			return err
		}
		if path != `"amends"` {
			t.Errorf("search_path is left at %s", path)
		}
		return CreateSchema(t.Context(), tx, KindView, ViewSchema(ns.Name))
	}
	if err := inTx(t, pool, create); err != nil {
		t.Fatal(err)
	}
	if err := inTx(t, pool, create); !errors.Is(err, ErrSchemaExists) {
		t.Errorf("second creation: %v", err)
	}
	state := open(t, pool.Config().ConnString(), StateSchema(ns.Name))
	var keys, partitions, relays int
	var item, location string
	var opening, threshold int64
	err = state.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM stock_key), (SELECT count(*) FROM partition_state),
		(SELECT count(*) FROM relay_state), item, location, opening_balance, reorder_threshold FROM stock_key WHERE key_id = 1`).
		Scan(&keys, &partitions, &relays, &item, &location, &opening, &threshold)
	if err != nil {
		t.Fatal(err)
	}
	key := ns.Spec.StockKeys[1]
	if keys != 2 || partitions != 3 || relays != 3 || item != key.Item || location != key.Location ||
		opening != key.OpeningBalance || threshold != key.ReorderThreshold {
		t.Errorf("got %d keys, %d and %d partitions, %q %q %d %d", keys, partitions, relays, item, location, opening, threshold)
	}
}

// TestB041NoCommonLock: the lock key is 64 bits wide; 200,000 schema names meet on none.
func TestB041NoCommonLock(t *testing.T) {
	pool := open(t, pg.New(t), "")
	var collisions int
	err := pool.QueryRow(t.Context(), `SELECT count(*) - count(DISTINCT hashtextextended('amends schema amends_n' || i, 0))
		FROM generate_series(1, 200000) i`).Scan(&collisions)
	if err != nil || collisions != 0 {
		t.Fatalf("%d collisions, %v", collisions, err)
	}
}

// TestConnectErrorsHideThePassword: one line that names the target and not the secret, whatever is wrong with the URL: pgx
// itself masks a password only where it recognizes one.
func TestConnectErrorsHideThePassword(t *testing.T) {
	for _, url := range []string{
		"postgres://u:hunter2@127.0.0.1:1/db", "postgres://u:hunter2@[::1:1/db", "postgres://u:hunter2@127.0.0.1:1/db?sslmode=odd",
		"postgres://u:p@hunter2@h/db?sslmode=odd", "postgres://u:hunter2/x@h/db", "postgres://u:hunter2%zz@h/db",
		"host=h password = hunter2 port=odd", "host=h password = 'hunter2 x' port=odd", `password='a\'b hunter2' port=odd`,
		"PASSWORD=hunter2 host=h port=odd", "host=h sslpassword=hunter2 sslmode=odd", "postgres://h/db?sslpassword=hunter2&sslmode=odd",
		"postgres://u@h/db?password=hunter2&pool_max_conns=odd", "hunter2",
	} {
		_, err := Connect(t.Context(), Options{URL: url})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestConnectRefusesOtherEncodings: LATIN1 cannot hold every transaction ID. UTF8, and SQL_ASCII, which looks at nothing, do.
func TestConnectRefusesOtherEncodings(t *testing.T) {
	url := pg.New(t)
	admin := open(t, url, "")
	database := admin.Config().ConnConfig.Database
	for encoding, want := range map[string]error{"UTF8": nil, "SQL_ASCII": nil, "LATIN1": ErrEncoding} {
		name := "encoding_" + strings.ToLower(encoding)
		sql := `CREATE DATABASE ` + name + ` ENCODING '` + encoding + `' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
		pool, err := Connect(t.Context(), Options{URL: strings.Replace(url, "/"+database, "/"+name, 1)})
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", encoding, err, want)
		}
		if err == nil {
			const text = "\u65e5\u672c"
			var back string
			if err := pool.QueryRow(t.Context(), `SELECT $1::text`, text).Scan(&back); err != nil || back != text {
				t.Errorf("%s: %q came back as %q, %v", encoding, text, back, err)
			}
			pool.Close()
		}
		if _, err := admin.Exec(t.Context(), `DROP DATABASE `+name+` WITH (FORCE)`); err != nil {
			t.Error(err)
		}
	}
}

// TestSessionSettings: what every connection runs with, whatever role and database say (B030, B050).
func TestSessionSettings(t *testing.T) {
	url := pg.New(t)
	admin := open(t, url, "")
	if _, err := admin.Exec(t.Context(), `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone = ''America/New_York''', current_database()); END $$`); err != nil {
		t.Fatal(err)
	}
	pool := open(t, url, "amends_x")
	var zone, idle, path string
	err := pool.QueryRow(t.Context(), `SELECT current_setting('timezone'), current_setting('idle_in_transaction_session_timeout'),
		current_setting('search_path')`).Scan(&zone, &idle, &path)
	if err != nil || zone != "UTC" || idle != "20s" || path != `"amends_x"` {
		t.Errorf("got %q %q %q, %v", zone, idle, path, err)
	}
}
