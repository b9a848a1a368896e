package postgres

import (
	"context"
	_ "embed" // the SQL text
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/relay"
)

// The relay's statements.
var (
	//go:embed sql/relay/acquire.sql
	relayAcquireSQL string
	//go:embed sql/relay/lease.sql
	relayLeaseSQL string
	//go:embed sql/relay/release.sql
	relayReleaseSQL string
	//go:embed sql/relay/positions.sql
	relayPositionsSQL string
	//go:embed sql/relay/pending.sql
	relayPendingSQL string
	//go:embed sql/relay/mark.sql
	relayMarkSQL string
	//go:embed sql/relay/stop.sql
	relayStopSQL string
	//go:embed sql/relay/receipts.sql
	relayReceiptsSQL string
)

// RelayStore implements relay.Outbox and relay.Lister over the state schema of one namespace (S9, R17, R19). Each
// method is one statement and so one transaction, but for List. It is safe for concurrent use.
type RelayStore struct {
	pool *pgxpool.Pool
}

// NewRelayStore returns the store over a pool whose search_path is the namespace's state schema.
func NewRelayStore(pool *pgxpool.Pool) *RelayStore { return &RelayStore{pool: pool} }

var (
	_ relay.Outbox = (*RelayStore)(nil)
	_ relay.Lister = (*RelayStore)(nil)
)

// Acquire implements relay.Outbox. Expiry is judged and set by the database's clock.
func (s *RelayStore) Acquire(ctx context.Context, holder string, ttl time.Duration) (relay.Grant, error) {
	var grant relay.Grant
	err := s.pool.QueryRow(ctx, relayAcquireSQL, holder, ttl.Microseconds()).Scan(&grant.Term)
	switch {
	case err == nil:
		grant.Held = true
		return grant, nil
	case !errors.Is(err, pgx.ErrNoRows):
		return relay.Grant{}, classify(err)
	}
	var micros int64
	if err = s.pool.QueryRow(ctx, relayLeaseSQL).Scan(&grant.Term, &micros); err != nil {
		return relay.Grant{}, classify(err)
	}
	grant.Remaining = time.Duration(micros) * time.Microsecond
	return grant, nil
}

// Release implements relay.Outbox.
func (s *RelayStore) Release(ctx context.Context, holder string, term int64) error {
	_, err := s.pool.Exec(ctx, relayReleaseSQL, holder, term)
	return classify(err)
}

// Positions implements relay.Outbox.
func (s *RelayStore) Positions(ctx context.Context) ([]relay.Position, error) {
	return readRows(ctx, s.pool, scanPosition, relayPositionsSQL)
}

func scanPosition(rows pgx.Rows, p *relay.Position) error {
	var sent *int64
	if err := rows.Scan(&p.Partition, &sent, &p.End, &p.Stopped); err != nil {
		return err
	}
	if sent == nil {
		return invariant.Violated("source partition %d has no relay_state", p.Partition)
	}
	p.Sent = *sent
	return nil
}

// Pending implements relay.Outbox.
func (s *RelayStore) Pending(ctx context.Context, partition int32, from int64, limit int) ([]relay.Envelope, error) {
	return pending(ctx, s.pool, partition, from, limit)
}

func pending(ctx context.Context, q querier, partition int32, from int64, limit int) ([]relay.Envelope, error) {
	rows, err := readRows(ctx, q, scanPacked, relayPendingSQL, partition, from, limit)
	if err != nil {
		return nil, err
	}
	envelopes := make([]relay.Envelope, 0, limit)
	for _, row := range rows {
		frames, err := readFrames(row.frames, int(row.count))
		if err != nil {
			return nil, invariant.Violated("outbox row of source partition %d at sequence %d: %v", partition, row.first, err)
		}
		for i, frame := range frames {
			seq := row.first + int64(i)
			switch {
			case seq < from:
				mark.Hit("R19 begins inside a packed row")
				continue
			case len(envelopes) == limit:
				return envelopes, nil
			}
			envelopes = append(envelopes, relay.Envelope{Seq: seq, Key: frame.Key, Value: frame.Value, Headers: frame.Headers})
		}
	}
	return envelopes, nil
}

func scanPacked(rows pgx.Rows, p *packed) error { return rows.Scan(&p.first, &p.count, &p.frames) }

// Mark implements relay.Outbox.
func (s *RelayStore) Mark(ctx context.Context, m relay.Mark) error {
	acks := relay.AppendReceipts(nil, m.Receipts)
	row := s.pool.QueryRow(ctx, relayMarkSQL, m.Holder, m.Term, m.Partition, m.From, len(m.Receipts), acks)
	return s.conditional(row, m.Holder, m.Term, m.From)
}

// RecordStop implements relay.Outbox.
func (s *RelayStore) RecordStop(ctx context.Context, stop relay.Stop) error {
	row := s.pool.QueryRow(ctx, relayStopSQL, stop.Holder, stop.Term, stop.Partition, stop.From, stop.Reason, stop.Detail)
	return s.conditional(row, stop.Holder, stop.Term, stop.From)
}

// conditional reads whether a statement found the lease and the sent-through sequence as expected.
func (s *RelayStore) conditional(row pgx.Row, holder string, term, from int64) error {
	var leased, moved bool
	switch err := row.Scan(&leased, &moved); {
	case err != nil:
		return classify(err)
	case !leased:
		return fmt.Errorf("term %d of %s: %w", term, holder, relay.ErrLeaseLost)
	case !moved:
		return fmt.Errorf("not at sequence %d: %w", from, relay.ErrMoved)
	}
	return nil
}
