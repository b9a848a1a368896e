package sim

import (
	"context"
	"time"

	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/worker/workertest"
)

// outboxRows are the worker's committed envelopes, as the relay's store reads them.
type outboxRows struct{ state *workertest.Store }

// End implements memory.Rows.
func (r outboxRows) End(partition int32) int64 { return r.state.OutboxEnd(partition) }

// Window implements memory.Rows.
func (r outboxRows) Window(partition int32, from int64, limit int) []relay.Envelope {
	rows := r.state.OutboxRows(partition, from, limit)
	envelopes := make([]relay.Envelope, len(rows))
	for i, row := range rows {
		envelopes[i] = relay.Envelope{Seq: row.Seq, Key: row.Key, Value: row.Value}
	}
	return envelopes
}

// outboxStore is the relay's database as one life sees it.
type outboxStore struct {
	life  *life
	inner relay.Outbox
}

var _ relay.Outbox = (*outboxStore)(nil)

// Acquire implements relay.Outbox.
func (s *outboxStore) Acquire(ctx context.Context, holder string, ttl time.Duration) (grant relay.Grant, err error) {
	err = s.life.call(opAcquire, func() (err error) {
		_, before, _ := s.life.world.outbox.Lease()
		grant, err = s.inner.Acquire(ctx, holder, ttl)
		if grant.Held && grant.Term != before {
			s.life.world.log(s.life.name, "holds the relay lease, term %d", grant.Term)
		}
		return err
	})
	return grant, err
}

// Release implements relay.Outbox.
func (s *outboxStore) Release(ctx context.Context, holder string, term int64) error {
	return s.life.call(opAcquire, func() error { return s.inner.Release(ctx, holder, term) })
}

// Positions implements relay.Outbox.
func (s *outboxStore) Positions(ctx context.Context) (positions []relay.Position, err error) {
	err = s.life.call(opPositions, func() (err error) {
		positions, err = s.inner.Positions(ctx)
		return err
	})
	return positions, err
}

// Pending implements relay.Outbox.
func (s *outboxStore) Pending(ctx context.Context, partition int32, from int64, limit int) (envelopes []relay.Envelope, err error) {
	err = s.life.call(opPending, func() (err error) {
		envelopes, err = s.inner.Pending(ctx, partition, from, limit)
		return err
	})
	return envelopes, err
}

// RecordStop implements relay.Outbox.
func (s *outboxStore) RecordStop(ctx context.Context, stop relay.Stop) error {
	return s.life.call(opStop, func() error {
		s.life.world.log(s.life.name, "relay stops source partition %d at %d: %s", stop.Partition, stop.From, stop.Detail)
		return s.inner.RecordStop(ctx, stop)
	})
}

// Mark implements relay.Outbox.
func (s *outboxStore) Mark(ctx context.Context, m relay.Mark) error {
	return s.life.call(opMark, func() error {
		err := s.inner.Mark(ctx, m)
		s.life.world.log(s.life.name, "mark source partition %d sent from %d to %d: %v", m.Partition, m.From, m.From+int64(len(m.Receipts)), outcomeOf(err))
		return err
	})
}
