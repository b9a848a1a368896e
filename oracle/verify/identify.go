package verify

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/diagnostics"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/report"
)

// rejected reads the rejected records once more, partition by partition in the order of their offsets: only now is it known
// which they are. Their raw bytes are compared with the quarantine's, and none of them is held (R24).
func (v *run) rejected(ctx context.Context, p *patience, found *findings) iter.Seq2[compare.Rejected, error] {
	return func(yield func(compare.Rejected, error) bool) {
		left := found.projection.Rejections
		for len(left) > 0 {
			n := slices.IndexFunc(left, func(r projection.Rejection) bool { return r.Partition != left[0].Partition })
			if n < 0 {
				n = len(left)
			}
			if more, err := v.rejectedOf(ctx, p, found, left[:n], yield); err != nil {
				yield(compare.Rejected{}, err)
				return
			} else if !more {
				return
			}
			left = left[n:]
		}
	}
}

// rejectedOf reads the rejected records of one partition, and reports whether more are wanted.
func (v *run) rejectedOf(ctx context.Context, p *patience, found *findings, of []projection.Rejection, yield func(compare.Rejected, error) bool) (bool, error) {
	part := v.whole() // from the first to the last of them, and nothing of other partitions
	partition := of[0].Partition
	copy(part.From, part.To)
	part.From[partition], part.To[partition] = of[0].Offset, of[len(of)-1].Offset+1
	for record, err := range v.history(part)(ctx) {
		p.arrived()
		if err != nil {
			return false, err
		}
		if len(of) == 0 || record.Offset < of[0].Offset {
			continue
		}
		if record.Offset > of[0].Offset {
			break
		}
		found.list(record, of[0].Reason, v.options.Rejections)
		if !yield(identified(part.TopicID, record, of[0].Reason), nil) {
			return false, nil
		}
		of = of[1:]
	}
	if len(of) > 0 {
		return false, fmt.Errorf("partition %d offset %d was rejected and is not found again", partition, of[0].Offset)
	}
	return true, nil
}

// identified is a rejected record by length and digest of its bytes.
func identified(topicID string, record engine.Record, reason string) compare.Rejected {
	return compare.Rejected{
		Partition: record.Partition, Offset: record.Offset, TopicID: topicID, Reason: reason,
		Key: Blob(record.Key), Value: Blob(record.Value),
	}
}

// list lists a rejected record, unless as many as are wanted are.
func (f *findings) list(record engine.Record, reason string, wanted int) {
	if len(f.rejections) < wanted {
		f.rejections = append(f.rejections, report.Rejection{
			Partition: record.Partition, Offset: record.Offset, Reason: reason,
			Fingerprint: report.Fingerprint(record.Key, record.Value),
		})
	}
}

// readPayloads reads the payloads of the conflicts: from typed columns where the engine judged by these, else from the
// records of the partitions that have some.
func (v *run) readPayloads(ctx context.Context, whole boundary.Range, found *findings, typed bool) error {
	payloads := newPayloads(v.judge, v.applied, allConflicts(found.projection))
	if payloads == nil {
		return nil
	}
	found.payloads = payloads.byConflict
	if typed {
		if err := v.snapshot.Typed.Transactions(ctx, payloads.keys(), payloads.take); err != nil {
			return err
		}
		return payloads.complete()
	}
	partitions := map[int32]bool{}
	for k := range payloads.keys() {
		partitions[decode.Partition(decode.BrokerKey(k.Item, k.Location), v.applied.Namespace.Spec.Source.Partitions)] = true
	}
	for p := range whole.To {
		if !partitions[int32(p)] {
			whole.From[p] = whole.To[p]
		}
	}
	for record, err := range v.history(whole)(ctx) {
		if err != nil {
			return err
		}
		if t, accepted := payloads.read(record); accepted {
			payloads.take(record.Partition, record.Offset, t)
		}
	}
	return payloads.complete()
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

// keys are those of the conflicts.
func (p *payloads) keys() map[compare.Key]bool {
	keys := map[compare.Key]bool{}
	for c := range p.byConflict {
		keys[compare.Key{Item: c.Item, Location: c.Location}] = true
	}
	return keys
}

// take takes an accepted record. Those of one key come in the order of their offsets, because they share a partition.
func (p *payloads) take(partition int32, offset int64, t engine.Transaction) {
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
		Partition: partition, Offset: offset,
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
