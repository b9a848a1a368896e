package rebuild

import (
	"context"
	"fmt"
	"slices"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/ledger"
)

// Loader loads one dataset into one namespace. Different partitions may be loaded at the same time.
type Loader struct {
	config  *ledger.Config
	dataset Dataset
	store   Store
	member  string
}

// NewLoader checks that the dataset is for the namespace: its configuration, its source topic and H (R26). member names
// this rebuild and is the same after a restart; no other one has it. The error wraps ErrDataset.
func NewLoader(config *ledger.Config, dataset Dataset, store Store, member string, ends []int64) (*Loader, error) {
	meta := dataset.Meta()
	want := config.Namespace().BusinessDigest(config.SourceTopicID())
	switch {
	case meta.BusinessDigest != want:
		mark.Hit("rebuild.3 another configuration")
		return nil, fmt.Errorf("%w: it was derived for business digest %s, the namespace has %s", ErrDataset, meta.BusinessDigest, want)
	case meta.TopicID != config.SourceTopicID():
		return nil, fmt.Errorf("%w: it was derived from topic ID %s, the namespace reads %s", ErrDataset, meta.TopicID, config.SourceTopicID())
	case !slices.Equal(meta.Ends, ends):
		return nil, fmt.Errorf("%w: it ends at %v, not at H %v", ErrDataset, meta.Ends, ends)
	case len(meta.Ends) != int(config.Namespace().Spec.Source.Partitions):
		return nil, fmt.Errorf("%w: it has %d partitions, the namespace %d", ErrDataset, len(meta.Ends), config.Namespace().Spec.Source.Partitions)
	}
	return &Loader{config: config, dataset: dataset, store: store, member: member}, nil
}

// Before reports whether this rebuild loaded a partition before, and with how many records; it reads nothing of the dataset but
// H. The error is a fault.
func (l *Loader) Before(ctx context.Context, partition int32) (state State, loaded bool, err error) {
	state, err = l.store.State(ctx, partition)
	if err != nil {
		return state, false, err
	}
	if state.Epoch == 1 && state.Member == l.member && state.NextOffset == l.dataset.Meta().Ends[partition] && !state.Stopped {
		mark.Hit("rebuild.2 loaded before")
		return state, true, nil
	}
	return state, false, nil
}

// Partition loads one partition, or finds that this rebuild loaded it before: then it reports false. An error wraps
// ErrNotEmpty, ErrDataset, or is a fault; trying again is safe.
func (l *Loader) Partition(ctx context.Context, partition int32) (loaded bool, err error) {
	state, before, err := l.Before(ctx, partition)
	if err != nil {
		return false, err
	}
	if before {
		return false, nil
	}
	meta := l.dataset.Meta()
	if state.Epoch != 0 || state.NextOffset != 0 || state.Stopped {
		mark.Hit("rebuild.2 not untouched")
		return false, fmt.Errorf("load partition %d: %w: epoch %d of %s, frontier %d", partition, ErrNotEmpty, state.Epoch, state.Member, state.NextOffset)
	}
	reasons, err := l.reasons(ctx, partition)
	if err != nil {
		return false, fmt.Errorf("load partition %d: %w", partition, err)
	}
	c := content{loader: l, partition: partition, reasons: reasons}
	err = l.store.Load(ctx, Load{
		Partition: partition, Member: l.member, NextOffset: meta.Ends[partition],
		Accepted: meta.Accepted[partition], Rejected: meta.Rejected[partition],
		Authority: l.dataset.Authority(ctx, partition), Evidence: l.dataset.Evidence(ctx, partition),
		Conflicts: c.conflicts(ctx), Days: c.days(ctx), Keys: c.keys(ctx),
		Quarantine: l.dataset.Quarantine(ctx, partition), Envelopes: c.envelopes(ctx),
	})
	if err != nil {
		return false, fmt.Errorf("load partition %d: %w", partition, err)
	}
	return true, nil
}

// reasons collects the reason set of every BLOCKED key of a partition, sorted as the conflicts are (R10).
func (l *Loader) reasons(ctx context.Context, partition int32) (map[int32][]ledger.ConflictRef, error) {
	sets := map[int32][]ledger.ConflictRef{}
	for c, err := range l.dataset.Conflicts(ctx, partition) {
		if err != nil {
			return nil, err
		}
		if c.Highest {
			sets[c.KeyID] = append(sets[c.KeyID], ledger.ConflictRef{TxnID: c.TxnID, Revision: c.Revision})
		}
	}
	return sets, nil
}
