package relay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Receipt is where the broker put one envelope.
type Receipt struct {
	// Partition is the output partition.
	Partition int32
	Offset    int64
}

var errReceipts = errors.New("damaged receipts")

// AppendReceipts packs the receipts of a run of envelopes: for each, in sequence order, output partition and offset as
// unsigned varints (R19).
func AppendReceipts(dst []byte, receipts []Receipt) []byte {
	for _, r := range receipts {
		dst = binary.AppendUvarint(dst, uint64(r.Partition))
		dst = binary.AppendUvarint(dst, uint64(r.Offset))
	}
	return dst
}

// ParseReceipts unpacks exactly count receipts.
func ParseReceipts(packed []byte, count int) ([]Receipt, error) {
	if count < 0 || count > len(packed)/2 {
		return nil, fmt.Errorf("%w: %d receipts in %d bytes", errReceipts, count, len(packed))
	}
	receipts := make([]Receipt, 0, count)
	for range count {
		partition, n := binary.Uvarint(packed)
		if n <= 0 || partition > math.MaxInt32 {
			return nil, fmt.Errorf("%w: partition of receipt %d", errReceipts, len(receipts))
		}
		packed = packed[n:]
		offset, n := binary.Uvarint(packed)
		if n <= 0 || offset > math.MaxInt64 {
			return nil, fmt.Errorf("%w: offset of receipt %d", errReceipts, len(receipts))
		}
		packed = packed[n:]
		receipts = append(receipts, Receipt{Partition: int32(partition), Offset: int64(offset)})
	}
	if len(packed) > 0 {
		return nil, fmt.Errorf("%w: %d bytes left over", errReceipts, len(packed))
	}
	return receipts, nil
}
