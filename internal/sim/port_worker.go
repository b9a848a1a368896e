package sim

import (
	"context"

	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker"
)

// workerStore is the worker's database as one life sees it. Contexts end here: their deadlines are of the wall clock.
type workerStore struct {
	life  *life
	inner worker.Store
}

var _ worker.Store = (*workerStore)(nil)

// PartitionState implements worker.Store.
func (s *workerStore) PartitionState(ctx context.Context, partition int32) (state worker.PartitionState, err error) {
	err = s.life.call(opState, func() (err error) {
		if err = s.life.world.blocked(lock{partition: partition}); err == nil {
			state, err = s.inner.PartitionState(context.WithoutCancel(ctx), partition)
		}
		return err
	})
	return state, err
}

// InstallEpoch implements worker.Store.
func (s *workerStore) InstallEpoch(ctx context.Context, in worker.Installation) (state worker.PartitionState, err error) {
	w := s.life.world
	err = s.life.call(opInstall, func() (err error) {
		if err = w.blocked(lock{partition: in.Partition}); err != nil {
			return err
		}
		state, err = s.inner.InstallEpoch(context.WithoutCancel(ctx), in)
		w.log(s.life.name, "install epoch %d of partition %d, generation %d: %v", in.ExpectedEpoch+1, in.Partition, in.Generation, outcomeOf(err))
		return err
	})
	return state, err
}

// RecordStop implements worker.Store.
func (s *workerStore) RecordStop(ctx context.Context, partition int32, epoch, frontier int64, stop worker.Stop) error {
	w := s.life.world
	return s.life.call(opStop, func() error {
		if err := w.blocked(lock{partition: partition}); err != nil {
			return err
		}
		err := s.inner.RecordStop(context.WithoutCancel(ctx), partition, epoch, frontier, stop)
		w.log(s.life.name, "stop partition %d at %d, %s: %v", partition, stop.Offset, stop.Reason, outcomeOf(err))
		return err
	})
}

// Begin implements worker.Store.
func (s *workerStore) Begin(ctx context.Context, partition int32, epoch, frontier int64) (worker.Unit, error) {
	w, key := s.life.world, lock{partition: partition}
	unit := &workerUnit{life: s.life, partition: partition, epoch: epoch}
	err := s.life.call(opBegin, func() (err error) {
		if err = w.blocked(key); err != nil {
			return err
		}
		unit.inner, err = s.inner.Begin(context.WithoutCancel(ctx), partition, epoch, frontier)
		if err != nil {
			w.log(s.life.name, "begin on partition %d, epoch %d, at %d: %v", partition, epoch, frontier, outcomeOf(err))
			return err
		}
		w.locks[key] = held{life: s.life, end: func() { unit.inner.Rollback(context.WithoutCancel(ctx)); unit.ended = true }}
		return nil
	})
	if err != nil {
		if unit.inner != nil { // begun, and the answer lost or the process dead: the server ends it
			w.release(s.life)
		}
		return nil, err
	}
	return unit, nil
}

// workerUnit is an open unit of work of one life.
type workerUnit struct {
	life      *life
	inner     worker.Unit
	partition int32
	epoch     int64
	// ended: the server ended the transaction.
	ended bool
}

// read passes the gate with one of the reads.
func (u *workerUnit) read(read func() error) error {
	return u.life.call(opRead, func() error {
		if u.ended {
			return &databaseError{code: "25P03"}
		}
		return read()
	})
}

// Keys implements worker.Unit.
func (u *workerUnit) Keys(ctx context.Context, keyIDs []int32) (keys []ledger.KeyRow, days []ledger.DayRow, err error) {
	err = u.read(func() (err error) {
		keys, days, err = u.inner.Keys(ctx, keyIDs)
		return err
	})
	return keys, days, err
}

// Authority implements worker.Unit.
func (u *workerUnit) Authority(ctx context.Context, refs []ledger.IdentityRef) (rows []ledger.AuthorityRow, err error) {
	err = u.read(func() (err error) {
		rows, err = u.inner.Authority(ctx, refs)
		return err
	})
	return rows, err
}

// Evidence implements worker.Unit.
func (u *workerUnit) Evidence(ctx context.Context, refs []ledger.RevisionRef) (rows []ledger.EvidenceRow, err error) {
	err = u.read(func() (err error) {
		rows, err = u.inner.Evidence(ctx, refs)
		return err
	})
	return rows, err
}

// KeyAuthority implements worker.Unit.
func (u *workerUnit) KeyAuthority(ctx context.Context, keyIDs []int32) (rows []ledger.AuthorityRow, err error) {
	err = u.read(func() (err error) {
		rows, err = u.inner.KeyAuthority(ctx, keyIDs)
		return err
	})
	return rows, err
}

// Commit implements worker.Unit.
func (u *workerUnit) Commit(ctx context.Context, changes ledger.Changes) error {
	w := u.life.world
	err := u.life.call(opCommit, func() error {
		if u.ended {
			return &databaseError{code: "25P03"}
		}
		before, _, _ := w.state.Peek(u.partition)
		err := u.inner.Commit(context.WithoutCancel(ctx), changes)
		after, _, _ := w.state.Peek(u.partition)
		if after.NextOffset != before.NextOffset {
			w.commits = append(w.commits, commit{by: u.life.name, partition: u.partition, epoch: u.epoch, row: after.Epoch})
		}
		w.log(u.life.name, "commit partition %d, epoch %d: %d to %d, %d envelopes: %v", u.partition, u.epoch, before.NextOffset,
			changes.NextOffset, len(changes.Envelopes), outcomeOf(err))
		return err
	})
	w.unlock(lock{partition: u.partition}, u.life)
	return err
}

// Rollback implements worker.Unit.
func (u *workerUnit) Rollback(context.Context) {
	u.life.world.unlock(lock{partition: u.partition}, u.life)
}

// commit is a unit of work that became durable: with the epoch that its worker began it under, and that of the row.
type commit struct {
	by         string
	partition  int32
	epoch, row int64
}

// unlock ends what the life holds of a lock; after a commit that is nothing but the lock.
func (w *world) unlock(key lock, l *life) {
	if h, ok := w.locks[key]; ok && h.life == l {
		delete(w.locks, key)
		h.end()
	}
}

// outcomeOf is an error in a trace.
func outcomeOf(err error) string {
	if err == nil {
		return "done"
	}
	return err.Error()
}
