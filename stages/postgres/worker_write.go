package postgres

import (
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker"
)

// Commit implements worker.Unit: at most five statements for the rows that can be many, one for all the rest, and the
// commit. New rows go by COPY, changed ones by UPDATE … FROM unnest.
func (u *workerUnit) Commit(ctx context.Context, c ledger.Changes) error {
	if err := u.write(ctx, &c); err != nil {
		rollback(ctx, u.tx)
		return fmt.Errorf("write a unit of work on partition %d: %w", u.partition, err)
	}
	if err := commit(ctx, u.tx); err != nil {
		return fmt.Errorf("partition %d: %w", u.partition, err)
	}
	return nil
}

// Rollback implements worker.Unit.
func (u *workerUnit) Rollback(ctx context.Context) { rollback(ctx, u.tx) }

func (u *workerUnit) write(ctx context.Context, c *ledger.Changes) error {
	if c.NextOffset < u.frontier {
		return fault.Mark(fault.Stop, invariant.Violated("frontier would move back from %d to %d", u.frontier, c.NextOffset))
	}
	steps := []func() error{
		func() error {
			return copyRows(ctx, u.tx, "authority", authorityColumns, c.NewAuthority, authorityValues)
		},
		func() error { return u.changeAuthority(ctx, c.ChangedAuthority) },
		func() error { return copyRows(ctx, u.tx, "evidence", evidenceColumns, c.Evidence, evidenceValues) },
		func() error { return copyRows(ctx, u.tx, "day_state", dayColumns, c.NewDays, dayValues) },
		func() error { return u.changeDays(ctx, c.ChangedDays) },
		func() error { return u.finish(ctx, c) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return classify(err)
		}
	}
	return nil
}

var (
	authorityColumns = []string{"key_id", "txn_id", "revision", "kind", "valid_time", "qty", "ambiguous", "source_offset"}
	evidenceColumns  = []string{"key_id", "txn_id", "revision", "kind", "valid_time", "qty", "source_offset"}
	dayColumns       = []string{"key_id", "day", "active", "close", "balance_version", "alert_version", "alert_present", "alert_close"}
)

func authorityValues(v []any, a *ledger.AuthorityRow) {
	p := &a.Payload
	v[0], v[1], v[2], v[3] = a.KeyID, a.TxnID, p.Revision, int16(p.Kind)
	v[4], v[5], v[6], v[7] = p.ValidTime, p.Qty, a.Ambiguous, a.SourceOffset
}

func evidenceValues(v []any, e *ledger.EvidenceRow) {
	p := &e.Payload
	v[0], v[1], v[2], v[3] = e.KeyID, e.TxnID, p.Revision, int16(p.Kind)
	v[4], v[5], v[6] = p.ValidTime, p.Qty, e.SourceOffset
}

func dayValues(v []any, d *ledger.DayRow) {
	v[0], v[1], v[2], v[3] = d.KeyID, d.Day, d.Active, d.Close
	v[4], v[5], v[6], v[7] = d.BalanceVersion, d.AlertVersion, d.AlertPresent, d.AlertClose
}

// copyRows writes new rows by COPY; no rows are no statement.
func copyRows[T any](ctx context.Context, tx pgx.Tx, table string, columns []string, rows []T, values func([]any, *T)) error {
	if len(rows) == 0 {
		return nil
	}
	row, i := make([]any, len(columns)), 0
	source := pgx.CopyFromFunc(func() ([]any, error) {
		if i == len(rows) {
			return nil, nil
		}
		values(row, &rows[i])
		i++
		return row, nil
	})
	if _, err := tx.CopyFrom(ctx, pgx.Identifier{table}, columns, source); err != nil {
		return fmt.Errorf("copy into %s: %w", table, err)
	}
	return nil
}

func (u *workerUnit) changeAuthority(ctx context.Context, rows []ledger.AuthorityRow) error {
	if len(rows) == 0 {
		return nil
	}
	n := len(rows)
	keyIDs, txnIDs, revisions, kinds := make([]int32, n), make([]string, n), make([]int64, n), make([]int16, n)
	times, quantities, ambiguous, offsets := make([]int64, n), make([]int64, n), make([]bool, n), make([]int64, n)
	for i := range rows {
		a := &rows[i]
		keyIDs[i], txnIDs[i], revisions[i], kinds[i] = a.KeyID, a.TxnID, a.Payload.Revision, int16(a.Payload.Kind)
		times[i], quantities[i], ambiguous[i], offsets[i] = a.Payload.ValidTime, a.Payload.Qty, a.Ambiguous, a.SourceOffset
	}
	return u.change(ctx, "authority", n, workerChangeAuthoritySQL,
		keyIDs, txnIDs, revisions, kinds, times, quantities, ambiguous, offsets)
}

