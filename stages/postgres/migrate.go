package postgres

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed migrations
var migrationFiles embed.FS

// Kind is one of the layouts, each with numbered migrations of its own.
type Kind string

// The kinds; each is the name of a folder in migrations/.
const (
	KindCatalog   Kind = "catalog"
	KindNamespace Kind = "namespace"
	KindView      Kind = "view"
	// KindOwner is that of durable owners: in a namespace's state schema beside KindNamespace, or in a schema of its own.
	KindOwner Kind = "owner"
)

// LayoutError says that a schema is not of the layout version this build works with. Nothing was changed.
type LayoutError struct {
	Schema string
	Kind   Kind
	// Have is the schema's version, 0 where it is not set up; Want is the build's.
	Have, Want int
	// Other is the migration that was applied with another text than this build's, empty where there is none; Found and
	// Wanted are the SHA-256 of the two texts.
	Other, Found, Wanted string
}

// Error implements error.
func (e *LayoutError) Error() string {
	switch {
	case e.Other != "":
		return fmt.Sprintf("schema %s holds a %s layout of another build: %s/%s is %.12s…, this build's is %.12s…, and none is converted: use the amendsctl that applied it, or %s",
			e.Schema, e.Kind, e.Kind, e.Other, e.Found, e.Wanted, e.fresh())
	case e.Have == 0:
		return fmt.Sprintf("schema %s holds no %s: apply the namespace first", e.Schema, e.Kind)
	case e.Have > e.Want:
		return fmt.Sprintf("schema %s is of %s layout version %d and this build knows only %d: use a newer amendsctl",
			e.Schema, e.Kind, e.Have, e.Want)
	default:
		return fmt.Sprintf("schema %s is of %s layout version %d and this build needs %d: apply the namespace again",
			e.Schema, e.Kind, e.Have, e.Want)
	}
}

// fresh is how to go on with this build.
func (e *LayoutError) fresh() string {
	if e.Kind == KindCatalog {
		return "another database"
	}
	return "apply a new namespace over the same source topic"
}

// migration is one numbered file.
type migration struct {
	version int
	name    string
	sql     string
	digest  string
}

// migrationsOf returns the migrations of a kind, numbered 1..n without a gap.
func migrationsOf(files fs.FS, kind Kind) ([]migration, error) {
	names, err := fs.Glob(files, path.Join("migrations", string(kind), "*.sql"))
	if err != nil {
		return nil, fmt.Errorf("list migrations of %s: %w", kind, err)
	}
	slices.Sort(names)
	migrations := make([]migration, 0, len(names))
	for i, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		if v, err := strconv.Atoi(number); err != nil || v != i+1 {
			return nil, fmt.Errorf("migration %s: want number %d", name, i+1)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", name, err)
		}
		sum := sha256.Sum256(text)
		migrations = append(migrations, migration{
			version: i + 1, name: path.Base(name), sql: string(text), digest: hex.EncodeToString(sum[:]),
		})
	}
	return migrations, nil
}

// Migrate brings a schema to this build's layout, creating it where missing: each migration in a transaction of its own,
// under a lock, so that concurrent calls wait and then find nothing to do. A newer layout is a *LayoutError.
func Migrate(ctx context.Context, pool *pgxpool.Pool, kind Kind, schema string) error {
	for {
		more, err := migrateOnce(ctx, pool, kind, schema)
		if err != nil || !more {
			return err
		}
	}
}

func migrateOnce(ctx context.Context, pool *pgxpool.Pool, kind Kind, schema string) (more bool, err error) {
	tx, err := pool.Begin(ctx)
	if err != nil {
		return false, fmt.Errorf("migrate schema %s: %w", schema, err)
	}
	defer rollback(ctx, tx)
	if err := lockSchema(ctx, tx, schema); err != nil {
		return false, err
	}
	if _, err := tx.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+quote(schema)); err != nil {
		return false, fmt.Errorf("create schema %s: %w", schema, err)
	}
	err = InSchema(ctx, tx, schema, func() error {
		more, err = migrateNext(ctx, tx, migrationFiles, kind, schema)
		return err
	})
	if err != nil {
		return false, err
	}
	if err := tx.Commit(ctx); err != nil {
		return false, fmt.Errorf("migrate schema %s: %w", schema, err)
	}
	return more, nil
}

