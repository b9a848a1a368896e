package connect

import (
	"context"
	"fmt"

	"amends.dev/amends/stages/postgres"
)

// State opens a pool on the processing state of an applied namespace, whose layout this build knows. application is what the
// database shows of it. Errors are as Catalog's; a layout of another build is refused. The caller closes the pool.
func (c Connections) State(ctx context.Context, applied *postgres.Applied, application string, connections int32) (*postgres.Pool, error) {
	return c.database.namespace(ctx, postgres.KindNamespace, postgres.Options{Schema: applied.StateSchema, Application: application, MaxConns: connections})
}

// View opens a pool on the view of an applied namespace, as State does.
func (c Connections) View(ctx context.Context, applied *postgres.Applied, application string, connections int32) (*postgres.Pool, error) {
	pool, err := c.view.namespace(ctx, postgres.KindView, postgres.Options{Schema: applied.ViewSchema, Application: application, MaxConns: connections})
	if err != nil {
		return nil, fmt.Errorf("view: %w", err)
	}
	return pool, nil
}

func (d database) namespace(ctx context.Context, kind postgres.Kind, options postgres.Options) (*postgres.Pool, error) {
	pool, err := d.connect(ctx, options)
	if err != nil {
		return nil, err
	}
	if err := postgres.CheckLayout(ctx, pool, kind, options.Schema); err != nil {
		pool.Close()
		return nil, Refuse(err)
	}
	return pool, nil
}
