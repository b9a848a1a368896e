package derive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"math"
	"strings"

	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/vectorized/derived"
)

// row is an accepted record.
type row struct {
	offset, revision, validTime, qty int64
	// The transaction ID is the text from at on.
	at   int64
	key  int32
	size uint16
	kind decode.Kind
}

// keyRows are the accepted records of one key, in offset order, copied out of the partition's: they stand all over it, and
// looking for them there over and over costs more than all that is done with them.
type keyRows struct {
	key  int32
	rows []row
	text string // of the partition
}

// txnID returns the transaction ID of a row; it shares the partition's memory.
func (k *keyRows) txnID(i uint32) string {
	r := &k.rows[i]
	return k.text[r.at:][:r.size]
}

// samePayload reports whether two rows of one identity and revision are exact duplicates (S3).
func (k *keyRows) samePayload(a, b uint32) bool { return k.payload(a) == k.payload(b) }

func (k *keyRows) payload(i uint32) payload {
	r := &k.rows[i]
	return payload{r.kind, r.validTime, r.qty}
}

// history is what one partition's accepted records are, in offset order.
type history struct {
	rows []row
	text strings.Builder // a million small strings would cost more than the text
}

func (h *history) add(tx *decode.Transaction, offset int64) {
	h.rows = append(h.rows, row{offset, tx.Revision, tx.ValidTime, tx.Qty, int64(h.text.Len()), tx.Key, uint16(len(tx.TxnID)), tx.Kind})
	_, _ = h.text.Write(tx.TxnID) // it never fails
}

// byKey yields the rows of one key after the other. What is yielded is valid until the next one.
func (h *history) byKey(keys int) iter.Seq[*keyRows] {
	return func(yield func(*keyRows) bool) {
		ends := make([]int, keys)
		for i := range h.rows {
			ends[h.rows[i].key]++
		}
		sum := 0
		for k, n := range ends {
			ends[k], sum = sum, sum+n
		}
		order := make([]uint32, len(h.rows))
		for i := range h.rows {
			end := &ends[h.rows[i].key]
			order[*end] = uint32(i)
			*end++
		}
		k := keyRows{text: h.text.String()}
		for key, start := 0, 0; key < keys; start, key = ends[key], key+1 {
			if ends[key] == start {
				continue
			}
			k.key, k.rows = int32(key), k.rows[:0]
			for _, i := range order[start:ends[key]] {
				k.rows = append(k.rows, h.rows[i])
			}
			if !yield(&k) {
				return
			}
		}
	}
}

// expectedMax bounds how many rows memory is taken for before they are there.
const expectedMax = 1 << 24

// gather decodes a history of at most end records: accepted ones are kept, rejected ones are written at once.
func gather(ctx context.Context, decoder *decode.Decoder, records engine.History, partition int32, end int64, files *derived.Partition) (*history, error) {
	h, next := &history{rows: make([]row, 0, min(max(end, 0), expectedMax))}, int64(0)
	for r, err := range records(ctx) {
		if err != nil {
			return nil, err
		}
		if r.Partition != partition || r.Offset < next || len(h.rows) == math.MaxUint32 {
			return nil, fmt.Errorf("%w: partition %d, offset %d after offset %d", ErrHistory, r.Partition, r.Offset, next-1)
		}
		next = r.Offset + 1
		tx, reason := decoder.Decode(r.Partition, r.Key, r.Value)
		if reason == decode.Accepted {
			h.add(&tx, r.Offset)
			continue
		}
		if err := files.Quarantine(rejected(&r, reason)); err != nil {
			return nil, err
		}
	}
	return h, ctx.Err()
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
