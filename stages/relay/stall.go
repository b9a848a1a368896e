package relay

import (
	"context"
	"errors"
	"time"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/fault"
)

// PartitionError is a publication that failed: a fault of what one source partition sends next, not of the others. The
// relay tries that partition again after a backoff of its own, and may be stepped at once (R36).
type PartitionError struct {
	// Partition is the source partition.
	Partition int32
	Err       error
}

// Error implements error.
func (e *PartitionError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *PartitionError) Unwrap() error { return e.Err }

// Resume makes the next Step try a source partition at once, whatever backoff it is in (R36). It may be called from any
// goroutine.
func (r *Relay) Resume(partition int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked == nil {
		r.asked = make(map[int32]struct{})
	}
	r.asked[partition] = struct{}{}
}

// ready are the positions of the partitions that are not in a backoff.
func (r *Relay) ready(positions []Position) []Position {
	r.mu.Lock()
	asked := r.asked
	r.asked = nil
	r.mu.Unlock()
	if len(r.stalls) == 0 {
		return positions
	}
	now := r.options.Now()
	all := make([]Position, 0, len(positions))
	for _, p := range positions {
		_, forced := asked[p.Partition]
		if stall := r.stalls[p.Partition]; stall == nil || forced || !stall.NextTry.After(now) {
			all = append(all, p)
			continue
		}
		mark.Hit("R36 partition waits, others go on")
	}
	return all
}

// failed notes a failed publication, which its partition alone waits for, and marks what no retry can clear.
func (r *Relay) failed(partition int32, err error) error {
	err = classify(err)
	var one *PartitionError
	if errors.As(err, &one) && fault.ClassOf(err) == fault.Transient {
		r.stalls[partition] = r.options.Backoff.Failed(r.stalls[partition], err.Error(), r.options.Now(), r.options.Random)
	}
	return err
}

// settle notes whether messages of a partition may still be on their way.
func (r *Relay) settle(partition int32, failure error) {
	if failure == nil {
		delete(r.unsettled, partition)
		return
	}
	r.unsettled[partition] = true
}

// StepAlone is Step for a runner, which would back off from every error with all partitions: failures of single ones are
// told to the function given, and the next Step follows at once.
func (r *Relay) StepAlone(ctx context.Context, told func(*PartitionError)) (progress bool, wake time.Time, err error) {
	progress, wake, err = r.Step(ctx)
	var one *PartitionError
	if errors.As(err, &one) && fault.ClassOf(err) == fault.Transient {
		told(one)
		return true, wake, nil
	}
	return progress, wake, err
}
