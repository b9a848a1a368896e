package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"amends.dev/amends/stages/worker"
)

// usurper installs itself as the owner of source partition 0 while a former owner is in the midst of its work, through
// the production store (SC19).
type usurper struct {
	store worker.Store
	begun chan struct{}
	ended chan struct{}
	once  sync.Once

	// before and installed are the rows found and made; err says why there is none. They are set when ended is closed.
	before, installed worker.PartitionState
	err               error
}

func newUsurper(store worker.Store) *usurper {
	return &usurper{store: store, begun: make(chan struct{}), ended: make(chan struct{})}
}

// start usurps. Where the former owner holds the row's lock, which it does at its commit, it can only wait for it in
// the background.
func (u *usurper) start(ctx context.Context, at string) {
	u.once.Do(func() {
		close(u.begun)
		work := func() {
			defer close(u.ended)
			u.err = u.install(ctx)
		}
		if at == atCommit {
			go work()
		} else {
			work()
		}
	})
}

func (u *usurper) install(ctx context.Context) (err error) {
	if u.before, err = u.store.PartitionState(ctx, 0); err != nil {
		return err
	}
	u.installed, err = u.store.InstallEpoch(ctx, worker.Installation{
		Partition: 0, ExpectedEpoch: u.before.Epoch, Member: "successor", Generation: u.before.Generation + 1,
	})
	return err
}

// started reports whether the former owner came to the place.
func (u *usurper) started() bool {
	select {
	case <-u.begun:
		return true
	default:
		return false
	}
}

// wait waits for the installation.
func (u *usurper) wait(ctx context.Context) error {
	if !u.started() {
		return errors.New("the worker never came to the place of the rebalance")
	}
	select {
	case <-u.ended:
		return u.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// prevails reports an error where anything moved under an epoch that the usurper has replaced.
func (u *usurper) prevails(ctx context.Context) error {
	state, err := u.store.PartitionState(ctx, 0)
	switch {
	case err != nil:
		return err
	case state.Epoch != u.before.Epoch+1:
		return fmt.Errorf("epoch %d after %d was installed over %d", state.Epoch, u.installed.Epoch, u.before.Epoch)
	case state.NextOffset != u.installed.NextOffset:
		return fmt.Errorf("the former owner moved the frontier from %d to %d under epoch %d", u.installed.NextOffset, state.NextOffset, u.before.Epoch)
	}
	return nil
}
