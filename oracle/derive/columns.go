package derive

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

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
	// Transaction ID i is text[ends[i-1]:ends[i]]: a million small strings would cost more than the text.
	text    string
	ends    []int
	builder strings.Builder // of text
}

func (c *columns) rows() int { return len(c.key) }

// txnID returns the transaction ID of a row; it shares the columns' memory.
func (c *columns) txnID(row uint32) string {
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
	_, _ = c.builder.Write(tx.TxnID) // it never fails
	c.ends = append(c.ends, c.builder.Len())
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
	c.text = c.builder.String()
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
	var places []place
	for k := range keys {
		places = c.sort(order[bounds[k]:bounds[k+1]], places)
	}
	return order, bounds
}

// place is a row with the beginning of its transaction ID, behind what all rows sorted with it have in common: most pairs
// differ there, and are told apart without a look at the text.
type place struct {
	head uint64
	row  uint32
}

// sort sorts rows of one key by transaction ID bytes, revision and offset. It uses the memory given, and returns it.
func (c *columns) sort(rows []uint32, places []place) []place {
	common := c.common(rows)
	places = places[:0]
	for _, row := range rows {
		places = append(places, place{head(c.txnID(row)[common:]), row})
	}
	slices.SortFunc(places, func(a, b place) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return cmp.Or(strings.Compare(c.txnID(a.row), c.txnID(b.row)), cmp.Compare(c.revision[a.row], c.revision[b.row]), cmp.Compare(a.row, b.row))
	})
	for i, p := range places {
		rows[i] = p.row
	}
	return places
}

// common is the length of what the transaction IDs of rows have in common.
func (c *columns) common(rows []uint32) int {
	if len(rows) == 0 {
		return 0
	}
	first := c.txnID(rows[0])
	for _, row := range rows[1:] {
		id, n := c.txnID(row), 0
		for n < min(len(first), len(id)) && first[n] == id[n] {
			n++
		}
		first = first[:n]
	}
	return len(first)
}

// head is the first eight bytes of a text as a number that compares like them; a shorter text is filled up with zeros, which
// no transaction ID contains.
func head(text string) uint64 {
	var b [8]byte
	copy(b[:], text)
	return binary.BigEndian.Uint64(b[:])
}
