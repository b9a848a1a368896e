package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/manifests"
)

// builtByStream is what built the state of a namespace that the worker fills.
const builtByStream = "stream"

// Origin says where the state of a namespace comes from, as Entry has it.
type Origin struct {
	// BuiltBy is "stream", or an engine with decoder and version (R26).
	BuiltBy string
	// Unfinished says what is still to be done; FinishNamespace clears it.
	Unfinished string
	// ExperimentOf names a namespace of another business configuration, or is empty (R02).
	ExperimentOf string
}

// FinishNamespace lets a namespace be used: nothing of it is left to do. It does nothing to one that is finished; an error
// wraps ErrNotApplied where there is none.
func (c *Catalog) FinishNamespace(ctx context.Context, name string) error {
	tag, err := c.pool.Exec(ctx, catalogFinishSQL, name)
	if err != nil {
		return fmt.Errorf("finish namespace %s: %w", name, err)
	}
	if tag.RowsAffected() != 1 {
		return fmt.Errorf("finish namespace %s: %w", name, ErrNotApplied)
	}
	return nil
}

// SchemaExists reports whether the database has a schema of that name.
func (c *Catalog) SchemaExists(ctx context.Context, schema string) (bool, error) {
	return schemaExists(ctx, c.pool, schema)
}

// Record creates the processing state of a namespace and its catalog row in one transaction: both are there afterwards,
// or neither. An error wraps ErrAlreadyApplied or ErrSchemaExists where something else made them first. Where the
// outcome of the commit is unknown, applying again finds out.
func (c *Catalog) Record(ctx context.Context, ns *manifests.Namespace, sourceTopicID, outputTopicID string) error {
	return c.RecordAs(ctx, ns, sourceTopicID, outputTopicID, Origin{BuiltBy: builtByStream})
}

// RecordAs is Record for a namespace whose state comes from somewhere else.
func (c *Catalog) RecordAs(ctx context.Context, ns *manifests.Namespace, sourceTopicID, outputTopicID string, o Origin) error {
	if err := c.record(ctx, ns, sourceTopicID, outputTopicID, o); err != nil {
		return fmt.Errorf("record namespace %s: %w", ns.Name, err)
	}
	return nil
}

func (c *Catalog) record(ctx context.Context, ns *manifests.Namespace, sourceTopicID, outputTopicID string, o Origin) error {
	tx, err := c.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer rollback(ctx, tx)
	_, err = tx.Exec(ctx, catalogInsertSQL, ns.Name, ns.Spec.SemanticsVersion, string(ns.SpecJSON()), ns.NamespaceDigest(),
		ns.BusinessDigest(sourceTopicID), ns.Spec.Source.Topic, sourceTopicID, ns.Spec.Output.Topic, outputTopicID,
		ns.StateSchema(), ns.ViewSchema(), o.BuiltBy, o.Unfinished, o.ExperimentOf)
	if sqlState(err) == "23505" {
		return fmt.Errorf("%w: %w", ErrAlreadyApplied, err)
	}
	if err != nil {
		return err
	}
	if err := CreateNamespace(ctx, tx, ns); err != nil {
		return err
	}
	return commit(ctx, tx)
}

// Views is the database that holds views; it may be the catalog's or another one. It is safe for concurrent use.
type Views struct {
	pool *Pool
}

// NewViews returns the views over a pool with any search_path. The caller closes the pool.
func NewViews(pool *Pool) *Views { return &Views{pool: pool} }

// Describe tells whose view a schema is, nil where the schema does not exist. A schema that is no view has an empty
// Namespace.
func (v *Views) Describe(ctx context.Context, schema string) (*manifests.View, error) {
	found, err := v.describe(ctx, schema)
	if err != nil {
		return nil, fmt.Errorf("look at view schema %s: %w", schema, err)
	}
	return found, nil
}

func (v *Views) describe(ctx context.Context, schema string) (*manifests.View, error) {
	if exists, err := schemaExists(ctx, v.pool, schema); err != nil || !exists {
		return nil, err
	}
	err := CheckLayout(ctx, v.pool, KindView, schema)
	var layout *LayoutError
	if errors.As(err, &layout) && layout.Have == 0 {
		return &manifests.View{}, nil
	}
	if err != nil {
		return nil, err
	}
	tx, err := v.pool.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, err
	}
	defer rollback(ctx, tx)
	found := &manifests.View{}
	err = InSchema(ctx, tx, schema, func() error {
		const sql = `SELECT name, namespace_digest, output_topic_id FROM namespace`
		return tx.QueryRow(ctx, sql).Scan(&found.Namespace, &found.NamespaceDigest, &found.OutputTopicID)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return &manifests.View{}, nil
	}
	return found, err
}

// Create creates an empty view of a namespace in one transaction. An error wraps ErrSchemaExists where it is there.
func (v *Views) Create(ctx context.Context, ns *manifests.Namespace, outputTopicID string) error {
	if err := v.create(ctx, ns, outputTopicID); err != nil {
		return fmt.Errorf("create the view of namespace %s: %w", ns.Name, err)
	}
	return nil
}

func (v *Views) create(ctx context.Context, ns *manifests.Namespace, outputTopicID string) error {
	tx, err := v.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer rollback(ctx, tx)
	// CREATE SCHEMA of a name that another transaction is creating fails with an obscure error; waiting for it does not.
	if err := lockSchema(ctx, tx, ns.ViewSchema()); err != nil {
		return err
	}
	if err := CreateView(ctx, tx, ns, ns.NamespaceDigest(), outputTopicID); err != nil {
		return err
	}
	return commit(ctx, tx)
}

func schemaExists(ctx context.Context, q querier, schema string) (bool, error) {
	var exists bool
	err := q.QueryRow(ctx, `SELECT to_regnamespace($1) IS NOT NULL`, quote(schema)).Scan(&exists)
	if err != nil {
		return false, fmt.Errorf("look for schema %s: %w", schema, err)
	}
	return exists, nil
}
