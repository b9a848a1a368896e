package sim

import (
	"context"
	"fmt"
	"runtime"
	"sync"
)

// Sweep runs count seeds from first on, several at a time, and hands every result to each, in the order of the seeds
// and from one goroutine at a time. It ends early where each returns false. The error is that of ctx, or a bug of the
// simulator.
func Sweep(ctx context.Context, first, count uint64, each func(*Result) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lanes := make([]chan *Result, min(runtime.GOMAXPROCS(0), 16))
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel() // before waiting
	var once sync.Once
	var failure error
	for i := range lanes {
		lanes[i] = make(chan *Result, 8)
		group.Go(func() {
			defer close(lanes[i])
			for n := uint64(i); n < count; n += uint64(len(lanes)) {
				r, err := Run(ctx, first+n)
				if err != nil {
					once.Do(func() { failure = fmt.Errorf("seed %d: %w", first+n, err) })
					cancel()
					return
				}
				select {
				case lanes[i] <- r:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	for n := range count {
		r, ok := <-lanes[n%uint64(len(lanes))]
		if !ok {
			cancel()
			group.Wait()
			if failure == nil {
				failure = ctx.Err()
			}
			return failure
		}
		if !each(r) {
			return nil
		}
	}
	return nil
}
