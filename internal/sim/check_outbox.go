package sim

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"amends.dev/amends/oracle/decode"
)

// outputID names an output: family, index of the stock key, and day since the Unix epoch, 0 for a status.
type outputID struct {
	family   string
	key, day int32
}

// row is one committed envelope as the simulator itself reads it.
type row struct {
	partition  int32
	seq        int64
	key, value string
	id         outputID
	version    int64
	present    bool
	content    [sha256.Size]byte
	// output is the partition of the output topic that the record key maps to; index counts the rows of the source
	// partition that go there, from 0.
	output int32
	index  int
}

// route is what order is promised along: from a source partition to an output partition.
type route struct{ source, output int32 }

// outboxIndex holds every envelope ever seen in the outbox, kept apart from the store that may lose or change it.
type outboxIndex struct {
	rows    [][]row
	byValue map[string]*row
	counts  map[route]int
	// keys finds the index of a stock key.
	keys map[[2]string]int32
}

func newOutboxIndex(w *world) *outboxIndex {
	x := &outboxIndex{
		rows: make([][]row, len(w.truths)), byValue: map[string]*row{}, counts: map[route]int{}, keys: map[[2]string]int32{},
	}
	for i, k := range w.namespace.Spec.StockKeys {
		x.keys[[2]string{k.Item, k.Location}] = int32(i)
	}
	return x
}

// outboxChecker: sequences follow each other without a gap, an envelope never changes, and each is one that the
// namespace can have (S7, S9, B052). It fills the index that other checkers use.
type outboxChecker struct{ rows *outboxIndex }

func (*outboxChecker) name() string { return "outbox" }

func (c *outboxChecker) check(w *world) error {
	for p := range c.rows.rows {
		known := len(c.rows.rows[p])
		if end := w.state.OutboxEnd(int32(p)); end < int64(known)+1 {
			return fmt.Errorf("outbox of partition %d lost envelopes: ends at %d, had %d", p, end, known)
		}
		for _, r := range w.state.OutboxRows(int32(p), int64(known)+1, 1<<20) {
			one, err := c.rows.read(w, r.Key, r.Value)
			if err != nil {
				return fmt.Errorf("outbox of partition %d, sequence %d: %w", p, r.Seq, err)
			}
			if want := int64(len(c.rows.rows[p])) + 1; r.Seq != want || r.Partition != int32(p) {
				return fmt.Errorf("outbox of partition %d has sequence %d of partition %d, want %d", p, r.Seq, r.Partition, want)
			}
			if double := c.rows.byValue[one.value]; double != nil {
				return fmt.Errorf("outbox of partition %d, sequence %d repeats partition %d, sequence %d", p, r.Seq, double.partition, double.seq)
			}
			one.partition, one.seq = int32(p), r.Seq
			way := route{one.partition, one.output}
			one.index = c.rows.counts[way]
			c.rows.counts[way]++
			c.rows.rows[p] = append(c.rows.rows[p], one)
			c.rows.byValue[one.value] = &one
		}
	}
	return nil
}

// read reads an envelope, by names alone: whether it is canonical is the view's business.
func (x *outboxIndex) read(w *world, key, value []byte) (row, error) {
	var e struct {
		Namespace string   `json:"namespace"`
		OutputID  []string `json:"output_id"`
		Version   int64    `json:"version"`
		Payload   any      `json:"payload"`
	}
	if err := json.Unmarshal(value, &e); err != nil {
		return row{}, err
	}
	r := row{key: string(key), value: string(value), version: e.Version, present: e.Payload != nil, content: sha256.Sum256(value)}
	if len(e.OutputID) < 4 || e.Namespace != w.namespace.Name || e.OutputID[0] != e.Namespace {
		return row{}, fmt.Errorf("output ID %q of namespace %q", e.OutputID, e.Namespace)
	}
	var known bool
	r.id.family = e.OutputID[1]
	if r.id.key, known = x.keys[[2]string{e.OutputID[2], e.OutputID[3]}]; !known {
		return row{}, fmt.Errorf("output ID %q is of no configured stock key", e.OutputID)
	}
	if len(e.OutputID) == 5 {
		day, err := time.Parse(time.DateOnly, e.OutputID[4])
		if err != nil {
			return row{}, err
		}
		r.id.day = int32(day.Unix() / 86_400)
	}
	r.output = decode.Partition(key, w.namespace.Spec.Output.Partitions)
	return r, nil
}
