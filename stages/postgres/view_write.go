package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/stages/view"
)

// Commit implements view.Unit: at most one statement for each family, one for a violation, one for the position, and
// the commit.
func (u *viewUnit) Commit(ctx context.Context, c view.Changes) error {
	if err := u.write(ctx, c); err != nil {
		rollback(ctx, u.tx)
		return classify(err)
	}
	return commit(ctx, u.tx)
}

func (u *viewUnit) write(ctx context.Context, c view.Changes) error {
	// One order for all, so that neighbours on disk are written together.
	rows := slices.SortedFunc(slices.Values(c.Rows), func(a, b view.Envelope) int { return a.ID.Compare(b.ID) })
	for len(rows) > 0 {
		family := rows[0].ID.Family
		n, _ := slices.BinarySearchFunc(rows, family+1, func(e view.Envelope, f view.Family) int {
			return cmp.Compare(e.ID.Family, f)
		})
		if err := u.apply(ctx, family, rows[:n]); err != nil {
			return fmt.Errorf("write %d %s rows: %w", n, family, err)
		}
		rows = rows[n:]
	}
	if stop := c.Violation; stop != nil {
		var stored []byte
		if stop.Problem.Stored != nil {
			stored = stop.Problem.Stored[:]
		}
		_, err := u.tx.Exec(ctx, viewStopSQL, u.partition, stop.Offset, string(stop.Problem.Reason), stop.OutputID,
			stop.Version, stored, stop.Key, stop.Value, stop.Problem.Detail)
		if err != nil {
			return fmt.Errorf("record the violation: %w", err)
		}
	}
	tag, err := u.tx.Exec(ctx, viewFinishSQL, u.partition, u.next, c.Next, c.Applied, c.Ignored, c.Violation != nil)
	if err != nil {
		return fmt.Errorf("advance the position: %w", err)
	}
	return invariant.Check(tag.RowsAffected() == 1, "view position of partition %d changed under its lock", u.partition)
}

// apply writes the rows of one family. Every one must be written: the guards that allowed it were read under the lock.
func (u *viewUnit) apply(ctx context.Context, family view.Family, rows []view.Envelope) error {
	columns := gather(rows)
	var sql string
	var args []any
	switch family {
	case view.FamilyBalance:
		sql = viewApplyBalanceSQL
		args = []any{columns.keyIDs, columns.days, columns.versions, columns.contents, columns.present, columns.closes}
	case view.FamilyAlert:
		sql = viewApplyAlertSQL
		args = []any{columns.keyIDs, columns.days, columns.versions, columns.contents, columns.present, columns.closes,
			columns.thresholds}
	case view.FamilyStatus:
		sql = viewApplyStatusSQL
		args = []any{columns.keyIDs, columns.versions, columns.contents, columns.first, columns.last, columns.txnIDs,
			columns.revisions}
	default:
		return invariant.Violated("family %d", family)
	}
	tag, err := u.tx.Exec(ctx, sql, args...)
	if err != nil {
		return err
	}
	return invariant.Check(tag.RowsAffected() == int64(len(rows)), "%d of %d rows had a lower version", tag.RowsAffected(), len(rows))
}

// viewColumns are rows turned into the arrays of a statement.
type viewColumns struct {
	keyIDs, days       []int32
	versions           []int64
	contents           [][]byte
	present            []bool
	closes, thresholds []int64
	first, last        []int32
	txnIDs             []string
	revisions          []int64
}

func gather(rows []view.Envelope) viewColumns {
	c := viewColumns{txnIDs: []string{}, revisions: []int64{}} // a nil slice would be NULL, not an empty array
	for i := range rows {
		e := &rows[i]
		c.keyIDs, c.days = append(c.keyIDs, e.ID.KeyID), append(c.days, e.ID.Day)
		c.versions, c.contents = append(c.versions, e.Version), append(c.contents, e.Content[:])
		c.present, c.closes = append(c.present, e.Present), append(c.closes, e.Close)
		c.thresholds = append(c.thresholds, e.Threshold)
		c.first = append(c.first, int32(len(c.txnIDs)+1)) // arrays of Postgres begin at 1
		for _, conflict := range e.Conflicts {
			c.txnIDs, c.revisions = append(c.txnIDs, conflict.TxnID), append(c.revisions, conflict.Revision)
		}
		c.last = append(c.last, int32(len(c.txnIDs)))
	}
	return c
}
