package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/manifests"
)

// CatalogSchema is the schema of the catalog of all namespaces of one database.
const CatalogSchema = "amends"

// ErrSchemaExists is returned where a schema to be created is there already: another namespace's, or a leftover (R04).
var ErrSchemaExists = errors.New("schema exists")

// StateSchema is the schema of a namespace's processing state. A namespace name is a DNS label of at most 40 bytes
// (R04), so the name fits Postgres's 63 and cannot end as a view's does.
func StateSchema(namespace string) string { return "amends_" + namespace }

// ViewSchema is the schema of a namespace's view.
func ViewSchema(namespace string) string { return "amends_" + namespace + "_view" }

// InSchema runs f with the transaction's search_path set to one schema, and puts the former one back. An error of f is
// returned as it is; the transaction is then of no more use.
func InSchema(ctx context.Context, tx pgx.Tx, schema string, f func() error) error {
	var former string
	if err := tx.QueryRow(ctx, `SELECT current_setting('search_path')`).Scan(&former); err != nil {
		return fmt.Errorf("read search_path: %w", err)
	}
	set := func(path string) error {
		if _, err := tx.Exec(ctx, `SELECT set_config('search_path', $1, true)`, path); err != nil {
			return fmt.Errorf("set search_path to %s: %w", path, err)
		}
		return nil
	}
	if err := set(quote(schema)); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return set(former)
}

// CreateSchema creates a schema and all tables of its kind in the caller's transaction. It fails with ErrSchemaExists
// where the schema is there already.
func CreateSchema(ctx context.Context, tx pgx.Tx, kind Kind, schema string) error {
	if _, err := tx.Exec(ctx, `CREATE SCHEMA `+quote(schema)); err != nil {
		if sqlState(err) == "42P06" {
			return fmt.Errorf("create schema %s: %w", schema, ErrSchemaExists)
		}
		return fmt.Errorf("create schema %s: %w", schema, err)
	}
	return InSchema(ctx, tx, schema, func() error { return migrateAll(ctx, tx, kind, schema) })
}

// CreateNamespace creates the processing state of a namespace in the caller's transaction: its schema, all stock keys,
// one row of progress for each partition, for worker and relay, and the tables of durable owners. It fails with
// ErrSchemaExists where the schema is there already.
func CreateNamespace(ctx context.Context, tx pgx.Tx, ns *manifests.Namespace) error {
	schema := StateSchema(ns.Name)
	if err := CreateSchema(ctx, tx, KindNamespace, schema); err != nil {
		return err
	}
	return InSchema(ctx, tx, schema, func() error {
		if err := migrateAll(ctx, tx, KindOwner, schema); err != nil {
			return err
		}
		if err := copyStockKeys(ctx, tx, ns.Spec.StockKeys); err != nil {
			return err
		}
		for _, sql := range []string{
			`INSERT INTO partition_state (partition) SELECT generate_series(0, $1 - 1)`,
			`INSERT INTO relay_state (partition) SELECT generate_series(0, $1 - 1)`,
		} {
			if _, err := tx.Exec(ctx, sql, ns.Spec.Source.Partitions); err != nil {
				return fmt.Errorf("prepare the partitions of %s: %w", schema, err)
			}
		}
		return nil
	})
}

// copyStockKeys loads the configured keys under their IDs, which are their indexes.
func copyStockKeys(ctx context.Context, tx pgx.Tx, keys []manifests.StockKey) error {
	columns := []string{"key_id", "item", "location", "opening_balance", "reorder_threshold"}
	row := make([]any, len(columns))
	i := 0
	source := pgx.CopyFromFunc(func() ([]any, error) {
		if i == len(keys) {
			return nil, nil
		}
		key := &keys[i]
		row[0], row[1], row[2], row[3], row[4] = int32(i), key.Item, key.Location, key.OpeningBalance, key.ReorderThreshold
		i++
		return row, nil
	})
	if _, err := tx.CopyFrom(ctx, pgx.Identifier{"stock_key"}, columns, source); err != nil {
		return fmt.Errorf("load stock keys: %w", err)
	}
	return nil
}
