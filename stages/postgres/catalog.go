package postgres

import (
	"context"
	_ "embed" // the SQL text
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/manifests"
)

// The catalog's statements.
var (
	//go:embed sql/catalog/list.sql
	catalogListSQL string
	//go:embed sql/catalog/spec.sql
	catalogSpecSQL string
	//go:embed sql/catalog/keys.sql
	catalogKeysSQL string
	//go:embed sql/catalog/insert.sql
	catalogInsertSQL string
	//go:embed sql/catalog/finish.sql
	catalogFinishSQL string
)

var (
	// ErrNotApplied is wrapped where the catalog has no namespace of the name asked for.
	ErrNotApplied = errors.New("not applied")
	// ErrAlreadyApplied is wrapped where another apply recorded the namespace, or one that uses the same output topic or
	// schema, first (R04).
	ErrAlreadyApplied = errors.New("already recorded")
	// ErrStateLost is wrapped where a namespace is recorded but its state schema or stock keys are gone.
	ErrStateLost = errors.New("the processing state of this namespace is lost")
	// ErrAltered is wrapped where a stored namespace does not have its recorded digests any more (R02).
	ErrAltered = errors.New("the catalog was altered")
	// ErrUnfinished is wrapped where a namespace's state is not complete yet, so that nothing may rely on it (S11).
	ErrUnfinished = errors.New("namespace is unfinished")
)

// Entry is one row of the catalog: what an apply recorded (S2).
type Entry struct {
	// Name is the namespace's name.
	Name string
	// SemanticsVersion is the version under which its state was made (R03).
	SemanticsVersion int
	// NamespaceDigest and BusinessDigest are those of R02, lower-case hexadecimal.
	NamespaceDigest, BusinessDigest string
	// The topics with their IDs in Kafka's textual form.
	SourceTopic, SourceTopicID, OutputTopic, OutputTopicID string
	// StateSchema and ViewSchema are schema names, unquoted.
	StateSchema, ViewSchema string
	// BuiltBy says what built the state: "stream", or an engine with decoder and version (R26).
	BuiltBy string
	// AppliedAt is when it was recorded, by the database's clock.
	AppliedAt time.Time
	// Unfinished says what is not finished yet, empty where the namespace may be used (S11).
	Unfinished string
	// ExperimentOf is the namespace whose history this one computes under another business configuration, empty where there
	// is none (R02).
	ExperimentOf string
}

// Applied is a recorded namespace, complete and with its digests proven.
type Applied struct {
	Entry
	Namespace *manifests.Namespace
}

// Catalog is the catalog of one database (schema "amends"). It is safe for concurrent use. A database without the
// schema has an empty catalog.
type Catalog struct {
	pool *Pool
}

// NewCatalog returns the catalog over a pool whose search_path is CatalogSchema. The caller closes the pool.
func NewCatalog(pool *Pool) *Catalog { return &Catalog{pool: pool} }

// Migrate creates the catalog where it is missing and brings it to this build's layout.
func (c *Catalog) Migrate(ctx context.Context) error {
	return Migrate(ctx, c.pool, KindCatalog, CatalogSchema)
}

// missing reports whether the database has no catalog yet. Another layout than this build's is a *LayoutError.
func (c *Catalog) missing(ctx context.Context) (bool, error) {
	err := CheckLayout(ctx, c.pool, KindCatalog, CatalogSchema)
	var layout *LayoutError
	if errors.As(err, &layout) && layout.Have == 0 {
		return true, nil
	}
	return false, err
}

// List returns all recorded namespaces by name.
func (c *Catalog) List(ctx context.Context) ([]Entry, error) {
	if missing, err := c.missing(ctx); err != nil || missing {
		return nil, err
	}
	return readEntries(ctx, c.pool, "")
}

// Load rebuilds a recorded namespace from its stored spec and stock keys, and proves that its state has this build's
// layout, that it has the recorded digests and that it is finished. Errors wrap ErrNotApplied, ErrStateLost, ErrAltered,
// ErrUnfinished, *LayoutError or manifests.ErrSemanticsVersion (R03), or are faults.
func (c *Catalog) Load(ctx context.Context, name string) (*Applied, error) {
	applied, err := c.LoadUnfinished(ctx, name)
	if err == nil && applied.Unfinished != "" {
		mark.Hit("S11 unfinished namespace refused")
		return nil, fmt.Errorf("namespace %s: %w: %s", name, ErrUnfinished, applied.Unfinished)
	}
	return applied, err
}

