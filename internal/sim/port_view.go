package sim

import (
	"context"

	"amends.dev/amends/stages/view"
)

// viewStore is the view's database as one life sees it.
type viewStore struct {
	life  *life
	inner view.Store
}

var _ view.Store = (*viewStore)(nil)

// Position implements view.Store.
func (s *viewStore) Position(ctx context.Context, partition int32) (next int64, err error) {
	err = s.life.call(opPosition, func() (err error) {
		if err = s.life.world.blocked(lock{view: true, partition: partition}); err == nil {
			next, err = s.inner.Position(ctx, partition)
		}
		return err
	})
	return next, err
}

// Begin implements view.Store.
func (s *viewStore) Begin(ctx context.Context, partition int32, expected int64) (view.Unit, error) {
	w, key := s.life.world, lock{view: true, partition: partition}
	unit := &viewUnit{life: s.life, partition: partition}
	err := s.life.call(opBegin, func() (err error) {
		if err = w.blocked(key); err != nil {
			return err
		}
		if unit.inner, err = s.inner.Begin(ctx, partition, expected); err != nil {
			return err
		}
		w.locks[key] = held{life: s.life, end: func() { unit.inner.Rollback(ctx); unit.ended = true }}
		return nil
	})
	if err != nil {
		if unit.inner != nil {
			w.release(s.life)
		}
		return nil, err
	}
	return unit, nil
}

// viewUnit is an open unit of work of one life.
type viewUnit struct {
	life      *life
	inner     view.Unit
	partition int32
	ended     bool
}

// Guards implements view.Unit.
func (u *viewUnit) Guards(ctx context.Context, ids []view.ID) (guards map[view.ID]view.Guard, err error) {
	err = u.life.call(opRead, func() (err error) {
		if u.ended {
			return &databaseError{code: "25P03"}
		}
		guards, err = u.inner.Guards(ctx, ids)
		return err
	})
	return guards, err
}

// Commit implements view.Unit.
func (u *viewUnit) Commit(ctx context.Context, changes view.Changes) error {
	w := u.life.world
	err := u.life.call(opCommit, func() error {
		if u.ended {
			return &databaseError{code: "25P03"}
		}
		err := u.inner.Commit(ctx, changes)
		w.log(u.life.name, "view partition %d through %d, %d rows: %v", u.partition, changes.Next, len(changes.Rows), outcomeOf(err))
		if stop := changes.Violation; stop != nil {
			w.log(u.life.name, "view partition %d stops at %d: %s %s", u.partition, stop.Offset, stop.Problem.Reason, stop.Problem.Detail)
		}
		return err
	})
	w.unlock(lock{view: true, partition: u.partition}, u.life)
	return err
}

// Rollback implements view.Unit.
func (u *viewUnit) Rollback(context.Context) {
	u.life.world.unlock(lock{view: true, partition: u.partition}, u.life)
}
