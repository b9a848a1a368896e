package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/stages/relay"
)

// List implements relay.Lister, in one snapshot.
func (s *RelayStore) List(ctx context.Context, partition int32, from int64, limit int) ([]relay.Listed, error) {
	var listed []relay.Listed
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, s.pool, options, func(tx pgx.Tx) error {
		envelopes, err := pending(ctx, tx, partition, from, limit)
		if err != nil {
			return err
		}
		listed = make([]relay.Listed, len(envelopes))
		for i, e := range envelopes {
			listed[i].Envelope = e
		}
		return addReceipts(ctx, tx, partition, listed)
	})
	if err != nil {
		return nil, fmt.Errorf("list the outbox of source partition %d from %d: %w", partition, from, err)
	}
	return listed, nil
}

// run is one row of receipts.
type run struct {
	first int64
	count int32
	acks  []byte
}

func scanRun(rows pgx.Rows, r *run) error { return rows.Scan(&r.first, &r.count, &r.acks) }

// addReceipts marks what was sent. listed is a run of consecutive sequences.
func addReceipts(ctx context.Context, q querier, partition int32, listed []relay.Listed) error {
	if len(listed) == 0 {
		return nil
	}
	first := listed[0].Seq
	runs, err := readRows(ctx, q, scanRun, relayReceiptsSQL, partition, first, first+int64(len(listed)))
	if err != nil {
		return err
	}
	for _, r := range runs {
		receipts, err := relay.ParseReceipts(r.acks, int(r.count))
		if err != nil {
			return invariant.Violated("receipts at sequence %d: %v", r.first, err)
		}
		for i, receipt := range receipts {
			if at := r.first + int64(i) - first; at >= 0 && at < int64(len(listed)) {
				listed[at].Sent, listed[at].Receipt = true, receipt
			}
		}
	}
	return nil
}
