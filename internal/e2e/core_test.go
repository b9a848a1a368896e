package e2e_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/ledger/simulate"
	"amends.dev/amends/stages/postgres"
	"amends.dev/amends/stages/relay"
)

// output names one version of one output.
type output struct {
	id      string
	version int64
}

// messages is a set of envelopes with the highest version of each output.
type messages struct {
	all    map[output]ledger.Envelope
	latest map[string]int64
}

func newMessages() messages {
	return messages{all: map[output]ledger.Envelope{}, latest: map[string]int64{}}
}

func (m messages) add(id output, e ledger.Envelope) {
	m.all[id] = e
	m.latest[id.id] = max(m.latest[id.id], id.version)
}

// core is what the pure core decides over the same records, without a broker, a database or a fault.
type core struct {
	messages
	result *simulate.Result
	// outbox holds the envelopes by source partition, in sequence order.
	outbox [][]ledger.Envelope
}

// counts are what checking a bed against its core has found.
type counts struct {
	records, accepted, rejected, envelopes int
	// repeats are messages of the output topic beyond one for each envelope.
	repeats int
}

// before cuts a history off at exclusive ends by partition.
func before(history [][]broker.Record, ends []int64) [][]broker.Record {
	cut := make([][]broker.Record, len(history))
	for partition, records := range history {
		n, _ := slices.BinarySearchFunc(records, ends[partition], compareOffset)
		cut[partition] = records[:n]
	}
	return cut
}

func compareOffset(r broker.Record, offset int64) int { return cmp.Compare(r.Offset, offset) }

// simulate runs the core over a history.
func (b *bed) simulate(history [][]broker.Record) core {
	b.t.Helper()
	var records iter.Seq2[ledger.Record, error] = func(yield func(ledger.Record, error) bool) {
		for _, all := range history {
			for _, r := range all {
				if !yield(ledger.Record{Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value}, nil) {
					return
				}
			}
		}
	}
	result, err := simulate.Run(ledger.NewConfig(b.ns, b.applied.SourceTopicID), records)
	b.must(err)
	c := core{messages: newMessages(), result: result, outbox: make([][]ledger.Envelope, len(history))}
	for _, e := range result.Envelopes {
		id, partition := b.outputOf(e.Value)
		c.outbox[partition] = append(c.outbox[partition], e)
		c.add(id, e)
	}
	return c
}

// outputOf reads which output an envelope is about, and the source partition that caused it.
func (b *bed) outputOf(value []byte) (output, int) {
	b.t.Helper()
	var e struct {
		OutputID []string `json:"output_id"`
		Version  int64    `json:"version"`
		Source   struct {
			Partition int `json:"partition"`
		} `json:"source"`
	}
	if err := json.Unmarshal(value, &e); err != nil || len(e.OutputID) < 4 || e.OutputID[0] != b.ns.Name {
		b.t.Fatalf("envelope %q: %v", value, err)
	}
	return output{id: strings.Join(e.OutputID[1:], "\x00"), version: e.Version}, e.Source.Partition
}

// matchesCore requires that a drained pipeline has decided, published and materialized exactly what the core decides
// over the same records: whatever happened to its processes, every output has the versions it must have.
func (b *bed) matchesCore() counts {
	b.t.Helper()
	history := b.history()
	want := b.simulate(history)
	n := counts{rejected: len(want.result.Projection.Rejections), envelopes: len(want.result.Envelopes)}
	for _, records := range history {
		n.records += len(records)
	}
	n.accepted = n.records - n.rejected
	accepted := b.number(b.state, `SELECT sum(accepted)::bigint FROM partition_state`)
	rejected := b.number(b.state, `SELECT sum(rejected)::bigint FROM partition_state`)
	if accepted != int64(n.accepted) || rejected != int64(n.rejected) {
		b.t.Errorf("%d records accepted and %d rejected; want %d and %d", accepted, rejected, n.accepted, n.rejected)
	}
	published := b.published()
	b.checkOutbox(want, published)
	n.repeats = b.checkTopic(want, published)
	b.checkView(want.messages)
	return n
}

// published reads the output topic.
func (b *bed) published() [][]broker.Record {
	b.t.Helper()
	return b.read(b.ns.Spec.Output.Topic, b.ns.Spec.Output.Partitions)
}

// checkOutbox compares the committed envelopes in sequence order, and their receipts with the output topic (R19).
func (b *bed) checkOutbox(want core, published [][]broker.Record) {
	b.t.Helper()
	store := postgres.NewRelayStore(b.state)
	for partition, envelopes := range want.outbox {
		listed := b.outbox(store, int32(partition))
		if len(listed) != len(envelopes) {
			b.t.Errorf("source partition %d: %d envelopes committed, want %d", partition, len(listed), len(envelopes))
			continue
		}
		for i, e := range envelopes {
			got := listed[i]
			if got.Seq != int64(i+1) || !bytes.Equal(got.Value, e.Value) || !bytes.Equal(got.Key, e.Key) {
				b.t.Fatalf("source partition %d, envelope %d:\n%s\nwant\n%s", partition, i+1, got.Value, e.Value)
			}
			if !got.Sent || !bytes.Equal(at(published, got.Receipt.Partition, got.Receipt.Offset), e.Value) {
				b.t.Fatalf("source partition %d, envelope %d: receipt %+v does not lead to it", partition, i+1, got.Receipt)
			}
		}
	}
}

// outbox lists the committed envelopes of a source partition, a page after another: a page is bounded in bytes.
func (b *bed) outbox(store *postgres.RelayStore, partition int32) (all []relay.Listed) {
	b.t.Helper()
	for {
		page, err := store.List(b.t.Context(), partition, int64(len(all)+1), 1_000_000)
		b.must(err)
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
	}
}

