package postgres

import (
	"context"
	_ "embed" // the SQL text
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/postgres"
)

// What is read outside of a unit of work.
var (
	//go:embed sql/image_owner.sql
	imageOwnerSQL string
	//go:embed sql/image_events.sql
	imageEventsSQL string
	//go:embed sql/image_snapshot.sql
	imageSnapshotSQL string
	//go:embed sql/image_inbox.sql
	imageInboxSQL string
	//go:embed sql/image_effects.sql
	imageEffectsSQL string
	//go:embed sql/image_receipts.sql
	imageReceiptsSQL string
	//go:embed sql/pending.sql
	pendingSQL string
	//go:embed sql/count_pending.sql
	countPendingSQL string
	//go:embed sql/pending_latest.sql
	pendingLatestSQL string
	//go:embed sql/latest_published.sql
	latestPublishedSQL string
)

// The same where the prefix names the kind, and where it names the lane, each an index.
var (
	pendingOfKindSQL, countOfKindSQL = whereAlso(`kind = $3`)
	pendingOfLaneSQL, countOfLaneSQL = whereAlso(`lane = $3`)
)

// whereAlso are the queries of pending effects with one more condition.
func whereAlso(condition string) (pending, count string) {
	const where = `WHERE starts_with`
	narrower := `WHERE ` + condition + ` AND starts_with`
	return strings.Replace(pendingSQL, where, narrower, 1), strings.Replace(countPendingSQL, where, narrower, 1)
}

// byPrefix chooses among the queries for any prefix, one that names the kind, and one that names the lane, with the
// arguments.
func byPrefix(prefix string, limit int, anySQL, kindSQL, laneSQL string) (sql string, args []any) {
	switch parts := strings.SplitN(prefix, "/", 4); {
	case len(parts) == 4:
		return laneSQL, []any{prefix, limit, strings.Join(parts[:3], "/")}
	case len(parts) > 1:
		return kindSQL, []any{prefix, limit, parts[0]}
	}
	return anySQL, []any{prefix, limit}
}

// snapshotSQL begins to read everything as of one moment.
const snapshotSQL = `begin isolation level repeatable read read only`

// storableText reports whether a text could be the identity of something that is stored, or begin one.
func storableText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}

// Image implements owner.Store.
func (s *Store) Image(ctx context.Context, ownerID string) (*owner.Image, error) {
	if !storableText(ownerID) {
		return nil, nil
	}
	image, err := s.image(ctx, ownerID)
	if err != nil {
		return nil, fmt.Errorf("read owner %q: %w", ownerID, postgres.ClassifyFault(err))
	}
	return image, nil
}

func (s *Store) image(ctx context.Context, ownerID string) (*owner.Image, error) {
	var image *owner.Image
	read := &owner.Image{}
	batch := &pgx.Batch{}
	batch.Queue(snapshotSQL)
	batch.Queue(plansSQL)
	batch.Queue(imageOwnerSQL, ownerID).Query(each(func(r pgx.Rows) error {
		row, _, err := scanOwner(r)
		read.OwnerID, read.Mode, read.Position, read.Fence = row.ID, row.Mode, row.Position, row.Fence
		image = read
		return err
	}))
	queueImage(batch, ownerID, read)
	batch.Queue(`commit`)
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	return image, nil
}

func queueImage(batch *pgx.Batch, ownerID string, image *owner.Image) {
	batch.Queue(imageEventsSQL, ownerID).Query(each(func(r pgx.Rows) error {
		event, err := scanPositioned(r)
		image.History = append(image.History, event)
		return err
	}))
	batch.Queue(imageSnapshotSQL, ownerID).Query(each(func(r pgx.Rows) error {
		snapshot, err := scanPositioned(r)
		image.Snapshot = &snapshot
		return err
	}))
	batch.Queue(imageInboxSQL, ownerID).Query(each(func(r pgx.Rows) error {
		var c owner.Completed
		err := r.Scan(&c.ID, &c.Fingerprint, &c.CommittedThrough)
		image.Inbox = append(image.Inbox, c)
		return err
	}))
	batch.Queue(imageEffectsSQL, ownerID).Query(each(func(r pgx.Rows) error {
		var e owner.Accepted
		var pending bool
		p := payloadScan{payload: &e.Payload}
		err := p.done(r.Scan(&e.ID, &e.AcceptedAt, &p.schema, &p.codec, &e.Payload.Bytes, &pending))
		image.Outbox = append(image.Outbox, e)
		if pending {
			image.PendingEffectIDs = append(image.PendingEffectIDs, e.ID)
		}
		return err
	}))
	batch.Queue(imageReceiptsSQL, ownerID).Query(each(func(r pgx.Rows) error {
		recorded, err := scanReceipt(r)
		image.Receipts = append(image.Receipts, recorded)
		return err
	}))
}

