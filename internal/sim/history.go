package sim

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/stages/generate"
)

// event is one thing that happens to the source topic.
type event struct {
	partition int32
	// aborted, where positive, is a transaction of so many records that was aborted: offsets that nobody sees, and the
	// marker. Otherwise marker says that it is a commit marker alone.
	aborted int64
	marker  bool
	// key and value are those of a data record; nil is null.
	key, value []byte
}

// String describes the event as a trace shows it.
func (e *event) String() string {
	switch {
	case e.aborted > 0:
		return fmt.Sprintf("aborted transaction of %d", e.aborted)
	case e.marker:
		return "control marker"
	case e.value == nil:
		return fmt.Sprintf("%s null", e.key)
	default:
		return fmt.Sprintf("%s %s", e.key, e.value)
	}
}

// traits are what a history may contain. Each seed has a random subset, so that histories without conflicts or
// rejections, which deserve a plain PASS, are common too.
type traits struct {
	conflicts, malformed, overflow, markers, duplicates bool
	// generated takes the records from stages/generate instead of the hostile generator.
	generated bool
	records   int
}

func drawTraits(r *random) traits {
	return traits{
		conflicts: r.percent(50), malformed: r.percent(45), overflow: r.oneIn(16), markers: r.percent(60),
		duplicates: r.percent(60), generated: r.oneIn(4), records: r.between(20, 120),
	}
}

// drawHistory draws the events in the order in which they are produced.
func drawHistory(r *random, ns *manifests.Namespace, t traits) ([]event, error) {
	next := (&hostile{random: r, namespace: ns, traits: t}).draw
	if t.generated && !t.overflow {
		var err error
		if next, err = generated(r, ns, t); err != nil {
			return nil, err
		}
	}
	events := make([]event, 0, t.records)
	for len(events) < t.records {
		e := next()
		events = append(events, e)
		if t.duplicates && r.oneIn(12) { // a producer without idempotence sends it again
			events = append(events, e)
		}
		if t.markers && r.oneIn(10) {
			partition := int32(r.below(int(ns.Spec.Source.Partitions)))
			if r.oneIn(2) {
				events = append(events, event{partition: partition, marker: true})
			} else {
				events = append(events, event{partition: partition, aborted: int64(r.between(1, 3))})
			}
		}
	}
	return events, nil
}

// generated takes the records of the synthetic producer, with shares that make every class common.
func generated(r *random, ns *manifests.Namespace, t traits) (func() event, error) {
	options := generate.Options{
		Seed: r.next(), Count: int64(t.records), Days: r.between(2, 8),
		Amend: 150_000, Move: 100_000, Cancel: 100_000, Backdate: 150_000, Stale: 50_000,
	}
	if t.conflicts {
		options.Conflict = 60_000
	}
	if t.malformed {
		options.Malformed = 60_000
	}
	stream, err := generate.NewStream(ns, options)
	if err != nil {
		return nil, err
	}
	return func() event {
		record, _ := stream.Next() // the stream is as long as the history
		return event{partition: record.Partition, key: record.Key, value: record.Value}
	}, nil
}

// hostile draws records over few identities, revisions and days, so that duplicates, stale records, conflicts and their
// resolutions meet on them.
type hostile struct {
	random    *random
	namespace *manifests.Namespace
	traits    traits
}

// transaction is a record before it is rendered.
type transaction struct {
	key      manifests.StockKey
	id, kind string
	revision int64
	at       time.Time
	qty      int64
}

func (h *hostile) draw() event {
	r, spec := h.random, &h.namespace.Spec
	x := transaction{key: pick(r, spec.StockKeys...), id: fmt.Sprintf("t%d", r.below(4)), revision: int64(r.between(1, 5))}
	if r.oneIn(8) {
		x.revision += int64(r.between(1, 20)) // resolves what stands in conflict
	}
	// Without conflicts the content follows from identity and revision, so that drawing it again is a duplicate.
	content := r
	if !h.traits.conflicts || r.percent(70) {
		content = newRandom(uint64(x.revision)<<8|uint64(x.id[1]), uint64(x.key.Location[1]))
	}
	h.fill(&x, content)
	key := decode.BrokerKey(x.key.Item, x.key.Location)
	e := event{partition: decode.Partition(key, spec.Source.Partitions), key: key, value: x.render()}
	if h.traits.malformed && r.oneIn(12) {
		h.damage(&e)
	}
	return e
}

// fill draws day, kind and quantity.
func (h *hostile) fill(x *transaction, r *random) {
	origin := time.Unix(0, h.namespace.Spec.LedgerOrigin).UTC()
	x.at = origin.Add(time.Duration(r.below(5*24)) * time.Hour)
	x.kind, x.qty = pick(r, "NEW", "NEW", "AMEND", "CANCEL"), int64(r.between(-60, 40))
	if r.oneIn(10) {
		x.qty = 0
	}
	if h.traits.overflow && r.oneIn(10) {
		x.qty = pick(r, int64(200), 1<<62, -1<<63, 1<<63-1)
	}
	if x.kind == "CANCEL" {
		x.qty = 0
	}
}

// render is the record's value.
func (x *transaction) render() []byte {
	quoted := func(text string) string {
		out, err := jsontext.AppendQuote(nil, text)
		if err != nil { // names are valid UTF-8
			return `""`
		}
		return string(out)
	}
	return fmt.Appendf(nil, `{"txn_id":%q,"revision":%d,"kind":%q,"stock_key":{"item":%s,"location":%s},"valid_time":%q,"qty":%d,"source_time":%q}`,
		x.id, x.revision, x.kind, quoted(x.key.Item), quoted(x.key.Location), x.at.Format(time.RFC3339), x.qty, "2026-01-01T00:00:00Z")
}

// damage makes a record that is rejected.
func (h *hostile) damage(e *event) {
	switch h.random.below(5) {
	case 0:
		e.value = nil
	case 1:
		e.value = e.value[:h.random.below(len(e.value))]
	case 2:
		e.key = append([]byte(" "), e.key...)
	case 3:
		e.key = nil
	default:
		e.partition = (e.partition + 1) % h.namespace.Spec.Source.Partitions
	}
}
