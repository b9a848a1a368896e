package derive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"strings"

	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/vectorized/derived"
)

// row is an accepted record of one key.
type row struct {
	offset, revision, validTime, qty int64
	// end is where its transaction ID ends in the key's text; it begins where that of the row before ends.
	end  int
	kind decode.Kind
}

// keyRows are the accepted records of one key, in offset order. What is known of a key lies together: its records stand all
// over a partition, and looking for them there costs more than all that is done with them.
type keyRows struct {
	key  int32
	rows []row
	text strings.Builder
}

// txnID returns the transaction ID of a row; it shares the key's memory.
func (k *keyRows) txnID(i uint32) string {
	start := 0
	if i > 0 {
		start = k.rows[i-1].end
	}
	return k.text.String()[start:k.rows[i].end]
}

// samePayload reports whether two rows of one identity and revision are exact duplicates (S3).
func (k *keyRows) samePayload(a, b uint32) bool { return k.payload(a) == k.payload(b) }

func (k *keyRows) payload(i uint32) payload {
	r := &k.rows[i]
	return payload{r.kind, r.validTime, r.qty}
}

// history is what one partition's accepted records are, by key.
type history struct {
	// places has, for each stock key, 0 or one more than its index in keys.
	places   []int32
	keys     []*keyRows
	accepted int64
}

func (h *history) add(tx *decode.Transaction, offset int64) {
	place := h.places[tx.Key]
	if place == 0 {
		h.keys = append(h.keys, &keyRows{key: tx.Key})
		place = int32(len(h.keys))
		h.places[tx.Key] = place
	}
	k := h.keys[place-1]
	_, _ = k.text.Write(tx.TxnID) // it never fails
	k.rows = append(k.rows, row{offset, tx.Revision, tx.ValidTime, tx.Qty, k.text.Len(), tx.Kind})
	h.accepted++
}

// gather decodes a history: accepted records are kept, rejected ones are written at once.
func gather(ctx context.Context, decoder *decode.Decoder, records engine.History, partition int32, keys int, files *derived.Partition) (*history, error) {
	h, next := &history{places: make([]int32, keys)}, int64(0)
	for r, err := range records(ctx) {
		if err != nil {
			return nil, err
		}
		if r.Partition != partition || r.Offset < next || h.accepted == math.MaxUint32 {
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
