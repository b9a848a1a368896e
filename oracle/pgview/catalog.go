package pgview

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/verify"
)

// Applied implements verify.State.
func (d *DB) Applied(ctx context.Context, name string) (*verify.Applied, error) {
	if err := d.checkLayout(ctx, catalogSchema, "catalog"); err != nil {
		return nil, err
	}
	name, err := d.resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	var applied *verify.Applied
	err = d.snapshot(ctx, func(tx pgx.Tx) error {
		identity, err := identityOf(ctx, tx, name)
		if err != nil {
			return err
		}
		if identity.Unfinished != "" {
			return fmt.Errorf("%w: namespace %s is unfinished: %s; run that command again to finish it, or delete the namespace",
				verify.ErrRefused, name, identity.Unfinished)
		}
		if err := d.checkLayout(ctx, identity.StateSchema, "namespace"); err != nil {
			return err
		}
		spec, err := specOf(ctx, tx, name)
		if err != nil {
			return err
		}
		keys, err := stockKeys(ctx, tx, identity.StateSchema)
		if absent(err) || err == nil && len(keys) == 0 {
			return fmt.Errorf("%w: the processing state of namespace %s is lost: schema %s has no stock keys; rebuild from the source topic into a new namespace",
				verify.ErrRefused, name, identity.StateSchema)
		}
		if err != nil {
			return err
		}
		ns, err := manifests.FromSpec(name, spec, keys)
		if err != nil {
			return err
		}
		applied = &verify.Applied{Identity: identity, Namespace: ns}
		return nil
	})
	return applied, err
}

// specOf reads the stored spec of a namespace, if it is of the semantics version that this build implements (R03).
func specOf(ctx context.Context, tx pgx.Tx, name string) ([]byte, error) {
	var version int
	var spec []byte
	sql := `SELECT semantics_version, spec::text FROM ` + table(catalogSchema, "namespace") + ` WHERE name = $1`
	if err := tx.QueryRow(ctx, sql, name).Scan(&version, &spec); err != nil {
		return nil, fmt.Errorf("read the spec of namespace %s: %w", name, err)
	}
	if version != manifests.SemanticsVersion {
		return nil, fmt.Errorf("namespace %s: %w %d; this build implements %d",
			name, manifests.ErrSemanticsVersion, version, manifests.SemanticsVersion)
	}
	return spec, nil
}

// Identity implements verify.State.
func (d *DB) Identity(ctx context.Context, name string) (verify.Identity, error) {
	return identityOf(ctx, d.pool, name)
}

// resolve turns the empty name into that of the only applied namespace.
func (d *DB) resolve(ctx context.Context, name string) (string, error) {
	if name != "" {
		return name, nil
	}
	names, err := collect(stream(ctx, d.pool, "the catalog", func(rows pgx.Rows, name *string) error { return rows.Scan(name) },
		`SELECT name FROM `+table(catalogSchema, "namespace")+` ORDER BY name LIMIT 20`))
	switch {
	case absent(err) || err == nil && len(names) == 0:
		return "", fmt.Errorf("this database has no namespace: %w", verify.ErrNotApplied)
	case err != nil:
		return "", err
	case len(names) > 1:
		return "", fmt.Errorf("%w: name one of %s", verify.ErrAmbiguousName, strings.Join(names, ", "))
	}
	return names[0], nil
}

// identityOf reads one catalog row.
func identityOf(ctx context.Context, q querier, name string) (verify.Identity, error) {
	i := verify.Identity{Name: name}
	sql := `SELECT namespace_digest, business_digest, source_topic_id, output_topic_id, state_schema, view_schema, built_by,
			unfinished, experiment_of
		FROM ` + table(catalogSchema, "namespace") + ` WHERE name = $1`
	err := q.QueryRow(ctx, sql, name).Scan(&i.Digest, &i.BusinessDigest, &i.SourceTopicID, &i.OutputTopicID,
		&i.StateSchema, &i.ViewSchema, &i.BuiltBy, &i.Unfinished, &i.ExperimentOf)
	if absent(err) || errors.Is(err, pgx.ErrNoRows) {
		return i, fmt.Errorf("namespace %s: %w", name, verify.ErrNotApplied)
	}
	if err != nil {
		return i, fmt.Errorf("read namespace %s: %w", name, err)
	}
	return i, nil
}

// stockKeys reads the configured keys.
func stockKeys(ctx context.Context, tx pgx.Tx, schema string) ([]manifests.StockKey, error) {
	scan := func(rows pgx.Rows, k *manifests.StockKey) error {
		return rows.Scan(&k.Item, &k.Location, &k.OpeningBalance, &k.ReorderThreshold)
	}
	return collect(stream(ctx, tx, "the stock keys of "+schema, scan,
		`SELECT item, location, opening_balance, reorder_threshold FROM `+table(schema, "stock_key")+` ORDER BY key_id`))
}
