package workertest

import (
	"context"
	"errors"
	"fmt"

	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker"
)

// Op names one operation of a store that a test may let fail.
type Op string

// The operations.
const (
	OpState        Op = "state"
	OpInstall      Op = "install"
	OpStop         Op = "stop"
	OpBegin        Op = "begin"
	OpKeys         Op = "keys"
	OpAuthority    Op = "authority"
	OpKeyAuthority Op = "key_authority"
	OpEvidence     Op = "evidence"
	OpCommit       Op = "commit"
)

// Fate is what becomes of one operation.
type Fate int

// The fates. The last two are those of an answer that never came (SC18).
const (
	// Proceed is the ordinary course.
	Proceed Fate = iota
	// Fail fails the operation, which certainly has no effect.
	Fail
	// LostUndone has no effect, and the caller cannot know.
	LostUndone
	// LostDone has its effect, and the caller cannot know.
	LostDone
)

// ErrInjected is wrapped by the error of every operation whose fate was Fail, or whose answer was lost.
var ErrInjected = errors.New("injected fault")

// Faulty is any worker.Store with injected faults.
type Faulty struct {
	// Store is the real one.
	Store worker.Store
	// Fate decides over each operation, before it happens; nil lets all proceed. It may change the world meanwhile, as
	// time does for a frozen process.
	Fate func(op Op, partition int32) Fate
}

var _ worker.Store = (*Faulty)(nil)

// PartitionState implements worker.Store.
func (f *Faulty) PartitionState(ctx context.Context, partition int32) (state worker.PartitionState, err error) {
	err = f.run(OpState, partition, func() (err error) {
		state, err = f.Store.PartitionState(ctx, partition)
		return err
	})
	return state, err
}

// InstallEpoch implements worker.Store.
func (f *Faulty) InstallEpoch(ctx context.Context, in worker.Installation) (state worker.PartitionState, err error) {
	err = f.run(OpInstall, in.Partition, func() (err error) {
		state, err = f.Store.InstallEpoch(ctx, in)
		return err
	})
	return state, err
}

// RecordStop implements worker.Store.
func (f *Faulty) RecordStop(ctx context.Context, partition int32, epoch, frontier int64, stop worker.Stop) error {
	return f.run(OpStop, partition, func() error { return f.Store.RecordStop(ctx, partition, epoch, frontier, stop) })
}

// Begin implements worker.Store.
func (f *Faulty) Begin(ctx context.Context, partition int32, epoch, frontier int64) (worker.Unit, error) {
	switch f.fate(OpBegin, partition) {
	case Proceed:
	case Fail, LostUndone, LostDone:
		return nil, injected(OpBegin, partition)
	}
	unit, err := f.Store.Begin(ctx, partition, epoch, frontier)
	if err != nil {
		return nil, err
	}
	return &faultyUnit{faulty: f, unit: unit, partition: partition}, nil
}

// run does one operation with its fate. A lost answer is an error to the caller.
func (f *Faulty) run(op Op, partition int32, do func() error) error {
	fate := f.fate(op, partition)
	if fate == Fail || fate == LostUndone {
		return injected(op, partition)
	}
	if err := do(); err != nil {
		return err
	}
	if fate == LostDone {
		return injected(op, partition)
	}
	return nil
}

func (f *Faulty) fate(op Op, partition int32) Fate {
	if f.Fate == nil {
		return Proceed
	}
	return f.Fate(op, partition)
}

func injected(op Op, partition int32) error {
	return fmt.Errorf("%s of partition %d: %w", op, partition, ErrInjected)
}

// faultyUnit is a unit of work with injected faults.
type faultyUnit struct {
	faulty    *Faulty
	unit      worker.Unit
	partition int32
}

// Keys implements worker.Unit.
func (u *faultyUnit) Keys(ctx context.Context, keyIDs []int32) (keys []ledger.KeyRow, days []ledger.DayRow, err error) {
	err = u.faulty.run(OpKeys, u.partition, func() (err error) {
		keys, days, err = u.unit.Keys(ctx, keyIDs)
		return err
	})
	return keys, days, err
}

// Authority implements worker.Unit.
func (u *faultyUnit) Authority(ctx context.Context, refs []ledger.IdentityRef) (rows []ledger.AuthorityRow, err error) {
	err = u.faulty.run(OpAuthority, u.partition, func() (err error) {
		rows, err = u.unit.Authority(ctx, refs)
		return err
	})
	return rows, err
}

// KeyAuthority implements worker.Unit.
func (u *faultyUnit) KeyAuthority(ctx context.Context, keyIDs []int32) (rows []ledger.AuthorityRow, err error) {
	err = u.faulty.run(OpKeyAuthority, u.partition, func() (err error) {
		rows, err = u.unit.KeyAuthority(ctx, keyIDs)
		return err
	})
	return rows, err
}

// Evidence implements worker.Unit.
func (u *faultyUnit) Evidence(ctx context.Context, refs []ledger.RevisionRef) (rows []ledger.EvidenceRow, err error) {
	err = u.faulty.run(OpEvidence, u.partition, func() (err error) {
		rows, err = u.unit.Evidence(ctx, refs)
		return err
	})
	return rows, err
}

// Commit implements worker.Unit.
func (u *faultyUnit) Commit(ctx context.Context, changes ledger.Changes) error {
	fate := u.faulty.fate(OpCommit, u.partition)
	if fate == LostDone { // the commit reached the database, whoever is stopped meanwhile
		ctx = context.WithoutCancel(ctx)
	}
	if fate == Fail || fate == LostUndone {
		u.unit.Rollback(ctx)
	} else if err := u.unit.Commit(ctx, changes); err != nil {
		return err
	}
	switch fate {
	case Fail:
		return injected(OpCommit, u.partition)
	case LostUndone, LostDone:
		return fmt.Errorf("%w: %w", worker.ErrUnknownOutcome, injected(OpCommit, u.partition))
	case Proceed:
	}
	return nil
}

// Rollback implements worker.Unit.
func (u *faultyUnit) Rollback(ctx context.Context) { u.unit.Rollback(ctx) }