func scanPositioned(r pgx.Row) (owner.Positioned, error) {
	var row owner.Positioned
	p := payloadScan{payload: &row.Payload}
	err := p.done(r.Scan(&row.Position, &p.schema, &p.codec, &row.Payload.Bytes))
	return row, err
}

// Pending implements owner.Store. It returns fewer than limit, but at least one, where their payloads have more than
// 32 MiB together.
func (s *Store) Pending(ctx context.Context, prefix string, limit int) ([]owner.Pending, error) {
	if !storableText(prefix) {
		return nil, nil
	}
	sql, args := byPrefix(prefix, limit, pendingSQL, pendingOfKindSQL, pendingOfLaneSQL)
	var list []owner.Pending
	err := s.read(ctx, func(r pgx.Rows) error {
		pending, err := scanPending(r)
		list = append(list, pending)
		return err
	}, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read pending effects: %w", postgres.ClassifyFault(err))
	}
	return list, nil
}

// CountPending implements owner.Store.
func (s *Store) CountPending(ctx context.Context, prefix string, limit int) (n int, err error) {
	if !storableText(prefix) {
		return 0, nil
	}
	sql, args := byPrefix(prefix, limit, countPendingSQL, countOfKindSQL, countOfLaneSQL)
	if err := s.read(ctx, func(r pgx.Rows) error { return r.Scan(&n) }, sql, args...); err != nil {
		return 0, fmt.Errorf("count pending effects: %w", postgres.ClassifyFault(err))
	}
	return n, nil
}

// read calls row for every row of a query, in one round trip.
func (s *Store) read(ctx context.Context, row func(pgx.Rows) error, sql string, args ...any) error {
	batch := &pgx.Batch{}
	batch.Queue(snapshotSQL)
	batch.Queue(plansSQL)
	batch.Queue(sql, args...).Query(each(row))
	batch.Queue(`commit`)
	return s.pool.SendBatch(ctx, batch).Close()
}

func scanPending(r pgx.Row) (owner.Pending, error) {
	var row owner.Pending
	var fence string
	p := payloadScan{payload: &row.Payload}
	err := p.done(r.Scan(&row.OwnerID, &row.Position, &fence, &row.ID, &p.schema, &p.codec, &row.Payload.Bytes))
	if err == nil {
		row.Fence, err = parseUint64(fence)
	}
	return row, err
}

// PendingLatest implements owner.Store.
func (s *Store) PendingLatest(ctx context.Context, prefix string, limit int) ([]owner.LatestDurableProjection, error) {
	if !storableText(prefix) {
		return nil, nil
	}
	var list []owner.LatestDurableProjection
	err := s.read(ctx, func(r pgx.Rows) error {
		var stored []byte
		if err := r.Scan(&stored); err != nil {
			return err
		}
		latest, err := owner.DecodeLatest(stored)
		list = append(list, latest)
		return err
	}, pendingLatestSQL, prefix, limit)
	if err != nil {
		return nil, fmt.Errorf("read pending latest values: %w", postgres.ClassifyFault(err))
	}
	return list, nil
}

// LatestPublished implements owner.Store.
func (s *Store) LatestPublished(ctx context.Context, published owner.LatestDurableProjection) (bool, error) {
	if !storableText(published.OwnerID()) { // one that was never kept: owner.NewLatest takes any name
		return false, nil
	}
	tag, err := s.pool.Exec(ctx, latestPublishedSQL, published.OwnerID(), published.Bytes())
	if err != nil {
		return false, fmt.Errorf("note the latest value of owner %q as published: %w", published.OwnerID(), postgres.ClassifyFault(err))
	}
	return tag.RowsAffected() > 0, nil
}
