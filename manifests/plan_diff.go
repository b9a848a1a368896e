package manifests

import (
	"fmt"
	"strconv"

	"amends.dev/amends/internal/mark"
)

// refusalsMax bounds the list of refusals: a changed file of a million stock keys is told by its first keys.
const refusalsMax = 50

// sameSpec compares the manifest with the recorded namespace and refuses every difference, field by field.
func (p *planner) sameSpec() bool {
	applied := p.observed.Applied
	if applied.NamespaceDigest == p.plan.Digest {
		return true
	}
	if recomputed := applied.Namespace.NamespaceDigest(); recomputed != applied.NamespaceDigest {
		mark.Hit("R01 recorded digest does not hold")
		p.refuse(Refusal{Field: "spec", Old: "digest " + short(applied.NamespaceDigest), New: "digest " + short(recomputed),
			Reason: "the recorded namespace does not have its recorded digest: the catalog was altered",
			Remedy: "restore the database, or rebuild into a new namespace"})
		return false
	}
	mark.Hit("SC28 applied configuration changed")
	p.changedFields(applied.Namespace.Spec, p.desired.Spec)
	p.changedKeys(applied.Namespace.Spec.StockKeys, p.desired.Spec.StockKeys)
	return false
}

// changed refuses one field where it differs.
func (p *planner) changed(field, before, after string) {
	if before == after {
		return
	}
	p.refuse(Refusal{Field: field, Old: before, New: after, Reason: "a namespace is immutable once applied",
		Remedy: "apply the manifest as a new namespace: another metadata.name and another spec.output.topic"})
}

func (p *planner) changedFields(before, after Spec) {
	count := func(n int32) string { return strconv.Itoa(int(n)) }
	p.changed("spec.semanticsVersion", strconv.FormatInt(before.SemanticsVersion, 10), strconv.FormatInt(after.SemanticsVersion, 10))
	p.changed("spec.ledgerOrigin", before.LedgerOriginText(), after.LedgerOriginText())
	p.changed("spec.source.topic", before.Source.Topic, after.Source.Topic)
	p.changed("spec.source.partitions", count(before.Source.Partitions), count(after.Source.Partitions))
	p.changed("spec.source.partitioner", before.Source.Partitioner, after.Source.Partitioner)
	p.changed("spec.source.maxRecordBytes", strconv.FormatInt(before.Source.MaxRecordBytes, 10), strconv.FormatInt(after.Source.MaxRecordBytes, 10))
	p.changed("spec.output.topic", before.Output.Topic, after.Output.Topic)
	p.changed("spec.output.partitions", count(before.Output.Partitions), count(after.Output.Partitions))
}

// changedKeys merges the two sorted lists.
func (p *planner) changedKeys(before, after []StockKey) {
	const none = "not configured"
	for len(before) > 0 || len(after) > 0 {
		order := 0
		switch {
		case len(before) == 0:
			order = 1
		case len(after) == 0:
			order = -1
		default:
			order = compareKeys(before[0], after[0])
		}
		switch {
		case order < 0:
			p.changed(keyField(before[0]), values(before[0]), none)
			before = before[1:]
		case order > 0:
			p.changed(keyField(after[0]), none, values(after[0]))
			after = after[1:]
		default:
			if b, a := before[0], after[0]; b != a {
				p.changed(keyField(b)+".openingBalance", strconv.FormatInt(b.OpeningBalance, 10), strconv.FormatInt(a.OpeningBalance, 10))
				p.changed(keyField(b)+".reorderThreshold", strconv.FormatInt(b.ReorderThreshold, 10), strconv.FormatInt(a.ReorderThreshold, 10))
			}
			before, after = before[1:], after[1:]
		}
	}
}

// keyField names a stock key by what identifies it, since its place in the list means nothing.
func keyField(k StockKey) string { return "spec.stockKeys" + keyText(k) }

func values(k StockKey) string {
	return fmt.Sprintf("openingBalance %d, reorderThreshold %d", k.OpeningBalance, k.ReorderThreshold)
}

// short is the beginning of a digest, as people compare it.
func short(digest string) string { return digest[:min(12, len(digest))] }
