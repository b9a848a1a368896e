package verify

import (
	"context"
	"fmt"
	"slices"

	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/diagnostics"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/report"
)

// identify reads the records behind the diagnostics once more: only now is it known which they are. The bytes of the
// rejected ones are compared with the quarantine's, and the payloads of conflicts are shown (R24).
func (v *run) identify(ctx context.Context, whole boundary.Range, found *findings) error {
	conflicts := allConflicts(found.projection)
	rejections := found.projection.Rejections
	if len(rejections)+len(conflicts) == 0 {
		return nil
	}
	payloads := newPayloads(v.judge, v.applied, conflicts)
	part := whole
	if payloads == nil { // from the first to the last rejected record; nothing in partitions without one
		part.From, part.To = slices.Clone(whole.To), slices.Clone(whole.To)
	}
	reasons := make(map[boundary.Coordinates]string, len(rejections))
	for _, r := range rejections {
		p := r.Partition
		reasons[boundary.Coordinates{Partition: p, Offset: r.Offset}] = r.Reason
		if payloads == nil {
			part.From[p], part.To[p] = min(part.From[p], r.Offset), r.Offset+1
		}
	}
	for record, err := range v.history(part)(ctx) {
		if err != nil {
			return err
		}
		if reason, ok := reasons[boundary.Coordinates{Partition: record.Partition, Offset: record.Offset}]; ok {
			found.reject(whole.TopicID, record, reason)
		} else if payloads != nil {
			payloads.observe(record)
		}
	}
	if len(found.rejected) != len(rejections) {
		return fmt.Errorf("%d records were rejected, %d of them were found again", len(rejections), len(found.rejected))
	}
	slices.SortFunc(found.rejected, compare.OrderRejected)
	slices.SortFunc(found.rejections, func(a, b report.Rejection) int {
		return compare.OrderCoordinates(a.Partition, a.Offset, b.Partition, b.Offset)
	})
	if payloads != nil {
		found.payloads = payloads.byConflict
		return payloads.complete()
	}
	return nil
}

// reject identifies one rejected record.
func (f *findings) reject(topicID string, record engine.Record, reason string) {
	f.rejected = append(f.rejected, compare.Rejected{
		Partition: record.Partition, Offset: record.Offset, TopicID: topicID, Reason: reason,
		Key: Blob(record.Key), Value: Blob(record.Value),
	})
	f.rejections = append(f.rejections, report.Rejection{
		Partition: record.Partition, Offset: record.Offset, Reason: reason,
		Fingerprint: report.Fingerprint(record.Key, record.Value),
	})
}

// payloads collects the distinct payloads of known conflicts.
type payloads struct {
	read       func(engine.Record) (engine.Transaction, bool)
	byConflict map[projection.Conflict][]report.Payload
}

// newPayloads returns nil where there is no conflict, or the judge does not show what it reads.
func newPayloads(judge engine.Engine, a *Applied, conflicts []projection.Conflict) *payloads {
	reader, ok := judge.(engine.Reader)
	if !ok || len(conflicts) == 0 {
		return nil
	}
	p := &payloads{read: reader.Reading(a.Namespace), byConflict: map[projection.Conflict][]report.Payload{}}
	for _, c := range conflicts {
		p.byConflict[c] = []report.Payload{}
	}
	return p
}

// observe takes one record. Those of one key come in the order of their offsets, because they share a partition.
func (p *payloads) observe(record engine.Record) {
	t, accepted := p.read(record)
	if !accepted {
		return
	}
	conflict := projection.Conflict{Item: t.Item, Location: t.Location, TxnID: t.TxnID, Revision: t.Revision}
	known, wanted := p.byConflict[conflict]
	if !wanted {
		return
	}
	canonical := diagnostics.Canonical(t.Item, t.Location, t.TxnID, t.Revision, t.Kind, t.ValidTime, t.Qty)
	if slices.ContainsFunc(known, func(k report.Payload) bool { return k.Canonical == canonical }) {
		return
	}
	p.byConflict[conflict] = append(known, report.Payload{
		Partition: record.Partition, Offset: record.Offset,
		Canonical: canonical, Fingerprint: diagnostics.PayloadFingerprint(canonical),
	})
}

// complete says whether each conflict was found to be one: at least two payloads.
func (p *payloads) complete() error {
	for c, known := range p.byConflict {
		if len(known) < 2 {
			return fmt.Errorf("conflict %s/%s %s revision %d: %d distinct payloads were found again", c.Item, c.Location, c.TxnID, c.Revision, len(known))
		}
	}
	return nil
}

// Blob identifies raw bytes by length and digest; nil is null.
func Blob(b []byte) compare.Blob {
	if b == nil {
		return compare.Blob{Length: -1}
	}
	return compare.Blob{Length: int64(len(b)), SHA256: digestHex(b)}
}
