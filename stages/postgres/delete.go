package postgres

import (
	"context"
	_ "embed" // the SQL text
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed sql/catalog/mark.sql
	catalogMarkSQL string
	//go:embed sql/delete/connected.sql
	deleteConnectedSQL string
)

// deletionBegun is what is unfinished of a namespace that is being deleted.
const deletionBegun = "its deletion was begun; amendsctl delete namespace finishes it"

// ErrForeignView is wrapped where the schema named as a namespace's view is none of its own.
var ErrForeignView = errors.New("not the view of this namespace")

// ApplicationName is what the program of a stage calls itself in a session on behalf of a namespace, so that others can
// see that it runs.
func ApplicationName(stage, namespace string) string { return "amends " + stage + " " + namespace }

// Connected returns which of the stages are connected to the pool's database on behalf of a namespace.
func Connected(ctx context.Context, pool *Pool, namespace string, stages ...string) ([]string, error) {
	names := make([]string, 0, len(stages))
	byName := map[string]string{}
	for _, stage := range stages {
		name := ApplicationName(stage, namespace)
		names, byName[name] = append(names, name), stage
	}
	found, err := readRows(ctx, pool, func(rows pgx.Rows, name *string) error { return rows.Scan(name) }, deleteConnectedSQL, names)
	if err != nil {
		return nil, fmt.Errorf("look for running stages: %w", err)
	}
	for i, name := range found {
		found[i] = byName[name]
	}
	return found, nil
}

// Entry returns the row of one namespace, whatever state it is in. An error wraps ErrNotApplied where there is none.
func (c *Catalog) Entry(ctx context.Context, name string) (Entry, error) {
	missing, err := c.missing(ctx)
	if err != nil {
		return Entry{}, err
	}
	var entries []Entry
	if !missing && name != "" {
		if entries, err = readEntries(ctx, c.pool, name); err != nil {
			return Entry{}, err
		}
	}
	if len(entries) == 0 {
		return Entry{}, fmt.Errorf("namespace %s: %w", name, ErrNotApplied)
	}
	return entries[0], nil
}

// BeginDeletion makes every verb refuse the namespace from now on, and returns what AbandonDeletion needs.
func (c *Catalog) BeginDeletion(ctx context.Context, name string) (former string, err error) {
	err = c.pool.QueryRow(ctx, catalogMarkSQL, name, deletionBegun).Scan(&former)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrNotApplied
	}
	if err != nil {
		return "", fmt.Errorf("begin to delete namespace %s: %w", name, err)
	}
	return former, nil
}

// AbandonDeletion lets a namespace be used again of which nothing was deleted yet.
func (c *Catalog) AbandonDeletion(ctx context.Context, name, former string) error {
	var now string
	if err := c.pool.QueryRow(ctx, catalogMarkSQL, name, former).Scan(&now); err != nil {
		return fmt.Errorf("give up deleting namespace %s: %w", name, err)
	}
	return nil
}

// Delete drops the processing state of a namespace and removes its row, in one transaction: what else there is of it has to
// be gone before, because nothing would name it afterwards.
func (c *Catalog) Delete(ctx context.Context, e Entry) error {
	if err := c.remove(ctx, e); err != nil {
		return fmt.Errorf("delete namespace %s: %w", e.Name, err)
	}
	return nil
}

func (c *Catalog) remove(ctx context.Context, e Entry) error {
	tx, err := c.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer rollback(ctx, tx)
	if err := dropSchema(ctx, tx, e.StateSchema); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM namespace WHERE name = $1`, e.Name); err != nil {
		return err
	}
	// Nobody writes a source topic that no namespace reads.
	const lease = `DELETE FROM writer_lease WHERE source_topic_id = $1
		AND NOT EXISTS (SELECT FROM namespace WHERE source_topic_id = $1)`
	if _, err := tx.Exec(ctx, lease, e.SourceTopicID); err != nil {
		return err
	}
	return commit(ctx, tx)
}

// Owns reports whether a namespace's view is there. An error wraps ErrForeignView where its schema is none of this
// namespace's, or is a *LayoutError where it is of another build.
func (v *Views) Owns(ctx context.Context, e Entry) (bool, error) {
	found, err := v.Describe(ctx, e.ViewSchema)
	switch {
	case err != nil || found == nil:
		return false, err
	case found.Namespace != e.Name:
		return false, fmt.Errorf("schema %s holds the view of %q: %w", e.ViewSchema, found.Namespace, ErrForeignView)
	}
	return true, nil
}

// Drop drops the view of a namespace, and does nothing where it is gone. Errors are those of Owns, or faults.
func (v *Views) Drop(ctx context.Context, e Entry) error {
	if there, err := v.Owns(ctx, e); err != nil || !there {
		return err
	}
	tx, err := v.pool.Begin(ctx)
	if err == nil {
		defer rollback(ctx, tx)
		if err = dropSchema(ctx, tx, e.ViewSchema); err == nil {
			err = commit(ctx, tx)
		}
	}
	if err != nil {
		return fmt.Errorf("delete the view of namespace %s: %w", e.Name, err)
	}
	return nil
}

// dropSchema drops a schema with everything in it, in the caller's transaction, and does not wait for ever for whoever
// uses it.
func dropSchema(ctx context.Context, tx pgx.Tx, schema string) error {
	if err := lockSchema(ctx, tx, schema); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `SELECT set_config('lock_timeout', '10s', true)`); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DROP SCHEMA IF EXISTS `+quote(schema)+` CASCADE`); err != nil {
		return fmt.Errorf("drop schema %s: %w", schema, err)
	}
	return nil
}

// RelayLease tells whether a relay holds the lease of the namespace whose state schema is given, and which one (R17). A schema
// that is not there, or of another layout, has no lease.
func RelayLease(ctx context.Context, pool *Pool, schema string) (live bool, holder string, err error) {
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return false, "", fmt.Errorf("read the relay lease of %s: %w", schema, err)
	}
	defer rollback(ctx, tx)
	err = InSchema(ctx, tx, schema, func() error {
		var term int64
		return tx.QueryRow(ctx, relayHolderSQL).Scan(&holder, &term, &live)
	})
	if errors.Is(err, pgx.ErrNoRows) || sqlState(err) == "42P01" {
		return false, "", nil
	}
	if err != nil {
		return false, "", fmt.Errorf("read the relay lease of %s: %w", schema, err)
	}
	return live, holder, nil
}
