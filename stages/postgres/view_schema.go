package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/manifests"
)

// CreateView creates the view of a namespace in the caller's transaction: its schema, what it belongs to, all stock keys,
// and one row of progress for each output partition. It fails with ErrSchemaExists where the schema is there already.
func CreateView(ctx context.Context, tx pgx.Tx, ns *manifests.Namespace, namespaceDigest, outputTopicID string) error {
	schema := ViewSchema(ns.Name)
	if err := CreateSchema(ctx, tx, KindView, schema); err != nil {
		return err
	}
	return InSchema(ctx, tx, schema, func() error {
		const belongs = `INSERT INTO namespace (name, namespace_digest, output_topic, output_topic_id) VALUES ($1, $2, $3, $4)`
		if _, err := tx.Exec(ctx, belongs, ns.Name, namespaceDigest, ns.Spec.Output.Topic, outputTopicID); err != nil {
			return fmt.Errorf("name the namespace of %s: %w", schema, err)
		}
		if err := copyViewKeys(ctx, tx, ns.Spec.StockKeys); err != nil {
			return err
		}
		const progress = `INSERT INTO view_progress (partition) SELECT generate_series(0, $1 - 1)`
		if _, err := tx.Exec(ctx, progress, ns.Spec.Output.Partitions); err != nil {
			return fmt.Errorf("prepare the partitions of %s: %w", schema, err)
		}
		return nil
	})
}

// copyViewKeys loads the names that the views show; openings and thresholds stay with the processing state.
func copyViewKeys(ctx context.Context, tx pgx.Tx, keys []manifests.StockKey) error {
	source := pgx.CopyFromSlice(len(keys), func(i int) ([]any, error) {
		return []any{int32(i), keys[i].Item, keys[i].Location}, nil
	})
	if _, err := tx.CopyFrom(ctx, pgx.Identifier{"stock_key"}, []string{"key_id", "item", "location"}, source); err != nil {
		return fmt.Errorf("load the view's stock keys: %w", err)
	}
	return nil
}

// ViewIdentityOf reads what a view schema belongs to, over a pool whose search_path is that schema.
func ViewIdentityOf(ctx context.Context, pool *pgxpool.Pool) (ViewIdentity, error) {
	var id ViewIdentity
	const sql = `SELECT name, namespace_digest, output_topic_id FROM namespace`
	if err := pool.QueryRow(ctx, sql).Scan(&id.Namespace, &id.Digest, &id.OutputTopicID); err != nil {
		return ViewIdentity{}, fmt.Errorf("read what the view belongs to: %w", err)
	}
	return id, nil
}
