package view

import (
	"fmt"
	"slices"

	"amends.dev/amends/internal/mark"
)

// Guard is what the view remembers of an output ID for ever (S7): the version last applied and its content. The zero
// Guard means that nothing was applied yet.
type Guard struct {
	Version int64
	Content Content
}

// Verdict is what one envelope does to its output ID.
type Verdict int8

// The verdicts of S7's materialization rule.
const (
	// Apply replaces row and guard.
	Apply Verdict = iota + 1
	// Duplicate is the content already held at its version: only the position advances.
	Duplicate
	// Stale is a version below the one held: only the position advances (SC16).
	Stale
	// Violation is a second content at the version held (SC17).
	Violation
)

// String returns the verdict's name.
func (v Verdict) String() string {
	return [...]string{"none", "apply", "duplicate", "stale", "violation"}[max(0, min(v, Violation))]
}

// Judge applies the materialization rule of S7 to one incoming message.
func Judge(stored, incoming Guard) Verdict {
	switch {
	case incoming.Version > stored.Version:
		return Apply
	case incoming.Version < stored.Version:
		return Stale
	case incoming.Content == stored.Content:
		return Duplicate
	default:
		return Violation
	}
}

// Folded is what a run of envelopes of one partition does to the view.
type Folded struct {
	// Rows are the final envelopes, at most one for each output ID (B044), in no order of meaning.
	Rows []Envelope
	// Consumed counts the envelopes judged before the violation, or all.
	Consumed int
	// Applied and Ignored count verdicts; a version that was applied and then overtaken counts as applied.
	Applied, Ignored int64
	// Problem is the violation that ended the run, nil where there was none.
	Problem *Problem
}

// Fold judges envelopes in order against the stored guards, each against what the ones before it left, and keeps the
// last applied one of each output ID. It does not change guards.
func Fold(guards map[ID]Guard, envelopes []Envelope) Folded {
	var out Folded
	// latest is the index in out.Rows of the row that an ID got in this run.
	latest := make(map[ID]int, len(envelopes))
	for _, incoming := range envelopes {
		stored := guards[incoming.ID]
		at, seen := latest[incoming.ID]
		if seen {
			stored = out.Rows[at].guard()
		}
		switch verdict := Judge(stored, incoming.guard()); verdict {
		case Apply:
			if !seen {
				at = len(out.Rows)
				latest[incoming.ID] = at
				out.Rows = append(out.Rows, Envelope{})
			}
			out.Rows[at] = incoming
			out.Applied++
		case Violation:
			mark.Hit("SC17 equal version, other content")
			content := stored.Content
			out.Problem = &Problem{
				Reason: ReasonContent, Stored: &content,
				Detail: fmt.Sprintf("version %d was applied with content %x, this is %x", incoming.Version, content, incoming.Content),
			}
			return out
		case Duplicate:
			mark.Hit("S7.25 duplicate output ignored")
			out.Ignored++
		default:
			mark.Hit("SC16 late output ignored")
			out.Ignored++
		}
		out.Consumed++
	}
	return out
}

func (e Envelope) guard() Guard { return Guard{Version: e.Version, Content: e.Content} }

// idsOf lists the distinct output IDs of the envelopes, sorted.
func idsOf(envelopes []Envelope) []ID {
	ids := make([]ID, 0, len(envelopes))
	for _, e := range envelopes {
		ids = append(ids, e.ID)
	}
	slices.SortFunc(ids, ID.Compare)
	return slices.Compact(ids)
}
