package verify

import (
	"context"
	"fmt"

	"amends.dev/amends/oracle/boundary"
)

// Stall is what a process said that runs a stage and cannot go on with a partition (S9, R36).
type Stall struct {
	// Phase is the one that waits for the stage: worker, relay or view.
	Phase     boundary.Phase
	Partition int32
	// Frontier is where the stage stood when the stall began; one that is past it goes on.
	Frontier int64
	// Reason is what failed, and Attempts how often in a row.
	Reason   string
	Attempts int
}

// Stalls is what State may show beside its frontiers: why one does not move. It decides nothing.
type Stalls interface {
	// Stalls are those that were said a short while ago, sorted by phase, partition and when they began.
	Stalls(ctx context.Context, a *Applied) ([]Stall, error)
}

// addStalls adds to each frontier that was waited for in vain what the stage's own process says is the matter. Where that
// cannot be known, as with a role that may not read it, the report says what it knows without.
func (v *run) addStalls(ctx context.Context) {
	state, ok := v.deps.State.(Stalls)
	if !ok || len(v.report.Incomplete) == 0 {
		return
	}
	var stalls []Stall
	err := v.ask(ctx, "the stalls", func(ctx context.Context) (err error) {
		stalls, err = state.Stalls(ctx, v.applied)
		return err
	})
	if err != nil {
		return
	}
	for i := range v.report.Incomplete {
		r := &v.report.Incomplete[i]
		for _, s := range stalls {
			if r.Partition == nil || s.Phase != r.Phase || s.Partition != *r.Partition || r.Offset != nil && s.Frontier < *r.Offset {
				continue
			}
			r.Reason += fmt.Sprintf("; it is stalled after %d attempts: %s", s.Attempts, oneLine(fmt.Errorf("%s", s.Reason)))
			break
		}
	}
}