func (u *workerUnit) changeDays(ctx context.Context, rows []ledger.DayRow) error {
	if len(rows) == 0 {
		return nil
	}
	n := len(rows)
	keyIDs, days, active, closes := make([]int32, n), make([]int32, n), make([]int64, n), make([]int64, n)
	balances, alerts, present, alertCloses := make([]int64, n), make([]int64, n), make([]bool, n), make([]int64, n)
	for i := range rows {
		d := &rows[i]
		keyIDs[i], days[i], active[i], closes[i] = d.KeyID, d.Day, d.Active, d.Close
		balances[i], alerts[i], present[i], alertCloses[i] = d.BalanceVersion, d.AlertVersion, d.AlertPresent, d.AlertClose
	}
	return u.change(ctx, "day_state", n, workerChangeDaysSQL,
		keyIDs, days, active, closes, balances, alerts, present, alertCloses)
}

// change updates rows that must all be there: where one is missing, the decision was made on a state that is not the
// stored one, and nothing may be committed.
func (u *workerUnit) change(ctx context.Context, table string, want int, sql string, args ...any) error {
	tag, err := u.tx.Exec(ctx, sql, args...)
	if err != nil {
		return fmt.Errorf("update %s: %w", table, err)
	}
	if tag.RowsAffected() != int64(want) {
		return fault.Mark(fault.Stop, invariant.Violated("%d of %d changed rows are in %s", tag.RowsAffected(), want, table))
	}
	return nil
}

// finish writes outbox, quarantine, conflicts, key status and progress in one statement.
func (u *workerUnit) finish(ctx context.Context, c *ledger.Changes) error {
	if int64(len(c.Envelopes)) > math.MaxInt64-u.outboxNext {
		return fault.Mark(fault.Stop, invariant.Violated("outbox sequences of partition %d are used up", u.partition))
	}
	pack := packer{next: u.outboxNext}
	for _, e := range c.Envelopes {
		pack.expect += len(e.Key) + len(e.Value) + frameOverhead
	}
	for _, e := range c.Envelopes {
		pack.add(Frame{Key: e.Key, Value: e.Value})
	}
	args := make([]any, 0, 29)
	args = append(args, u.partition, u.epoch, u.frontier, c.NextOffset, pack.next, c.Accepted, c.Rejected)
	args = append(args, outboxArgs(pack.rows)...)
	args = append(args, u.topicID)
	args = append(args, quarantineArgs(c.Quarantine)...)
	args = append(args, conflictArgs(c.Conflicts)...)
	args = append(args, statusArgs(c.Keys)...)
	tag, err := u.tx.Exec(ctx, workerFinishSQL, args...)
	if err != nil {
		return fmt.Errorf("write outbox, quarantine, conflicts, status and frontier: %w", err)
	}
	if tag.RowsAffected() != 1 {
		return worker.ErrFenced
	}
	return nil
}

func outboxArgs(rows []packed) []any {
	n := len(rows)
	first, counts, frames := make([]int64, n), make([]int32, n), make([][]byte, n)
	for i, row := range rows {
		first[i], counts[i], frames[i] = row.first, row.count, row.frames
	}
	return []any{first, counts, frames}
}

func quarantineArgs(rows []ledger.QuarantineRow) []any {
	n := len(rows)
	offsets, reasons := make([]int64, n), make([]string, n)
	keys, values := make([][]byte, n), make([][]byte, n)
	keyLengths, valueLengths := make([]int64, n), make([]int64, n)
	keyDigests, valueDigests := make([][]byte, n), make([][]byte, n)
	for i := range rows {
		q := &rows[i]
		offsets[i], reasons[i] = q.Offset, string(q.Reason)
		keys[i], values[i] = q.Key, q.Value
		keyLengths[i], valueLengths[i] = q.KeyLength, q.ValueLength
		keyDigests[i], valueDigests[i] = q.KeySHA256, q.ValueSHA256
	}
	return []any{offsets, reasons, keys, values, keyLengths, valueLengths, keyDigests, valueDigests}
}

func conflictArgs(rows []ledger.ConflictRow) []any {
	n := len(rows)
	keyIDs, txnIDs, revisions, offsets := make([]int32, n), make([]string, n), make([]int64, n), make([]int64, n)
	for i, c := range rows {
		keyIDs[i], txnIDs[i], revisions[i], offsets[i] = c.KeyID, c.TxnID, c.Revision, c.DetectedOffset
	}
	return []any{keyIDs, txnIDs, revisions, offsets}
}

// statusArgs lays the reason sets one after another; each key's slice has one-based, inclusive bounds, as SQL's have.
func statusArgs(rows []ledger.KeyRow) []any {
	n := len(rows)
	keyIDs, versions, first, last := make([]int32, n), make([]int64, n), make([]int32, n), make([]int32, n)
	txns, revisions := []string{}, []int64{}
	for i, k := range rows {
		keyIDs[i], versions[i] = k.KeyID, k.StatusVersion
		first[i] = int32(len(txns) + 1)
		for _, ref := range k.Conflicts {
			txns, revisions = append(txns, ref.TxnID), append(revisions, ref.Revision)
		}
		last[i] = int32(len(txns))
	}
	return []any{keyIDs, versions, first, last, txns, revisions}
}