// at finds a record's value by its coordinates, nil where there is none.
func at(records [][]broker.Record, partition int32, offset int64) []byte {
	i, found := slices.BinarySearchFunc(records[partition], offset, compareOffset)
	if !found {
		return nil
	}
	return records[partition][i].Value
}

// checkTopic requires every envelope in the output topic, in the partition of its key, and nothing else but repetitions
// of the same bytes, which it counts (S9, SC20).
func (b *bed) checkTopic(want core, published [][]broker.Record) (repeats int) {
	b.t.Helper()
	seen := map[output]bool{}
	for partition, records := range published {
		for _, r := range records {
			id, _ := b.outputOf(r.Value)
			e, ok := want.all[id]
			if !ok || !bytes.Equal(e.Value, r.Value) || !bytes.Equal(e.Key, r.Key) {
				b.t.Fatalf("output partition %d, offset %d: %s\nis not\n%s", partition, r.Offset, r.Value, e.Value)
			}
			if ledger.PartitionOf(r.Key, b.ns.Spec.Output.Partitions) != int32(partition) {
				b.t.Fatalf("output partition %d, offset %d: the key %s belongs elsewhere", partition, r.Offset, r.Key)
			}
			if seen[id] {
				repeats++
			}
			seen[id] = true
		}
	}
	if len(seen) != len(want.all) {
		b.t.Errorf("%d distinct messages in the output topic, want %d", len(seen), len(want.all))
	}
	return repeats
}

// viewSQL reads what the view keeps of every output, withdrawn ones too, in the words of output IDs.
const viewSQL = `
SELECT 'balance', item, location, to_char(day, 'YYYY-MM-DD'), version, present, content FROM balance JOIN stock_key USING (key_id)
UNION ALL
SELECT 'alert', item, location, to_char(day, 'YYYY-MM-DD'), version, present, content FROM alert JOIN stock_key USING (key_id)
UNION ALL
SELECT 'key-status', item, location, '', version, true, content FROM key_status JOIN stock_key USING (key_id)`

// checkView requires the highest version of each output, with its content, in the view, and no other row (S7).
func (b *bed) checkView(want messages) {
	b.t.Helper()
	rows, err := b.view.Query(b.t.Context(), viewSQL)
	b.must(err)
	type row struct {
		family, item, location, day string
		version                     int64
		present                     bool
		content                     []byte
	}
	got, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (v row, err error) {
		return v, r.Scan(&v.family, &v.item, &v.location, &v.day, &v.version, &v.present, &v.content)
	})
	b.must(err)
	if len(got) != len(want.latest) {
		b.t.Errorf("the view holds %d outputs, want %d", len(got), len(want.latest))
	}
	for _, v := range got {
		id := v.family + "\x00" + v.item + "\x00" + v.location
		if v.day != "" {
			id += "\x00" + v.day
		}
		e := want.all[output{id, want.latest[id]}]
		content, withdrawn := sha256.Sum256(e.Value), bytes.Contains(e.Value, []byte(`"payload":null`))
		if v.version != want.latest[id] || !bytes.Equal(v.content, content[:]) || v.present == withdrawn {
			b.t.Fatalf("the view holds version %d of %q, present %t; want version %d: %s", v.version, id, v.present, want.latest[id], e.Value)
		}
	}
}

// isPrefix requires that the durable state, whatever the worker was doing when it was killed, is exactly what the core
// has decided at the frontier: no record half done, none skipped, none twice (S8, SC18). It returns the frontiers.
func (b *bed) isPrefix(history [][]broker.Record) []int64 {
	b.t.Helper()
	rows, err := b.state.Query(b.t.Context(), `SELECT next_offset, outbox_next, accepted + rejected FROM partition_state ORDER BY partition`)
	b.must(err)
	state, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (v [3]int64, err error) { return v, r.Scan(&v[0], &v[1], &v[2]) })
	b.must(err)
	frontiers := make([]int64, len(state))
	for partition, s := range state {
		frontiers[partition] = s[0]
	}
	history = before(history, frontiers)
	want := b.simulate(history)
	for partition, s := range state {
		decided := len(history[partition])
		if s[1]-1 != int64(len(want.outbox[partition])) || s[2] != int64(decided) {
			b.t.Fatalf("partition %d at frontier %d: %d envelopes and %d records decided; want %d and %d",
				partition, s[0], s[1]-1, s[2], len(want.outbox[partition]), decided)
		}
	}
	return frontiers
}

// viewIsPrefix requires that the view, whatever it was doing when it was killed, shows exactly what the output topic
// says up to its durable positions (S7, SC21). It returns the positions.
func (b *bed) viewIsPrefix() []int64 {
	b.t.Helper()
	rows, err := b.view.Query(b.t.Context(), `SELECT next_offset FROM view_progress ORDER BY partition`)
	b.must(err)
	positions, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	b.must(err)
	want := newMessages()
	for partition, records := range b.published() {
		for _, r := range records {
			if r.Offset < positions[partition] {
				id, _ := b.outputOf(r.Value)
				want.add(id, ledger.Envelope{Key: r.Key, Value: r.Value})
			}
		}
	}
	b.checkView(want)
	return positions
}

// sum adds frontiers up.
func sum(frontiers []int64) (total int64) {
	for _, f := range frontiers {
		total += f
	}
	return total
}

// String shows the counts in a test's log.
func (n counts) String() string {
	return fmt.Sprintf("%d records (%d rejected), %d envelopes, %d repeated messages", n.records, n.rejected, n.envelopes, n.repeats)
}
