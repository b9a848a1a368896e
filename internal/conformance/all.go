package conformance

import (
	"context"
	"sync"
)

// RunAll runs every variant at the given levels, parallel of them at a time, and returns the outcomes in the order of
// scenarios, variants and levels. done, where not nil, is called after each, by one goroutine at a time.
func RunAll(ctx context.Context, scenarios []*Scenario, levels []Level, servers *Servers, parallel int, done func(Outcome)) []Outcome {
	var all []Outcome
	var jobs []func()
	for _, s := range scenarios {
		for i := range s.Variants {
			for _, level := range levels {
				at := len(all)
				all = append(all, Outcome{})
				jobs = append(jobs, func() { all[at] = Run(ctx, s, &s.Variants[i], level, servers) })
			}
		}
	}
	next := make(chan int, len(jobs))
	for i := range jobs {
		next <- i
	}
	close(next)
	var group sync.WaitGroup
	var told sync.Mutex
	for range max(1, parallel) {
		group.Go(func() {
			for i := range next {
				jobs[i]()
				told.Lock()
				if done != nil {
					done(all[i])
				}
				told.Unlock()
			}
		})
	}
	group.Wait()
	return all
}
