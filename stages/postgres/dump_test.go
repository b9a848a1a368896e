package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker/workertest"
)

// dump reads all state tables of a pool's namespace.
func dump(t *testing.T, pool *pgxpool.Pool) workertest.Tables {
	t.Helper()
	var d workertest.Tables
	d.Partitions = all(t, pool, func(r pgx.Rows, p *workertest.PartitionRow) error {
		return r.Scan(&p.Partition, &p.NextOffset, &p.OutboxNext, &p.Accepted, &p.Rejected, &p.StopReason, &p.StopOffset)
	}, `SELECT partition, next_offset, outbox_next, accepted, rejected, coalesce(stop_reason, ''), coalesce(stop_offset, 0) FROM partition_state`)
	d.Keys = all(t, pool, scanKey, `SELECT key_id, status_version, conflict_txns, conflict_revisions FROM key_state`)
	d.Authority = all(t, pool, scanAuthority, `SELECT key_id, txn_id, revision, kind, valid_time, qty, ambiguous, source_offset FROM authority`)
	d.Evidence = all(t, pool, scanEvidence, `SELECT key_id, txn_id, revision, kind, valid_time, qty, source_offset FROM evidence`)
	d.Conflicts = all(t, pool, func(r pgx.Rows, c *ledger.ConflictRow) error {
		return r.Scan(&c.KeyID, &c.TxnID, &c.Revision, &c.DetectedOffset)
	}, `SELECT key_id, txn_id, revision, detected_offset FROM conflict`)
	d.Days = all(t, pool, scanDay, `SELECT key_id, day, active, close, balance_version, alert_version, alert_present, alert_close FROM day_state`)
	d.Quarantine = all(t, pool, func(r pgx.Rows, q *workertest.QuarantineRow) error {
		return r.Scan(&q.Partition, &q.Offset, &q.Reason, &q.Key, &q.Value, &q.KeyLength, &q.ValueLength, &q.KeySHA256, &q.ValueSHA256)
	}, `SELECT partition, source_offset, reason, key, value, key_length, value_length, key_sha256, value_sha256 FROM quarantine`)
	type run struct {
		partition, count int32
		first            int64
		frames           []byte
	}
	runs := all(t, pool, func(r pgx.Rows, o *run) error {
		return r.Scan(&o.partition, &o.first, &o.count, &o.frames)
	}, `SELECT partition, first_seq, count, frames FROM outbox ORDER BY partition, first_seq`)
	for _, o := range runs {
		frames, err := readFrames(o.frames, int(o.count))
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range frames {
			d.Outbox = append(d.Outbox, workertest.OutboxRow{Partition: o.partition, Seq: o.first + int64(i), Key: f.Key, Value: f.Value})
		}
	}
	d.Sort()
	return d
}

func all[T any](t *testing.T, pool *pgxpool.Pool, scan func(pgx.Rows, *T) error, sql string) []T {
	t.Helper()
	rows, err := readRows(t.Context(), pool, scan, sql)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func scanCount(r pgx.Rows, n *int64) error { return r.Scan(n) }
