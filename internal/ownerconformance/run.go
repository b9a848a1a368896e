package ownerconformance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
)

// Result is how a scenario went.
type Result string

// The results.
const (
	// Passed: everything was as expected.
	Passed Result = "ok"
	// Failed: something was not, or could not be found out.
	Failed Result = "FAIL"
)

// Outcome is one scenario on one store.
type Outcome struct {
	File     string `json:"file"`
	Scenario string `json:"scenario"`
	// Checks counts the comparisons: one for each step, fingerprint case and reconciliation case.
	Checks int    `json:"checks"`
	Result Result `json:"result"`
	// Faults are what differs, one line each, beginning with the step or case.
	Faults []string `json:"faults,omitempty"`
}

// faultsMax bounds the faults of a scenario: one wrong step usually makes all later ones wrong.
const faultsMax = 20

// RunAll runs every scenario on a subject of its own, one after the other, and calls done after each.
func RunAll(ctx context.Context, files []*File, open Open, done func(Outcome)) []Outcome {
	var outcomes []Outcome
	for _, f := range files {
		for _, s := range f.Scenarios {
			if ctx.Err() != nil {
				return outcomes
			}
			out := run(ctx, f, s, open, strconv.Itoa(len(outcomes)+1))
			done(out)
			outcomes = append(outcomes, out)
		}
	}
	return outcomes
}

// run runs one scenario.
func run(ctx context.Context, f *File, s *Scenario, open Open, name string) Outcome {
	r := &runner{scenario: s}
	if err := r.onSubject(ctx, open, name); err != nil {
		r.fault("", err.Error())
	}
	out := Outcome{File: f.Name, Scenario: s.ID, Checks: r.checks, Result: Passed, Faults: r.faults}
	if len(r.faults) > 0 {
		out.Result = Failed
	}
	if len(r.faults) > faultsMax {
		out.Faults = append(out.Faults[:faultsMax:faultsMax], fmt.Sprintf("and %d more", len(r.faults)-faultsMax))
	}
	return out
}

// runner collects what is found in one scenario.
type runner struct {
	scenario *Scenario
	subject  Subject
	checks   int
	faults   []string
}

// fault notes what is wrong at a place.
func (r *runner) fault(place string, lines ...string) {
	for _, line := range lines {
		if place != "" {
			line = place + ": " + line
		}
		r.faults = append(r.faults, line)
	}
}

// compare notes where two values differ.
func (r *runner) compare(place, what string, want, got any) {
	if reflect.DeepEqual(want, got) {
		return
	}
	lines, err := differences(what, want, got)
	if err != nil {
		lines = []string{err.Error()}
	}
	r.fault(place, lines...)
}

// onSubject runs everything that the scenario has.
func (r *runner) onSubject(ctx context.Context, open Open, name string) (err error) {
	if r.subject, err = open(ctx, name); err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	defer func() { err = errors.Join(err, r.subject.Close(context.WithoutCancel(ctx))) }()
	if err := r.steps(ctx); err != nil {
		return err
	}
	if c := r.scenario.Fingerprints; c != nil {
		r.checks++
		r.fingerprints(c)
	}
	for i, c := range r.scenario.Reconciliations {
		r.checks++
		if err := r.reconciliation(ctx, c, i); err != nil {
			return fmt.Errorf("case %s: %w", c.ID, err)
		}
	}
	return nil
}
