package verify

import (
	"context"
	"slices"

	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/report"
)

// comparePayloads compares the contradicting payloads of each conflict with those that the evidence keeps (S4): without
// them nothing but the source says what contradicted what.
func (v *run) comparePayloads(ctx context.Context, p *patience, found *findings, evidence Evidence) error {
	contents, ok := evidence.(Contents)
	if !ok || len(found.payloads) == 0 {
		return nil
	}
	var stored []compare.Payload
	for payload, err := range awaited(p, "the evidence of conflicts", contents.Payloads(ctx, allConflicts(found.projection))) {
		if err != nil {
			return err
		}
		stored = append(stored, payload)
	}
	slices.SortFunc(stored, compare.OrderPayload)
	return found.collector.Payloads(compare.Slice(found.contradicting()), compare.Slice(stored))
}

// contradicting are the payloads that the evidence has to keep, sorted: all of a superseded conflict, and of an ambiguous
// one all but the first seen, which its authority holds.
func (f *findings) contradicting() []compare.Payload {
	var all []compare.Payload
	for _, c := range ambiguous(f.projection) {
		all = appendPayloads(all, c, f.payloads[c][1:])
	}
	for _, c := range f.projection.SupersededConflicts {
		all = appendPayloads(all, c, f.payloads[c])
	}
	slices.SortFunc(all, compare.OrderPayload)
	return all
}

// appendPayloads appends the payloads of one conflict.
func appendPayloads(all []compare.Payload, c projection.Conflict, payloads []report.Payload) []compare.Payload {
	for _, p := range payloads {
		all = append(all, compare.Payload{Conflict: c, Offset: p.Offset, Canonical: p.Canonical})
	}
	return all
}
