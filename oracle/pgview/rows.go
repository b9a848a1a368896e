package pgview

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// named are item and location of a row joined to its stock_key k. A row whose key has no name is shown under the
	// empty item, which no configured key has: left out, it would not be found.
	named = `coalesce(k.item, ''), coalesce(k.location, 'key_id ' || key_id)`
	// byName sorts such rows by bytes.
	byName = `coalesce(k.item, '') COLLATE "C", coalesce(k.location, 'key_id ' || key_id) COLLATE "C"`
)

// querier is what pools and transactions have in common.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// stream yields one value for each row as it arrives; nothing is collected.
func stream[T any](ctx context.Context, q querier, what string, scan func(pgx.Rows, *T) error, sql string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		rows, err := q.Query(ctx, sql, args...)
		if err != nil {
			yield(zero, fmt.Errorf("read %s: %w", what, err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var v T
			if err := scan(rows, &v); err != nil {
				yield(zero, fmt.Errorf("read %s: %w", what, err))
				return
			}
			if !yield(v, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(zero, fmt.Errorf("read %s: %w", what, err))
		}
	}
}

// collect gathers a sequence; it is for tables whose size the configuration bounds.
func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}
