package conformance

import (
	"slices"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/diagnostics"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/reference"
	"amends.dev/amends/oracle/report"
)

// diagnose enters the rejections and superseded conflicts of a whole history into a report, as a verification does (R24).
func diagnose(r *report.Report, ns *manifests.Namespace, records history, whole *projection.Projection) {
	for _, j := range whole.Rejections {
		for _, record := range records {
			if record.Partition == j.Partition && record.Offset == j.Offset {
				r.Rejections = append(r.Rejections, report.Rejection{
					Partition: j.Partition, Offset: j.Offset, Reason: j.Reason, Fingerprint: report.Fingerprint(record.Key, record.Value),
				})
			}
		}
	}
	for _, c := range whole.SupersededConflicts {
		r.Conflicts = append(r.Conflicts, report.Conflict{
			Item: c.Item, Location: c.Location, TxnID: c.TxnID, Revision: c.Revision, State: report.Superseded,
			Payloads: payloads(ns, records, c),
		})
	}
	for _, c := range ambiguous(whole.Statuses) {
		r.Conflicts = append(r.Conflicts, report.Conflict{
			Item: c.Item, Location: c.Location, TxnID: c.TxnID, Revision: c.Revision, State: report.Ambiguous,
			Payloads: payloads(ns, records, c),
		})
		r.Counts.AmbiguousConflicts++
	}
	r.Counts.Rejections, r.Counts.SupersededConflicts = int64(len(r.Rejections)), int64(len(whole.SupersededConflicts))
}

// payloads are the distinct payloads of a conflict, each at its first record.
func payloads(ns *manifests.Namespace, records history, c projection.Conflict) []report.Payload {
	var found []report.Payload
	read := reference.Engine{}.Reading(ns)
	for _, record := range records {
		t, accepted := read(engine.Record{Partition: record.Partition, Offset: record.Offset, Key: record.Key, Value: record.Value})
		if !accepted || c != (projection.Conflict{Item: t.Item, Location: t.Location, TxnID: t.TxnID, Revision: t.Revision}) {
			continue
		}
		text := diagnostics.Canonical(t.Item, t.Location, t.TxnID, t.Revision, t.Kind, t.ValidTime, t.Qty)
		if slices.ContainsFunc(found, func(p report.Payload) bool { return p.Canonical == text }) {
			continue
		}
		found = append(found, report.Payload{
			Partition: record.Partition, Offset: record.Offset, Canonical: text, Fingerprint: diagnostics.PayloadFingerprint(text),
		})
	}
	return found
}
