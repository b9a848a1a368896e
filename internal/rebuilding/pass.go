package rebuilding

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/oracle/derive"
	"amends.dev/amends/stages/rebuild"
	"amends.dev/amends/stages/rebuild/dataset"
	"amends.dev/amends/vectorized/derived"
)

// Pass derives and loads at the same time: a partition is loaded once its part of the dataset is complete, while later ones
// are derived; the shortest are the first, so that loading begins soon, and those that this rebuild loaded before are not
// derived again. Nobody is ahead for long: who derives a partition hands it over before beginning another one. The folder
// l.Dir is there and empty; the files of a partition are gone once it is loaded. Errors are those of Derive and Load; whichever
// comes first ends both, and partitions that are loaded by then stay loaded.
func Pass(ctx context.Context, d Derivation, l Loading) (Loaded, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	meta := d.meta()
	set := dataset.Begin(l.Dir, l.config(), rebuild.Meta{
		BusinessDigest: meta.BusinessDigest, TopicID: meta.TopicID, Ends: meta.Ends, Engine: meta.Engine, Decoder: meta.Decoder, Code: meta.Code,
	})
	loader, closeAll, err := l.open(ctx, set)
	if err != nil {
		return Loaded{}, err
	}
	defer closeAll()
	todo, before, err := l.before(ctx, loader)
	if err != nil {
		return Loaded{}, err
	}
	ready := make(chan int32)
	w := derived.Pass(l.Dir, meta, func(part derived.Part) error {
		if err := set.Add(part.Partition, part.Accepted, part.Rejected, described(part.Files)); err != nil {
			return err
		}
		if d.Derived != nil {
			d.Derived(part.Partition, part.Accepted+part.Rejected)
		}
		select {
		case ready <- part.Partition:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	l.Loaded = removing(set, l.Loaded)
	var deriving sync.WaitGroup
	deriving.Go(func() {
		defer close(ready)
		if err := derive.Some(ctx, w, d.Namespace, d.Source, todo, d.Parallel); err != nil {
			cancel(err)
		}
	})
	if err := l.load(ctx, loader, set, ready); err != nil {
		cancel(err)
	}
	deriving.Wait()
	if err := context.Cause(ctx); err != nil {
		return Loaded{}, err
	}
	now := loaded(set)
	now.Accepted, now.Rejected = now.Accepted+before.Accepted, now.Rejected+before.Rejected
	return now, nil
}

// before finds out which partitions are still to be loaded, the shortest first, and counts the records of the others, of which
// it tells.
func (l *Loading) before(ctx context.Context, loader *rebuild.Loader) (todo []int32, n Loaded, err error) {
	for p := range l.Ends {
		partition := int32(p)
		state, loaded, err := loader.Before(ctx, partition)
		if err != nil {
			return nil, n, err
		}
		if !loaded {
			todo = append(todo, partition)
			continue
		}
		mark.Hit("S11 loaded partition not derived again")
		n.Accepted, n.Rejected = n.Accepted+state.Accepted, n.Rejected+state.Rejected
		if l.Loaded != nil {
			if err := l.Loaded(LoadedPartition{Partition: partition, Again: true}); err != nil {
				return nil, n, err
			}
		}
	}
	slices.SortStableFunc(todo, func(a, b int32) int { return cmp.Compare(l.Ends[a], l.Ends[b]) })
	return todo, n, nil
}

// removing removes the files of a partition that is loaded, and tells of it.
func removing(set *dataset.Set, tell func(LoadedPartition) error) func(LoadedPartition) error {
	return func(p LoadedPartition) error {
		if err := set.Remove(p.Partition); err != nil || tell == nil {
			return err
		}
		return tell(p)
	}
}

// described are the files of a partition as the side that reads them has them.
func described(files []derived.File) []dataset.File {
	out := make([]dataset.File, len(files))
	for i, f := range files {
		out[i] = dataset.File{Name: f.Name, Table: string(f.Table), Partition: f.Partition, Rows: f.Rows, SHA256: f.SHA256}
	}
	return out
}
