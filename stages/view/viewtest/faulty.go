package viewtest

import (
	"context"
	"errors"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/stages/view"
)

// ErrInjected is the error of a commit that Faulty broke.
var ErrInjected = errors.New("injected fault")

// Fault is what happens to a commit.
type Fault int

// The two places a process or connection can die around a commit (SC21), and a bug.
const (
	// BeforeCommit loses the unit of work: nothing became durable.
	BeforeCommit Fault = iota + 1
	// AfterCommit loses only the answer: everything became durable.
	AfterCommit
	// Bug breaks an invariant: nothing became durable, and nothing ever will.
	Bug
)

// Faulty is a Store whose commits fail as told. It is used by one goroutine.
type Faulty struct {
	view.Store
	// Next breaks the next commit and is then cleared.
	Next Fault
}

// Begin implements view.Store.
func (f *Faulty) Begin(ctx context.Context, partition int32, expected int64) (view.Unit, error) {
	inner, err := f.Store.Begin(ctx, partition, expected)
	if err != nil {
		return nil, err
	}
	return &faultyUnit{Unit: inner, faulty: f}, nil
}

type faultyUnit struct {
	view.Unit
	faulty *Faulty
}

func (u *faultyUnit) Commit(ctx context.Context, changes view.Changes) error {
	fault := u.faulty.Next
	u.faulty.Next = 0
	switch fault {
	case BeforeCommit:
		return ErrInjected
	case Bug:
		return invariant.Violated("injected")
	}
	if err := u.Unit.Commit(ctx, changes); err != nil {
		return err
	}
	if fault == AfterCommit {
		return ErrInjected
	}
	return nil
}
