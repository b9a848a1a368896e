package sim

import (
	"context"
	"slices"
)

// shortenRuns bounds the runs that shortening may take: some seconds.
const shortenRuns = 1500

// Shortened is a failing scenario after everything that its failure does not need was left out.
type Shortened struct {
	// Result is that of the shortened scenario: its Failure is by the same checker.
	Result *Result
	// Events and Actions are what is left, one line each.
	Events, Actions []string
	// Runs counts the runs that it took.
	Runs int
}

// Shorten leaves out actions, faults and records of a failing seed for as long as the same checker finds something. It
// returns nil where the seed does not fail. The error is that of ctx, or a bug of the simulator.
func Shorten(ctx context.Context, seed uint64) (*Shortened, error) {
	s, err := newScenario(seed)
	if err != nil {
		return nil, err
	}
	return shorten(ctx, s, wraps{})
}

// shortening is one search for a small failing scenario.
type shortening struct {
	ctx    context.Context
	damage wraps
	best   scenario
	result *Result
	runs   int
	err    error
}

func shorten(ctx context.Context, s *scenario, damage wraps) (*Shortened, error) {
	result, err := run(ctx, s, damage)
	if err != nil || result.Failure == nil {
		return nil, err
	}
	d := &shortening{ctx: ctx, damage: damage, best: *s, result: result}
	for again := true; again && d.goOn(); {
		before := len(d.best.actions) + len(d.best.events)
		leaveOut(d, len(d.best.actions), func(s *scenario, from, to int) { s.actions = slices.Delete(slices.Clone(s.actions), from, to) })
		leaveOut(d, len(d.best.events), func(s *scenario, from, to int) { s.events = slices.Delete(slices.Clone(s.events), from, to) })
		d.calm()
		again = len(d.best.actions)+len(d.best.events) < before
	}
	if d.err != nil {
		return nil, d.err
	}
	out := &Shortened{Result: d.result, Runs: d.runs}
	for i := range d.best.events {
		out.Events = append(out.Events, d.best.events[i].String())
	}
	for _, a := range d.best.actions {
		out.Actions = append(out.Actions, a.String())
	}
	return out, nil
}

func (d *shortening) goOn() bool { return d.err == nil && d.runs < shortenRuns }

// try keeps a smaller scenario where the same checker still fails.
func (d *shortening) try(s scenario) bool {
	if !d.goOn() {
		return false
	}
	d.runs++
	result, err := run(d.ctx, &s, d.damage)
	if err != nil {
		d.err = err
		return false
	}
	if result.Failure == nil || result.Failure.Checker != d.result.Failure.Checker {
		return false
	}
	d.best, d.result = s, result
	return true
}

// leaveOut leaves out runs of n elements, halves first and single ones last (delta debugging). From the end on: what comes
// after the failure goes first.
func leaveOut(d *shortening, n int, without func(s *scenario, from, to int)) {
	for size := max(1, n/2); size > 0 && d.goOn(); size /= 2 {
		for to := n; to > 0 && d.goOn(); to -= size {
			from := max(0, to-size)
			smaller := d.best
			without(&smaller, from, to)
			if d.try(smaller) {
				n -= to - from
			}
		}
	}
}

// calm takes faults out of steps, and shortens freezes and waits.
func (d *shortening) calm() {
	for i := range d.best.actions {
		if d.best.actions[i].fault == nil {
			continue
		}
		smaller := d.best
		smaller.actions = slices.Clone(d.best.actions)
		smaller.actions[i].fault = nil
		if d.try(smaller) {
			continue
		}
		for span := 1; span < d.best.actions[i].fault.span; span *= 2 {
			smaller.actions = slices.Clone(d.best.actions)
			shorter := *d.best.actions[i].fault
			shorter.span = span
			smaller.actions[i].fault = &shorter
			if d.try(smaller) {
				break
			}
		}
	}
}
