package sim

import "fmt"

// stopChecker: nothing stops for good but a source partition whose next record leaves the arithmetic domain, exactly
// there (R09, R36).
type stopChecker struct{}

func (*stopChecker) name() string { return "stop" }

func (*stopChecker) check(w *world) error {
	for p := range w.truths {
		state, _, _ := w.state.Peek(int32(p))
		if state.Stop == nil {
			continue
		}
		deserved, ok := w.deserved().stops[int32(p)]
		if !ok || state.Stop.Reason != "arithmetic_overflow" || state.Stop.Offset != deserved || state.NextOffset != deserved {
			return fmt.Errorf("partition %d stopped at %d, frontier %d: %s: %s; deserved: %v at %d",
				p, state.Stop.Offset, state.NextOffset, state.Stop.Reason, state.Stop.Detail, ok, deserved)
		}
	}
	positions, err := w.outbox.Positions(w.ctx)
	if err != nil {
		return err
	}
	for _, position := range positions {
		if position.Stopped != "" {
			return fmt.Errorf("the relay stopped source partition %d at %d: %s", position.Partition, position.Sent, position.Stopped)
		}
	}
	stops := w.view.Stops()
	for p := range w.records {
		stop, stopped := stops[int32(p)]
		if !stopped {
			continue
		}
		return fmt.Errorf("the view stopped output partition %d at %d: %s: %s", p, stop.Offset, stop.Problem.Reason, stop.Problem.Detail)
	}
	return nil
}
