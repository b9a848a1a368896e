package postgres

import (
	"context"
	_ "embed" // the SQL text
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/stages/owner"
)

// What a transaction reads, in this order.
var (
	//go:embed sql/lock.sql
	lockSQL string
	//go:embed sql/numbers.sql
	numbersSQL string
	//go:embed sql/inbox.sql
	inboxSQL string
	//go:embed sql/effects.sql
	effectsSQL string
	//go:embed sql/receipts.sql
	receiptsSQL string
	//go:embed sql/effect_receipts.sql
	effectReceiptsSQL string
)

// beginSQL: each statement sees what was committed when it starts, so that what is read under the locks is what they
// guard.
const beginSQL = `begin isolation level read committed read write`

// plansSQL leaves the planner no choice but the indexes, by nested loops, for the length of the transaction. All that is
// looked for is named by its identity; but statements are planned while the tables are empty, and a plan that is best for
// an empty table reads all of a large one, until somebody analyzes it. A plan that has no index to use is then priced so
// high that it would be compiled each time, for most of a second; none of these statements is worth that. A bitmap of an
// index has all that is pending, and all that was since the table was vacuumed; an index scan ends at its limit, and marks
// what is gone.
const plansSQL = `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
	set_config('enable_mergejoin', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('jit', 'off', true)`

// load begins the transaction, locks the owners and reads what is wanted of them, in one round trip.
func (u *unit) load(ctx context.Context, wanted []owner.Wanted) ([]*owner.Loaded, error) {
	rows := map[string]*owner.Row{}
	found := map[string]*owner.Loaded{}
	for i := range wanted {
		found[wanted[i].OwnerID] = nil
	}
	batch := &pgx.Batch{}
	batch.Queue(beginSQL)
	batch.Queue(plansSQL)
	batch.Queue(lockSQL, ownerIDs(wanted)).Query(each(func(r pgx.Rows) error {
		row, number, err := scanOwner(r)
		rows[row.ID], u.numbers[row.ID] = &row, number
		return err
	}))
	batch.Queue(numbersSQL, (rowsAtMost(wanted)+blockSize-1)/blockSize).QueryRow(func(r pgx.Row) error {
		defer func() {
			slices.Sort(u.blocks)
			for id := range found { // the owners are known by now
				found[id] = owner.NewLoaded(id, rows[id])
			}
		}()
		return r.Scan(&u.blocks)
	})
	queueDetails(batch, wanted, found, u.effects)
	if err := u.conn.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	loaded := make([]*owner.Loaded, 0, len(found))
	for _, l := range found {
		loaded = append(loaded, l)
	}
	return loaded, nil
}

// queueDetails asks for inputs, effects and receipts. found is complete by the time at which the answers come.
func queueDetails(batch *pgx.Batch, wanted []owner.Wanted, found map[string]*owner.Loaded, effects map[effectKey]int64) {
	query := func(sql string, ids func(*owner.Wanted) []string, row func(pgx.Rows) error) {
		if owners, identities := pairs(wanted, ids); len(owners) > 0 {
			batch.Queue(sql, owners, identities).Query(each(row))
		}
	}
	query(inboxSQL, func(w *owner.Wanted) []string { return w.InboxIDs }, func(r pgx.Rows) error {
		ownerID, completed, err := scanCompleted(r)
		if err == nil {
			found[ownerID].AddCompleted(completed)
		}
		return err
	})
	query(effectsSQL, func(w *owner.Wanted) []string { return w.EffectIDs }, func(r pgx.Rows) error {
		var ownerID string
		var seq int64
		var e owner.EffectRow
		p := payloadScan{payload: &e.Payload}
		err := p.done(r.Scan(&ownerID, &e.ID, &e.AcceptedAt, &p.schema, &p.codec, &e.Payload.Bytes, &seq, &e.Pending))
		if err == nil {
			found[ownerID].AddEffect(e)
			effects[effectKey{ownerID, e.ID}] = seq
		}
		return err
	})
	receipt := func(r pgx.Rows) error {
		var ownerID string
		recorded, err := scanReceipt(r, &ownerID)
		if err == nil {
			found[ownerID].AddReceipt(recorded)
		}
		return err
	}
	query(receiptsSQL, func(w *owner.Wanted) []string { return w.ReceiptIDs }, receipt)
	query(effectReceiptsSQL, func(w *owner.Wanted) []string { return w.EffectIDs }, receipt)
}

// pairs are owners and identities, two arrays of the same length.
func pairs(wanted []owner.Wanted, ids func(*owner.Wanted) []string) (owners, identities []string) {
	for i := range wanted {
		for _, id := range ids(&wanted[i]) {
			owners, identities = append(owners, wanted[i].OwnerID), append(identities, id)
		}
	}
	return owners, identities
}

// each calls row for every row of a result.
func each(row func(pgx.Rows) error) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			if err := row(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}

func scanOwner(r pgx.Row) (row owner.Row, number int64, err error) {
	var fence string
	var schemas, codecs []string
	if err = r.Scan(&number, &row.ID, &row.Mode, &row.Position, &fence, &schemas, &codecs); err != nil {
		return row, 0, err
	}
	if row.Fence, err = parseUint64(fence); err != nil || schemas == nil && codecs == nil {
		return row, number, err
	}
	row.Supported = &owner.Supported{}
	if row.Supported.SchemaVersions, err = parseVersions(schemas); err == nil {
		row.Supported.CodecVersions, err = parseVersions(codecs)
	}
	return row, number, err
}

func scanCompleted(r pgx.Row) (ownerID string, c owner.CompletedRow, err error) {
	var digest []byte
	if err = r.Scan(&ownerID, &c.ID, &c.Fingerprint, &digest, &c.CommittedThrough); err != nil {
		return "", c, err
	}
	if len(digest) != len(c.Digest) {
		return "", c, fmt.Errorf("input %q of owner %q has a digest of %d bytes", c.ID, ownerID, len(digest))
	}
	copy(c.Digest[:], digest)
	return ownerID, c, nil
}

// scanReceipt reads a receipt; before are targets of columns in front of it.
func scanReceipt(r pgx.Row, before ...any) (recorded owner.Recorded, err error) {
	p := payloadScan{payload: &recorded.Payload}
	var fence string
	err = p.done(r.Scan(append(before, &recorded.ID, &recorded.EffectID, &recorded.Outcome, &p.schema, &p.codec,
		&recorded.Payload.Bytes, &recorded.RecordedAt, &fence)...))
	if err == nil {
		recorded.Fence, err = parseUint64(fence)
	}
	return recorded, err
}

// payloadScan takes the versions of a payload, which are text on the wire.
type payloadScan struct {
	payload       *owner.Payload
	schema, codec string
}

// done completes the payload after a scan.
func (p *payloadScan) done(err error) error {
	if err == nil {
		p.payload.SchemaVersion, err = parseUint64(p.schema)
	}
	if err == nil {
		p.payload.CodecVersion, err = parseUint64(p.codec)
	}
	return err
}

func parseUint64(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) }

// parseVersions of a null array is nil, of an empty one empty.
func parseVersions(texts []string) ([]uint64, error) {
	versions := make([]uint64, len(texts))
	for i, text := range texts {
		var err error
		if versions[i], err = parseUint64(text); err != nil {
			return nil, err
		}
	}
	return versions, nil
}
