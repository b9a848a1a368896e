package intake

import (
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"amends.dev/amends/stages/ledger"
)

// Record is a transaction as it goes to the source topic.
type Record struct {
	// Key is the canonical key of the transaction's stock_key, nil where it has no readable one.
	Key []byte
	// Value are the transaction's bytes as sent.
	Value []byte
	// Partition is the source partition of the key.
	Partition int32
}

// keyMax bounds a record's key, in bytes. No configured stock key is near it; with the largest transaction, which holds the
// key's texts, it fits into a batch of a topic with Kafka's default limits.
const keyMax = 64 << 10

// NewRecord gives a transaction its record key and partition (S2). A stock_key that is not an object with two texts, or
// whose key has more than keyMax bytes, gives the null key, in the partition of the empty key: such a record is rejected by
// the worker, as key_mismatch at the latest, and is kept in quarantine.
func NewRecord(transaction []byte, partitions int32) Record {
	key := brokerKey(transaction)
	if len(key) > keyMax {
		key = nil
	}
	return Record{Key: key, Value: transaction, Partition: ledger.PartitionOf(key, partitions)}
}

// brokerKey is the record key of a transaction, nil where it cannot be told.
func brokerKey(transaction []byte) []byte {
	var item, location string
	have := 0
	err := object(transaction, func(name string, value jsontext.Value) error {
		if name != "stock_key" {
			return nil
		}
		return object(value, func(name string, value jsontext.Value) error {
			switch name {
			case "item":
				have++
				return stringMember(value, name, &item)
			case "location":
				have++
				return stringMember(value, name, &location)
			}
			return nil
		})
	})
	if err != nil || have != 2 || !utf8.ValidString(item) || !utf8.ValidString(location) {
		return nil
	}
	return ledger.BrokerKey(item, location)
}

// decimal is a partition as text.
func decimal(n int32) string { return strconv.FormatInt(int64(n), 10) }