// migrateAll applies everything pending in the caller's transaction; the search_path is the schema.
func migrateAll(ctx context.Context, tx pgx.Tx, kind Kind, schema string) error {
	if err := lockSchema(ctx, tx, schema); err != nil {
		return err
	}
	for {
		more, err := migrateNext(ctx, tx, migrationFiles, kind, schema)
		if err != nil || !more {
			return err
		}
	}
}

// lockSchema serializes migrations of one schema until the transaction ends. The key is 64 bits wide, so that unrelated
// schemas do not meet on one lock (B041).
func lockSchema(ctx context.Context, tx pgx.Tx, schema string) error {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('amends schema ' || $1, 0))`, schema); err != nil {
		return fmt.Errorf("lock schema %s: %w", schema, err)
	}
	return nil
}

// migrateNext applies the first pending migration and tells whether others may follow.
func migrateNext(ctx context.Context, tx pgx.Tx, files fs.FS, kind Kind, schema string) (more bool, err error) {
	migrations, err := migrationsOf(files, kind)
	if err != nil {
		return false, err
	}
	const table = `CREATE TABLE IF NOT EXISTS schema_version (kind text NOT NULL, version integer NOT NULL,
		sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (kind, version))`
	if _, err := tx.Exec(ctx, table); err != nil {
		return false, fmt.Errorf("migrate schema %s: %w", schema, err)
	}
	have, err := appliedVersion(ctx, tx, migrations, kind, schema)
	if err != nil || have == len(migrations) {
		return false, err
	}
	next := migrations[have]
	if _, err := tx.Exec(ctx, next.sql); err != nil {
		return false, fmt.Errorf("migrate schema %s: %s/%s: %w", schema, kind, next.name, err)
	}
	const record = `INSERT INTO schema_version (kind, version, sha256) VALUES ($1, $2, $3)`
	if _, err := tx.Exec(ctx, record, string(kind), next.version, next.digest); err != nil {
		return false, fmt.Errorf("migrate schema %s: record %s/%s: %w", schema, kind, next.name, err)
	}
	return next.version < len(migrations), nil
}

// appliedVersion returns the version of a schema that has a schema_version table, after comparing the digests of what
// was applied with those of this build.
func appliedVersion(ctx context.Context, q querier, migrations []migration, kind Kind, schema string) (int, error) {
	rows, err := q.Query(ctx, `SELECT version, sha256 FROM schema_version WHERE kind = $1 ORDER BY version`, string(kind))
	if err != nil {
		return 0, fmt.Errorf("read the version of schema %s: %w", schema, err)
	}
	defer rows.Close()
	have := 0
	for rows.Next() {
		var version int
		var digest string
		if err := rows.Scan(&version, &digest); err != nil {
			return 0, fmt.Errorf("read the version of schema %s: %w", schema, err)
		}
		have = version
		if version >= 1 && version <= len(migrations) && migrations[version-1].digest != digest {
			m := migrations[version-1]
			return 0, &LayoutError{
				Schema: schema, Kind: kind, Have: version, Want: len(migrations), Other: m.name, Found: digest, Wanted: m.digest,
			}
		}
	}
	if err := rows.Err(); err != nil {
		return 0, fmt.Errorf("read the version of schema %s: %w", schema, err)
	}
	if have > len(migrations) {
		return 0, &LayoutError{Schema: schema, Kind: kind, Have: have, Want: len(migrations)}
	}
	return have, nil
}

// CheckLayout compares a schema's layout with this build's, and changes nothing. q's search_path does not matter. Every
// difference is a *LayoutError.
func CheckLayout(ctx context.Context, pool *pgxpool.Pool, kind Kind, schema string) error {
	migrations, err := migrationsOf(migrationFiles, kind)
	if err != nil {
		return err
	}
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return fmt.Errorf("read the version of schema %s: %w", schema, err)
	}
	defer rollback(ctx, tx)
	have := 0
	err = InSchema(ctx, tx, schema, func() error {
		var there bool
		if err := tx.QueryRow(ctx, `SELECT to_regclass('schema_version') IS NOT NULL`).Scan(&there); err != nil {
			return fmt.Errorf("look for schema %s: %w", schema, err)
		}
		if !there {
			return nil
		}
		have, err = appliedVersion(ctx, tx, migrations, kind, schema)
		return err
	})
	if err != nil {
		return err
	}
	if have != len(migrations) {
		return &LayoutError{Schema: schema, Kind: kind, Have: have, Want: len(migrations)}
	}
	return nil
}
