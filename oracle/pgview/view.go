package pgview

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/verify"
)

// ErrNoView is wrapped where the schema of a view is not there, or has no tables of one.
var ErrNoView = errors.New("holds no view")

// ViewIdentity implements verify.View.
func (d *DB) ViewIdentity(ctx context.Context, a *verify.Applied) (verify.ViewIdentity, error) {
	var i verify.ViewIdentity
	if err := d.checkLayout(ctx, a.ViewSchema, "view"); err != nil {
		return i, err
	}
	sql := `SELECT name, namespace_digest, output_topic, output_topic_id FROM ` + table(a.ViewSchema, "namespace")
	err := d.pool.QueryRow(ctx, sql).Scan(&i.Name, &i.Digest, &i.OutputTopic, &i.OutputTopicID)
	if absent(err) {
		return i, fmt.Errorf("schema %s %w", a.ViewSchema, ErrNoView)
	}
	if err != nil {
		return i, fmt.Errorf("read which namespace the view %s shows: %w", a.ViewSchema, err)
	}
	return i, nil
}

// ViewProgress implements verify.View.
func (d *DB) ViewProgress(ctx context.Context, a *verify.Applied) ([]int64, []boundary.Stop, error) {
	frontiers, err := frontiers(ctx, d.pool, a)
	if err != nil {
		return nil, nil, err
	}
	scan := func(rows pgx.Rows, s *boundary.Stop) error {
		s.Phase = boundary.PhaseView
		return rows.Scan(&s.Partition, &s.Offset, &s.Reason, &s.Detail)
	}
	// A partition that is stopped stays so, also where the row that says why is gone (R18, R36).
	stops, err := collect(stream(ctx, d.pool, "the view's protocol violations", scan,
		`SELECT partition, coalesce(v.output_offset, p.next_offset), coalesce(v.reason, 'stopped'),
			coalesce(v.detail, 'the row of protocol_violation that says why is not there')
		FROM `+table(a.ViewSchema, "protocol_violation")+` v FULL JOIN `+table(a.ViewSchema, "view_progress")+` p USING (partition)
		WHERE v.partition IS NOT NULL OR p.stopped ORDER BY partition`))
	return frontiers, stops, err
}

// Snapshot implements verify.View.
func (d *DB) Snapshot(ctx context.Context, a *verify.Applied, read func(verify.ViewSnapshot) error) error {
	return d.snapshot(ctx, func(tx pgx.Tx) error { return read(viewSnapshot{tx: tx, applied: a}) })
}

// frontiers reads the view's exclusive output frontiers.
func frontiers(ctx context.Context, q querier, a *verify.Applied) ([]int64, error) {
	out := make([]int64, a.Namespace.Spec.Output.Partitions)
	type row struct {
		partition int32
		next      int64
	}
	scan := func(rows pgx.Rows, r *row) error { return rows.Scan(&r.partition, &r.next) }
	sql := `SELECT partition, next_offset FROM ` + table(a.ViewSchema, "view_progress") + ` ORDER BY partition`
	for r, err := range stream(ctx, q, "the view's progress", scan, sql) {
		if err != nil {
			return nil, err
		}
		if r.partition < 0 || int(r.partition) >= len(out) {
			return nil, fmt.Errorf("read the view's progress: partition %d of a topic with %d", r.partition, len(out))
		}
		out[r.partition] = r.next
	}
	return out, nil
}

// viewSnapshot is one snapshot of a view.
type viewSnapshot struct {
	tx      pgx.Tx
	applied *verify.Applied
}

// Frontiers implements verify.ViewSnapshot.
func (v viewSnapshot) Frontiers(ctx context.Context) ([]int64, error) {
	return frontiers(ctx, v.tx, v.applied)
}

// Balances implements verify.ViewSnapshot: what users read, through the same SQL view.
func (v viewSnapshot) Balances(ctx context.Context) iter.Seq2[projection.Balance, error] {
	scan := func(rows pgx.Rows, b *projection.Balance) error {
		return rows.Scan(&b.Item, &b.Location, &b.Day, &b.Close)
	}
	return stream(ctx, v.tx, "the view's balances", scan, v.facts("balances", "balance", "close"))
}

// Alerts implements verify.ViewSnapshot: what users read, through the same SQL view.
func (v viewSnapshot) Alerts(ctx context.Context) iter.Seq2[projection.Alert, error] {
	scan := func(rows pgx.Rows, a *projection.Alert) error {
		return rows.Scan(&a.Item, &a.Location, &a.Day, &a.Close, &a.Threshold)
	}
	return stream(ctx, v.tx, "the view's alerts", scan, v.facts("alerts", "alert", "close, threshold"))
}

// facts is the statement that reads an SQL view and, beside it, the present rows of its base table whose key has no
// name, sorted.
func (v viewSnapshot) facts(view, base, columns string) string {
	return `SELECT item, location, ` + day + `, ` + columns + ` FROM (
			` + v.shown(view, columns) + ` UNION ALL ` + v.unnamed(base, columns) + `
		) AS f ` + byKeyAndDay
}

// Statuses implements verify.ViewSnapshot. A key whose status is shown otherwise to the view's readers has that as a
// second status.
func (v viewSnapshot) Statuses(ctx context.Context) iter.Seq2[projection.Status, error] {
	scan := func(rows pgx.Rows, s *projection.Status) error {
		var txns []string
		var revisions []int64
		if err := rows.Scan(&s.Item, &s.Location, &s.Status, &txns, &revisions); err != nil {
			return err
		}
		if len(txns) != len(revisions) {
			return fmt.Errorf("status of %s/%s: %d transactions with %d revisions", s.Item, s.Location, len(txns), len(revisions))
		}
		for i, txn := range txns {
			s.Conflicts = append(s.Conflicts, projection.ConflictRef{TxnID: txn, Revision: revisions[i]})
		}
		return nil
	}
	return func(yield func(projection.Status, error) bool) {
		labelled, err := v.asCreated(ctx, allViews...)
		if err != nil {
			yield(projection.Status{}, err)
			return
		}
		shown := ` UNION ALL ` + labels(v.applied.ViewSchema)
		if labelled {
			shown = ``
		}
		stream(ctx, v.tx, "the view's statuses", scan, `SELECT item, location, status, txns, revisions FROM (
			SELECT `+named+`, s.status, s.conflict_txns, s.conflict_revisions, 0
			FROM `+table(v.applied.ViewSchema, "key_status")+` s LEFT JOIN `+table(v.applied.ViewSchema, "stock_key")+` k USING (key_id)`+shown+`
		) AS f (item, location, status, txns, revisions, position)
		ORDER BY item COLLATE "C", location COLLATE "C", position, status COLLATE "C"`)(yield)
	}
}

const (
	// day is a date as the projection writes it, whatever the session's settings. to_char alone writes a year before
	// Christ as the same year after, and no infinite date at all.
	day = `coalesce(to_char(day, 'YYYY-MM-DD'), day::text) || CASE WHEN day < '0001-01-01' THEN ' BC' ELSE '' END`
	// byKeyAndDay sorts by bytes, by the very text that is compared.
	byKeyAndDay = `ORDER BY item COLLATE "C", location COLLATE "C", (` + day + `) COLLATE "C"`
)
