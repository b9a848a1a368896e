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
	// Loaded, where not nil, is told of each partition that is loaded, by one goroutine at a time; again says that it was
	// loaded before. Its error ends the load.
	Loaded func(partition int32, again bool) error
}

// Loaded counts what was loaded.
type Loaded struct {
	Accepted, Rejected, Rows int64
}

// attempts and pause bound how often a fault of the infrastructure is tried again.
const (
	attempts = 5
	pause    = time.Second
)

// Load loads every partition that is not loaded yet. A fault is tried again a few times; other errors wrap
// rebuild.ErrNotEmpty or rebuild.ErrDataset.
func Load(ctx context.Context, l Loading) (Loaded, error) {
	config := ledger.NewConfig(l.Applied.Namespace, l.Applied.SourceTopicID)
	set, err := dataset.Open(l.Dir, config)
	if err != nil {
		return Loaded{}, err
	}
	parallel := max(1, l.Parallel)
	pool, err := postgres.Connect(ctx, postgres.Options{
		URL: l.StateURL, Schema: l.Applied.StateSchema, Application: postgres.ApplicationName(pipeline.RebuildName, l.Applied.Name), MaxConns: int32(parallel + 1),
	})
	if err != nil {
		return Loaded{}, err
	}
	defer pool.Close()
	if err := postgres.CheckLayout(ctx, pool, postgres.KindNamespace, l.Applied.StateSchema); err != nil {
		return Loaded{}, err
	}
	loader, err := rebuild.NewLoader(config, set, postgres.NewRebuildStore(pool, l.Applied.SourceTopicID), l.Member, l.Ends)
	if err != nil {
		return Loaded{}, err
	}
	if err := l.all(ctx, loader, parallel); err != nil {
		return Loaded{}, err
	}
	loaded := Loaded{Rows: set.Rows()}
	for p := range set.Meta().Ends {
		loaded.Accepted += set.Meta().Accepted[p]
		loaded.Rejected += set.Meta().Rejected[p]
	}
	return loaded, nil
}

// all loads the partitions, some at a time.
func (l *Loading) all(ctx context.Context, loader *rebuild.Loader, parallel int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int32)
	var group sync.WaitGroup
	var told sync.Mutex
	for range parallel {
		group.Go(func() {
			for partition := range next {
				loaded, err := l.patiently(ctx, loader, partition)
				told.Lock()
				if err == nil && l.Loaded != nil {
					err = l.Loaded(partition, !loaded)
				}
				told.Unlock()
				if err != nil {
					cancel(err)
				}
			}
		})
	}
	for partition := range l.Applied.Namespace.Spec.Source.Partitions {
		select {
		case next <- partition:
		case <-ctx.Done():
		}
	}
	close(next)
	group.Wait()
	return context.Cause(ctx)
}

// patiently tries a fault again: also an unknown outcome, of which the next try finds out what became.
func (l *Loading) patiently(ctx context.Context, loader *rebuild.Loader, partition int32) (loaded bool, err error) {
	for range attempts {
		loaded, err = loader.Partition(ctx, partition)
		if err == nil || ctx.Err() != nil || fault.ClassOf(err) != fault.Transient {
			return loaded, err
		}
		if l.Clock.Sleep(ctx, pause) != nil {
			break
		}
	}
	return loaded, err
}
