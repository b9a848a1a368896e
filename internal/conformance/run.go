package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Result is how a level went.
type Result string

// The results.
const (
	// Passed: everything was as expected.
	Passed Result = "ok"
	// Failed: something was not, or could not be found out.
	Failed Result = "FAIL"
	// NotRun: this machine cannot run the level, or nothing can yet.
	NotRun Result = "-"
	// Inapplicable: the variant says nothing about this level.
	Inapplicable Result = "n/a"
)

// Outcome is one variant at one level.
type Outcome struct {
	Scenario string `json:"scenario"`
	Title    string `json:"title"`
	Variant  string `json:"variant,omitempty"`
	Level    Level  `json:"level"`
	Result   Result `json:"result"`
	// Reason says why the level was not run.
	Reason string `json:"reason,omitempty"`
	// Faults are what differs, one line each.
	Faults []string `json:"faults,omitempty"`
	// Trace is every envelope that the pure core decides, byte for byte, one a line; only at the level Core.
	Trace []byte `json:"-"`
}

// errUnsupported is wrapped by steps that a machine lacks the means for. The level is then not run, rather than failed.
var errUnsupported = errors.New("cannot be done here")

// Run runs one variant at one level. servers may be nil at the levels without any.
func Run(ctx context.Context, s *Scenario, v *Variant, level Level, servers *Servers) Outcome {
	out := Outcome{Scenario: s.ID, Title: s.Title, Variant: v.Name, Level: level, Result: NotRun}
	switch {
	case v.Pending != "":
		out.Reason = "not yet: " + v.Pending
		return out
	case !v.Applies(level):
		out.Result, out.Reason = Inapplicable, "does not apply to this level"
		return out
	case level == Store && !servers.hasDatabase():
		out.Reason = "no Postgres"
		return out
	case level == Pipeline && !servers.hasBroker():
		out.Reason = "no Postgres or no broker"
		return out
	}
	faults, err := out.run(ctx, v, servers)
	switch {
	case errors.Is(err, errUnsupported):
		out.Reason = err.Error()
	case err != nil:
		out.Result, out.Faults = Failed, append(faults, err.Error())
	case len(faults) > 0:
		out.Result, out.Faults = Failed, faults
	default:
		out.Result = Passed
	}
	return out
}

// run does the work of one level.
func (out *Outcome) run(ctx context.Context, v *Variant, servers *Servers) ([]string, error) {
	name := strings.ToLower(out.Scenario)
	switch out.Level {
	case Core:
		return out.runCore(ctx, name, v)
	case Oracle:
		ns, err := v.Manifest.Namespace(name)
		if err != nil {
			return nil, err
		}
		return runOracle(ctx, ns, v)
	case Store:
		return runStore(ctx, servers, servers.unique(name), v)
	case Pipeline:
		return runPipeline(ctx, servers, servers.unique(name), v)
	}
	return nil, fmt.Errorf("there is no level %q", out.Level)
}

// batchSizes are those under which the stages run in memory: results do not depend on how records are batched.
var batchSizes = []int{2000, 1, 2}

// runCore runs the pure core, then the stages in memory.
func (out *Outcome) runCore(ctx context.Context, name string, v *Variant) ([]string, error) {
	ns, err := v.Manifest.Namespace(name)
	if err != nil {
		return nil, err
	}
	core, trace, err := simulated(ns, v)
	if err != nil {
		return nil, err
	}
	out.Trace = trace
	var faults []string
	// A stop of the view is nothing that the pure core knows of.
	expect := v.Expect
	if expect.Stopped != nil && expect.Stopped.Stage == stageView {
		expect.Stopped = nil
	}
	if !v.shownDiffers() {
		for _, line := range core.compare(ns, &expect) {
			faults = append(faults, "pure core: "+line)
		}
	}
	if len(faults) > 0 {
		return faults, nil
	}
	for _, size := range batchSizes {
		found, err := runMemory(ctx, name, v, size)
		for _, line := range found {
			faults = append(faults, fmt.Sprintf("stages in memory, batches of %d: %s", size, line))
		}
		if err != nil {
			return faults, fmt.Errorf("stages in memory, batches of %d: %w", size, err)
		}
	}
	return faults, nil
}

// shownDiffers reports whether the view is expected to show hand-made output, which no history leads to.
func (v *Variant) shownDiffers() bool {
	for _, step := range v.Steps {
		for _, d := range step.Deliver {
			if d.Envelope != nil {
				return true
			}
		}
	}
	return false
}
