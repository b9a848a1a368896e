package verify

import (
	"context"

	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/explain"
)

// explain reads the history once more and derives the keys that are BLOCKED or differ: only now is it known which they
// are. It is told beside the verdict, so that its failure takes nothing from it.
func (v *run) explain(ctx context.Context, found *findings) {
	names, focus := v.toExplain(found)
	if len(names) == 0 {
		return
	}
	v.enter(boundary.PhaseExplain, "")
	keys, err := v.derive(ctx, names)
	if err != nil {
		found.notExplained = oneLine(err)
		return
	}
	for i := range keys {
		k := &keys[i]
		found.explanations = append(found.explanations, k.Limited(v.options.Limit, focus[explain.Name{Item: k.Item, Location: k.Location}]))
	}
}

// toExplain are the keys with an ambiguous revision and those with a listed difference, as many as differences are
// listed of each family, and the days on which each differs.
func (v *run) toExplain(found *findings) ([]explain.Name, map[explain.Name]map[string]bool) {
	var names []explain.Name
	focus := map[explain.Name]map[string]bool{}
	configured := map[explain.Name]bool{} // a view may name other keys, and a rejection names none
	for _, k := range v.applied.Namespace.Spec.StockKeys {
		configured[explain.Name{Item: k.Item, Location: k.Location}] = true
	}
	add := func(name explain.Name, day string) {
		if focus[name] == nil {
			if v.options.Limit > 0 && len(names) >= v.options.Limit || !configured[name] {
				return
			}
			names = append(names, name)
			focus[name] = map[string]bool{}
		}
		focus[name][day] = true
	}
	for _, d := range found.collector.Listed() {
		add(explain.Name{Item: d.Item, Location: d.Location}, d.Day)
	}
	for _, c := range ambiguous(found.projection) {
		add(explain.Name{Item: c.Item, Location: c.Location}, "")
	}
	return names, focus
}

// derive collects the records of the keys, from the partitions that can hold them, and derives what follows.
func (v *run) derive(ctx context.Context, names []explain.Name) ([]explain.Key, error) {
	collector, err := explain.NewCollector(v.applied.Namespace, names)
	if err != nil {
		return nil, err
	}
	part := v.whole()
	partitions := collector.Partitions()
	for p := range part.To {
		if !partitions[int32(p)] {
			part.From[p] = part.To[p]
		}
	}
	for record, err := range v.history(part)(ctx) {
		if err != nil {
			return nil, err
		}
		collector.Observe(record.Partition, record.Offset, record.Key, record.Value)
	}
	return collector.Keys(), nil
}

// whole is the history through H, with vectors of its own.
func (v *run) whole() boundary.Range {
	result := v.machine.Result()
	return boundary.Range{
		Topic: v.applied.Namespace.Spec.Source.Topic, TopicID: result.SourceID,
		From: append([]int64{}, result.SourceStarts...), To: append([]int64{}, result.H...),
	}
}