// LoadUnfinished is Load for what finishes or removes a namespace: one that is not finished is no error.
func (c *Catalog) LoadUnfinished(ctx context.Context, name string) (*Applied, error) {
	missing, err := c.missing(ctx)
	if err != nil {
		return nil, err
	}
	if missing {
		return nil, fmt.Errorf("namespace %s: %w: this database has no namespace", name, ErrNotApplied)
	}
	var layout *LayoutError
	err = CheckLayout(ctx, c.pool, KindNamespace, StateSchema(name))
	if err != nil && !(errors.As(err, &layout) && layout.Have == 0) { // without a layout it is not applied, or lost
		return nil, fmt.Errorf("namespace %s: %w", name, err)
	}
	tx, err := c.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("load namespace %s: %w", name, err)
	}
	defer rollback(ctx, tx)
	applied, err := load(ctx, tx, name)
	if err != nil {
		return nil, fmt.Errorf("namespace %s: %w", name, err)
	}
	return applied, nil
}

// load reads one namespace in one snapshot.
func load(ctx context.Context, tx pgx.Tx, name string) (*Applied, error) {
	entries, err := readEntries(ctx, tx, name)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 || name == "" {
		return nil, ErrNotApplied
	}
	applied := &Applied{Entry: entries[0]}
	if v := applied.SemanticsVersion; v != manifests.SemanticsVersion { // nothing else of it may be readable here
		return nil, fmt.Errorf("%w %d; this build implements %d", manifests.ErrSemanticsVersion, v, manifests.SemanticsVersion)
	}
	var spec []byte
	if err := tx.QueryRow(ctx, catalogSpecSQL, name).Scan(&spec); err != nil {
		return nil, fmt.Errorf("read the stored spec: %w", err)
	}
	keys, err := readStockKeys(ctx, tx, applied.StateSchema)
	if err != nil {
		return nil, err
	}
	if applied.Namespace, err = manifests.FromSpec(name, spec, keys); err != nil {
		return nil, err
	}
	return applied, applied.prove()
}

// readStockKeys reads the configured keys from the state schema.
func readStockKeys(ctx context.Context, tx pgx.Tx, schema string) ([]manifests.StockKey, error) {
	var there bool
	const exists = `SELECT to_regclass($1) IS NOT NULL`
	if err := tx.QueryRow(ctx, exists, quote(schema)+".stock_key").Scan(&there); err != nil {
		return nil, fmt.Errorf("look for schema %s: %w", schema, err)
	}
	if !there {
		return nil, fmt.Errorf("%w: schema %s is missing; rebuild from the source topic into a new namespace", ErrStateLost, schema)
	}
	var keys []manifests.StockKey
	err := InSchema(ctx, tx, schema, func() (err error) {
		keys, err = readRows(ctx, tx, func(rows pgx.Rows, k *manifests.StockKey) error {
			return rows.Scan(&k.Item, &k.Location, &k.OpeningBalance, &k.ReorderThreshold)
		}, catalogKeysSQL)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the stock keys of schema %s: %w", schema, err)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: schema %s has no stock keys", ErrStateLost, schema)
	}
	return keys, nil
}

// prove recomputes the digests (R02): a balance or threshold that was changed in the database would change results.
func (a *Applied) prove() error {
	if got := a.Namespace.NamespaceDigest(); got != a.NamespaceDigest {
		return fmt.Errorf("%w: its digest is %s, recorded was %s; restore the database, or rebuild into a new namespace",
			ErrAltered, got, a.NamespaceDigest)
	}
	if got := a.Namespace.BusinessDigest(a.SourceTopicID); got != a.BusinessDigest {
		return fmt.Errorf("%w: its business digest is %s, recorded was %s; restore the database, or rebuild into a new namespace",
			ErrAltered, got, a.BusinessDigest)
	}
	return nil
}

// readEntries reads all rows, or the one of a name.
func readEntries(ctx context.Context, q querier, name string) ([]Entry, error) {
	entries, err := readRows(ctx, q, func(rows pgx.Rows, e *Entry) error {
		return rows.Scan(&e.Name, &e.SemanticsVersion, &e.NamespaceDigest, &e.BusinessDigest, &e.SourceTopic, &e.SourceTopicID,
			&e.OutputTopic, &e.OutputTopicID, &e.StateSchema, &e.ViewSchema, &e.BuiltBy, &e.AppliedAt, &e.Unfinished, &e.ExperimentOf)
	}, catalogListSQL, name)
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	return entries, nil
}
