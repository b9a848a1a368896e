package derive

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"

	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/vectorized/derived"
)

// columns are the accepted records of one partition, in offset order.
type columns struct {
	key       []int32
	kind      []decode.Kind
	revision  []int64
	validTime []int64
	qty       []int64
	offset    []int64
	// Transaction ID i is text[ends[i-1]:ends[i]]: a million small slices would cost more than the text.
	text []byte
	ends []int
}

func (c *columns) rows() int { return len(c.key) }

// txnID returns the transaction ID of a row; it shares the columns' memory.
func (c *columns) txnID(row uint32) []byte {
	start := 0
	if row > 0 {
		start = c.ends[row-1]
	}
	return c.text[start:c.ends[row]]
}

// samePayload reports whether two rows of one identity and revision are exact duplicates (S3).
func (c *columns) samePayload(a, b uint32) bool {
	return c.kind[a] == c.kind[b] && c.validTime[a] == c.validTime[b] && c.qty[a] == c.qty[b]
}

func (c *columns) add(tx *decode.Transaction, offset int64) {
	c.key = append(c.key, tx.Key)
	c.kind = append(c.kind, tx.Kind)
	c.revision = append(c.revision, tx.Revision)
	c.validTime = append(c.validTime, tx.ValidTime)
	c.qty = append(c.qty, tx.Qty)
	c.offset = append(c.offset, offset)
	c.text = append(c.text, tx.TxnID...)
	c.ends = append(c.ends, len(c.text))
}

// gather decodes a history: accepted records become columns, rejected ones are written at once.
func gather(ctx context.Context, decoder *decode.Decoder, history engine.History, partition int32, files *derived.Partition) (*columns, error) {
	c, next := &columns{}, int64(0)
	for r, err := range history(ctx) {
		if err != nil {
			return nil, err
		}
		if r.Partition != partition || r.Offset < next || c.rows() == math.MaxUint32 {
			return nil, fmt.Errorf("%w: partition %d, offset %d after offset %d", ErrHistory, r.Partition, r.Offset, next-1)
		}
		next = r.Offset + 1
		tx, reason := decoder.Decode(r.Partition, r.Key, r.Value)
		if reason == decode.Accepted {
			c.add(&tx, r.Offset)
			continue
		}
		if err := files.Quarantine(rejected(&r, reason)); err != nil {
			return nil, err
		}
	}
	return c, ctx.Err()
}

// keptBytes is the size up to which raw bytes are kept (R06).
const keptBytes = 1 << 20

// rejected is the evidence of a rejected record; its bytes are copied.
func rejected(r *engine.Record, reason decode.Reason) derived.Quarantine {
	row := derived.Quarantine{Offset: r.Offset, Reason: string(reason)}
	row.RawKey, row.KeyLength, row.KeySHA256 = raw(r.Key)
	row.RawValue, row.ValueLength, row.ValueSHA256 = raw(r.Value)
	return row
}

func raw(b []byte) (kept []byte, length int64, digest []byte) {
	if b == nil {
		return nil, -1, nil
	}
	sum := sha256.Sum256(b)
	if len(b) <= keptBytes {
		kept = bytes.Clone(b)
	}
	return kept, int64(len(b)), sum[:]
}

// order returns the rows sorted by key, transaction ID bytes, revision and offset, and the bounds of each key's rows: those
// of key k are order[bounds[k]:bounds[k+1]].
func (c *columns) order(keys int) (order []uint32, bounds []int) {
	bounds = make([]int, keys+1)
	for _, k := range c.key {
		bounds[k+1]++
	}
	for k := range keys {
		bounds[k+1] += bounds[k]
	}
	next := slices.Clone(bounds)
	order = make([]uint32, c.rows())
	for row, k := range c.key {
		order[next[k]] = uint32(row)
		next[k]++
	}
	for k := range keys {
		slices.SortFunc(order[bounds[k]:bounds[k+1]], func(a, b uint32) int {
			if d := bytes.Compare(c.txnID(a), c.txnID(b)); d != 0 {
				return d
			}
			return cmp.Or(cmp.Compare(c.revision[a], c.revision[b]), cmp.Compare(a, b))
		})
	}
	return order, bounds
}
