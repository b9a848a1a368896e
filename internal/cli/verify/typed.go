package verify

import (
	"context"
	"fmt"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/verify"
	"amends.dev/amends/vectorized"
	"amends.dev/amends/vectorized/snapshot"
)

// typed are the typed columns of a snapshot, which the columnar engine takes.
type typed struct {
	snapshot *snapshot.Snapshot
	// memory bounds the rows that the engine holds at a time, in bytes; 0 stands for the engine's own bound.
	memory int64
}

var _ verify.Typed = typed{}

// Compute implements verify.Typed.
func (t typed) Compute(ctx context.Context, judge engine.Engine, ns *manifests.Namespace) (*projection.Projection, []int64, error) {
	columnar, ok := judge.(arrow.Engine)
	meta := t.snapshot.Meta()
	if !ok || meta.BusinessDigest != ns.BusinessDigest(meta.TopicID) {
		return nil, nil, nil
	}
	result, err := columnar.ComputeColumns(ctx, ns, t.snapshot.Typed(), arrow.Options{Memory: t.memory})
	if err != nil {
		return nil, nil, err
	}
	return result.Projection(), rowsOf(t.snapshot.Typed().Parts(), len(meta.Ends)), nil
}

// rowsOf counts records by partition.
func rowsOf(parts []vectorized.Part, partitions int) []int64 {
	rows := make([]int64, partitions)
	for _, part := range parts {
		rows[part.Partition] += part.Rows
	}
	return rows
}

// Transactions implements verify.Typed.
func (t typed) Transactions(ctx context.Context, of map[compare.Key]bool, visit func(partition int32, offset int64, t engine.Transaction)) error {
	source := t.snapshot.Typed()
	decoder := source.NewDecoder()
	var buffer []byte
	for i, part := range source.Parts() {
		loaded, grown, err := source.Load(ctx, i, buffer)
		if err != nil {
			return err
		}
		buffer = grown
		for group := range loaded.Groups() {
			columns, err := decoder.Columns(loaded, group)
			if err == nil {
				err = transactions(columns, of, func(offset int64, t engine.Transaction) { visit(part.Partition, offset, t) })
			}
			if err != nil {
				return loaded.Fault(err)
			}
		}
	}
	return nil
}

// transactions visits the accepted records of some keys in a run of records.
func transactions(c *vectorized.Columns, of map[compare.Key]bool, visit func(offset int64, t engine.Transaction)) error {
	known := map[[2]int32]bool{} // whether keys are wanted, by their codes
	rejected := c.RejectAt
	row := 0
	for i := range c.Accepted {
		for ; len(rejected) > 0 && int(rejected[0]) == row; row++ {
			rejected = rejected[1:]
		}
		codes := [2]int32{c.Item.Codes[i], c.Location.Codes[i]}
		wanted, seen := known[codes]
		item, location, kind := value(&c.Item, i), value(&c.Location, i), value(&c.Kind, i)
		switch {
		case item == nil || location == nil || kind == nil:
			return fmt.Errorf("row %d: a code is outside its dictionary", row)
		case !seen:
			wanted = of[compare.Key{Item: string(item), Location: string(location)}]
			known[codes] = wanted
		}
		if wanted {
			visit(c.Offset[row], engine.Transaction{
				Item: string(item), Location: string(location), TxnID: string(c.TxnID.Value(i)), Revision: c.Revision[i],
				Kind: string(kind), ValidTime: c.ValidTime[i], Qty: c.Qty[i],
			})
		}
		row++
	}
	return nil
}

// value is the i-th value of a column of codes; nil where there is none.
func value(d *vectorized.Dictionary, i int) []byte {
	if code := d.Codes[i]; uint(code) < uint(len(d.Values)) {
		return d.Values[code]
	}
	return nil
}
