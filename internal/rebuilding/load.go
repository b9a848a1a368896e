package rebuilding

import (
	"context"
	"sync"
	"time"

	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/postgres"
	"amends.dev/amends/stages/rebuild"
	"amends.dev/amends/stages/rebuild/dataset"
)

// Clock is the passage of time.
type Clock interface {
	// Now is the present instant.
	Now() time.Time
	// Sleep returns early, with the context's error, when ctx ends.
	Sleep(ctx context.Context, d time.Duration) error
}

// Loading says what is loaded and where.
type Loading struct {
	// Applied is the fresh namespace.
	Applied *postgres.Applied
	// StateURL is its database.
	StateURL string
	// Dir holds the dataset.
	Dir string
	// Ends are H, which the dataset must have.
	Ends []int64
	// Member names the rebuild, the same after a restart.
	Member string
	// Parallel is how many partitions are loaded at a time.
	Parallel int
	// Clock is the passage of time.
	Clock Clock
	// Loaded, where not nil, is told of each partition that is loaded, by one goroutine at a time. Its error ends the load.
	Loaded func(LoadedPartition) error
}

// LoadedPartition says what became of one partition.
type LoadedPartition struct {
	Partition int32
	// Rows is how many rows the dataset has of it, 0 where it was not derived again.
	Rows int64
	// Again says that it had been loaded before.
	Again bool
}

// Loaded counts what was loaded.
type Loaded struct {
	// Accepted and Rejected count the records of all partitions.
	Accepted, Rejected int64
	// Rows counts the rows of the dataset, without those of partitions that were not derived again.
	Rows int64
}

// attempts and pause bound how often a fault of the infrastructure is tried again.
const (
	attempts = 5
	pause    = time.Second
)

// Load loads every partition that is not loaded yet. A fault is tried again a few times; other errors wrap
// rebuild.ErrNotEmpty or rebuild.ErrDataset.
func Load(ctx context.Context, l Loading) (Loaded, error) {
	set, err := dataset.Open(l.Dir, l.config())
	if err != nil {
		return Loaded{}, err
	}
	loader, closeAll, err := l.open(ctx, set)
	if err != nil {
		return Loaded{}, err
	}
	defer closeAll()
	ready := make(chan int32)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer close(ready)
		for partition := range l.Applied.Namespace.Spec.Source.Partitions {
			select {
			case ready <- partition:
			case <-ctx.Done():
			}
		}
	}()
	if err := l.load(ctx, loader, set, ready); err != nil {
		return Loaded{}, err
	}
	return loaded(set), nil
}

func (l *Loading) config() *ledger.Config {
	return ledger.NewConfig(l.Applied.Namespace, l.Applied.SourceTopicID)
}

// loaded counts what a dataset holds.
func loaded(set *dataset.Set) Loaded {
	n := Loaded{Rows: set.Rows()}
	for p := range set.Meta().Ends {
		n.Accepted += set.Meta().Accepted[p]
		n.Rejected += set.Meta().Rejected[p]
	}
	return n
}

// open connects to the state that is loaded. The caller calls the returned function when done.
func (l *Loading) open(ctx context.Context, set *dataset.Set) (*rebuild.Loader, func(), error) {
	pool, err := postgres.Connect(ctx, postgres.Options{
		URL: l.StateURL, Schema: l.Applied.StateSchema, Application: postgres.ApplicationName(pipeline.RebuildName, l.Applied.Name), MaxConns: int32(l.parallel()),
	})
	if err != nil {
		return nil, nil, err
	}
	if err := postgres.CheckLayout(ctx, pool, postgres.KindNamespace, l.Applied.StateSchema); err != nil {
		pool.Close()
		return nil, nil, err
	}
	loader, err := rebuild.NewLoader(l.config(), set, postgres.NewRebuildStore(pool, l.Applied.SourceTopicID), l.Member, l.Ends)
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	return loader, pool.Close, nil
}

func (l *Loading) parallel() int { return max(1, l.Parallel) }

// load loads the partitions of a dataset as they become ready, some at a time, and returns when there will be no more, or at
// the first error.
func (l *Loading) load(ctx context.Context, loader *rebuild.Loader, set *dataset.Set, ready <-chan int32) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	var told sync.Mutex
	for range l.parallel() {
		group.Go(func() {
			for partition := range ready {
				again, err := l.patiently(ctx, loader, partition)
				told.Lock()
				if err == nil && l.Loaded != nil {
					err = l.Loaded(LoadedPartition{Partition: partition, Rows: set.RowsOf(partition), Again: again})
				}
				told.Unlock()
				if err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// patiently tries a fault again: also an unknown outcome, of which the next try finds out what became. It reports whether the
// partition was loaded before.
func (l *Loading) patiently(ctx context.Context, loader *rebuild.Loader, partition int32) (again bool, err error) {
	for range attempts {
		var now bool
		now, err = loader.Partition(ctx, partition)
		if err == nil || ctx.Err() != nil || fault.ClassOf(err) != fault.Transient {
			return !now, err
		}
		if l.Clock.Sleep(ctx, pause) != nil {
			break
		}
	}
	return false, err
}
