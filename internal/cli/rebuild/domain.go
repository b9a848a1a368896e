package rebuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/oracle/derive"
	"amends.dev/amends/stages/postgres"
)

// prepare derives the dataset before anything is created, where it is to be kept, or where a close may turn out not to fit:
// then nothing can be rebuilt, and nothing should be left (R09). The caller calls the returned function when done.
func (j *job) prepare(ctx context.Context, state *postgres.Pool, t *target, r *Result) (func(), error) {
	remove := func() {}
	if j.mode != modeBulk {
		return remove, nil
	}
	if j.dataset == "" {
		fits, err := fitted(ctx, state, t, r.Through)
		if err != nil || fits {
			return remove, err
		}
		folder, err := os.MkdirTemp("", "amends-rebuild-")
		if err != nil {
			return remove, fmt.Errorf("make a temporary folder: %w", err)
		}
		j.dataset = filepath.Join(folder, "dataset")
		remove = func() { _ = os.RemoveAll(folder) } // temporary
	}
	if err := j.derive(ctx, t, r); err != nil {
		remove()
		return nil, err
	}
	return remove, nil
}

// fitted reports whether the worker of the old namespace went through the same history under the same configuration, and so
// proved that all closes fit: it would have stopped at the first that does not.
func fitted(ctx context.Context, state *postgres.Pool, t *target, through []int64) (bool, error) {
	if t.begun || t.differs() { // begun: then it was derived before, or is known to fit
		return t.begun, nil
	}
	store := postgres.NewWorkerStore(state, t.old.SourceTopicID)
	for p, end := range through {
		partition, err := store.PartitionState(ctx, int32(p))
		if err != nil {
			return false, err
		}
		if partition.NextOffset < end || partition.Stop != nil {
			mark.Hit("S11 derived before anything is created")
			return false, nil
		}
	}
	return true, nil
}

// left adds to an error of a rebuild that cannot succeed what it leaves, and what to do about it.
func (j *job) left(err error) error {
	if !errors.Is(err, derive.ErrOutOfDomain) {
		return err
	}
	return fmt.Errorf("%w; the state of namespace %s cannot be right, whose worker passed it; namespace %s is unfinished; remove it with amendsctl delete namespace %s --with-topics",
		err, j.from, j.into, j.into)
}
