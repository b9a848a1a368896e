package pgview

import (
	"context"
	"encoding/hex"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/verify"
)

// keptBytes is the size up to which a quarantine row keeps raw bytes (R06).
const keptBytes = 1 << 20

// Progress implements verify.State. One statement reads it all, so that drain is judged on one state.
func (d *DB) Progress(ctx context.Context, a *verify.Applied) (verify.Progress, error) {
	n := int(a.Namespace.Spec.Source.Partitions)
	p := verify.Progress{Worker: make([]int64, n), OutboxNext: fill(n, 1), SentThrough: fill(n, 1), Handled: make([]int64, n)}
	type row struct {
		partition                int32
		worker, outbox, sent     int64
		handled                  int64
		stopReason, stopDetail   *string
		stopOffset               *int64
		relayReason, relayDetail *string
	}
	sql := `SELECT partition, s.next_offset, s.outbox_next, coalesce(r.sent_through, 1),
			s.accepted + s.rejected, s.stop_reason, s.stop_offset, s.stop_detail, r.stop_reason, r.stop_detail
		FROM ` + table(a.StateSchema, "partition_state") + ` s LEFT JOIN ` + table(a.StateSchema, "relay_state") + ` r USING (partition)
		ORDER BY partition`
	scan := func(rows pgx.Rows, r *row) error {
		return rows.Scan(&r.partition, &r.worker, &r.outbox, &r.sent, &r.handled,
			&r.stopReason, &r.stopOffset, &r.stopDetail, &r.relayReason, &r.relayDetail)
	}
	for r, err := range stream(ctx, d.pool, "the worker's progress", scan, sql) {
		if err != nil {
			return p, err
		}
		if int(r.partition) < 0 || int(r.partition) >= n {
			return p, fmt.Errorf("read the worker's progress: partition %d of a topic with %d", r.partition, n)
		}
		p.Worker[r.partition], p.OutboxNext[r.partition], p.SentThrough[r.partition] = r.worker, r.outbox, r.sent
		p.Handled[r.partition] = r.handled
		if r.stopReason != nil {
			p.Stops = append(p.Stops, boundary.Stop{Phase: boundary.PhaseWorker, Partition: r.partition,
				Offset: orZero(r.stopOffset), Reason: *r.stopReason, Detail: orZero(r.stopDetail)})
		}
		if r.relayReason != nil {
			p.Stops = append(p.Stops, boundary.Stop{Phase: boundary.PhaseRelay, Partition: r.partition,
				Offset: r.sent, Reason: *r.relayReason, Detail: orZero(r.relayDetail)})
		}
	}
	return p, nil
}

// Ambiguous implements verify.State. The reason sets of key_state are trust status, not authority (R23).
func (d *DB) Ambiguous(ctx context.Context, a *verify.Applied) ([]projection.Conflict, error) {
	sql := `SELECT k.item, k.location, c.txn_id, c.revision
		FROM ` + table(a.StateSchema, "key_state") + ` s JOIN ` + table(a.StateSchema, "stock_key") + ` k USING (key_id)
		CROSS JOIN LATERAL unnest(s.conflict_txns, s.conflict_revisions) AS c (txn_id, revision)
		ORDER BY k.item COLLATE "C", k.location COLLATE "C", c.txn_id COLLATE "C", c.revision`
	return collect(stream(ctx, d.pool, "the trust status of keys", scanConflict, sql))
}

// Evidence implements verify.State.
func (d *DB) Evidence(ctx context.Context, a *verify.Applied, read func(verify.Evidence) error) error {
	return d.snapshot(ctx, func(tx pgx.Tx) error { return read(evidence{tx: tx, schema: a.StateSchema}) })
}

// evidence is one snapshot of the evidence tables.
type evidence struct {
	tx     pgx.Tx
	schema string
}

// Quarantine implements verify.Evidence.
func (e evidence) Quarantine(ctx context.Context) iter.Seq2[compare.Rejected, error] {
	sql := `SELECT partition, source_offset, topic_id, reason, key, value, key_length, value_length, key_sha256, value_sha256
		FROM ` + table(e.schema, "quarantine") + ` ORDER BY partition, source_offset`
	scan := func(rows pgx.Rows, r *compare.Rejected) error {
		var key, value kept
		if err := rows.Scan(&r.Partition, &r.Offset, &r.TopicID, &r.Reason,
			&key.bytes, &value.bytes, &key.length, &value.length, &key.digest, &value.digest); err != nil {
			return err
		}
		r.Key, r.Value = key.blob(), value.blob()
		return nil
	}
	return stream(ctx, e.tx, "the quarantine", scan, sql)
}

// Conflicts implements verify.Evidence.
func (e evidence) Conflicts(ctx context.Context) iter.Seq2[projection.Conflict, error] {
	sql := `SELECT ` + named + `, c.txn_id, c.revision
		FROM ` + table(e.schema, "conflict") + ` c LEFT JOIN ` + table(e.schema, "stock_key") + ` k USING (key_id)
		ORDER BY ` + byName + `, c.txn_id COLLATE "C", c.revision`
	return stream(ctx, e.tx, "the conflict evidence", scanConflict, sql)
}

// scanConflict reads one row of item, location, txn_id, revision.
func scanConflict(rows pgx.Rows, c *projection.Conflict) error {
	return rows.Scan(&c.Item, &c.Location, &c.TxnID, &c.Revision)
}

// kept is what a quarantine row keeps of a key or value.
type kept struct {
	bytes, digest []byte
	length        int64
}

// blob identifies the raw bytes by what is really kept. Bytes that are there are digested anew; where they ought to be
// there and are not, or contradict the row's own length or digest, the blob has a length without a digest and so equals
// nothing, null included.
func (k kept) blob() compare.Blob {
	whole := verify.Blob(k.bytes)
	switch {
	case k.length == whole.Length && hex.EncodeToString(k.digest) == whole.SHA256:
		return whole
	case k.bytes == nil && k.length > keptBytes:
		return compare.Blob{Length: k.length, SHA256: hex.EncodeToString(k.digest)}
	default:
		return compare.Blob{Length: max(k.length, whole.Length, 0)}
	}
}

// fill is a vector of n equal values.
func fill(n int, v int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// orZero is the value of a nullable column.
func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
