package verify

import (
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/report"
)

// enter notes that a phase begins, books the time of the one before, and tells about it; the empty phase ends the run.
func (v *run) enter(phase boundary.Phase, detail string) {
	if phase == v.phase {
		return
	}
	now := v.deps.Clock.Now()
	if spent := timing(&v.report.Timings, v.phase); spent != nil {
		*spent += now.Sub(v.phaseBegan).Milliseconds()
	}
	v.phase, v.phaseBegan = phase, now
	if phase != "" {
		v.tell(detail)
	}
}

// tell reports progress within the current phase.
func (v *run) tell(detail string) {
	if v.deps.Progress != nil {
		v.deps.Progress(Event{Phase: v.phase, Elapsed: v.elapsed(), Detail: detail})
	}
}

// timing is where the milliseconds of a phase are kept, nil for none.
func timing(t *report.Timings, phase boundary.Phase) *int64 {
	switch phase {
	case boundary.PhaseWriter:
		return &t.Writer
	case boundary.PhaseSource:
		return &t.Source
	case boundary.PhaseWorker:
		return &t.Worker
	case boundary.PhaseRelay:
		return &t.Relay
	case boundary.PhaseOutput:
		return &t.Output
	case boundary.PhaseView:
		return &t.View
	case boundary.PhaseScan:
		return &t.Scan
	case boundary.PhaseCompare:
		return &t.Compare
	case boundary.PhaseExplain:
		return &t.Explain
	case boundary.PhaseRecheck:
		return &t.Recheck
	default:
		return nil
	}
}
