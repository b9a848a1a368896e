// Package decode is the oracle's own strict decoder of source records (S3, design section 3, R05). One pass over the
// bytes collects facts about the whole record; the first applicable reason is then picked from the facts. It shares no
// code with the worker's decoder and none with the reference engine's. It is pure.
package decode

import (
	"bytes"

	"amends.dev/amends/manifests"
)

// Kind is what a transaction asserts at its revision (S3).
type Kind uint8

// The kinds. NEW and AMEND behave alike but are distinct canonical payloads.
const (
	KindNew    Kind = 1
	KindAmend  Kind = 2
	KindCancel Kind = 3
)

// String returns the kind as records spell it.
func (k Kind) String() string {
	switch k {
	case KindNew:
		return "NEW"
	case KindAmend:
		return "AMEND"
	case KindCancel:
		return "CANCEL"
	}
	return ""
}

// ParseKind returns the kind that is spelled s exactly, and whether there is one.
func ParseKind(s string) (Kind, bool) {
	switch s {
	case "NEW":
		return KindNew, true
	case "AMEND":
		return KindAmend, true
	case "CANCEL":
		return KindCancel, true
	}
	return 0, false
}

// Transaction is one accepted record (S3).
type Transaction struct {
	// Key is the index of the stock key in the namespace's sorted StockKeys.
	Key int32
	// Kind is KindNew, KindAmend or KindCancel.
	Kind Kind
	// TxnID is 1-256 bytes of UTF-8 without U+0000. It may alias the decoded value.
	TxnID []byte
	// Revision is 1..MaxInt64.
	Revision int64
	// ValidTime and SourceTime are nanoseconds since the Unix epoch.
	ValidTime, SourceTime int64
	// Qty is the signed movement; 0 for a KindCancel.
	Qty int64
}

// Decoder judges the records of one namespace. It does not change after construction and is safe for concurrent use.
type Decoder struct {
	maxBytes int64
	origin   int64
	keys     map[string]map[string]int32
	routes   []route
	index    index // of routes
}

// route is where the records of one stock key belong.
type route struct {
	brokerKey []byte
	partition int32
	itemEnd   int32 // of the item in the broker key, with its quotes
}

// maxTxnIDBytes bounds a transaction ID (design section 3).
const maxTxnIDBytes = 256

// New prepares a decoder for a namespace.
func New(ns *manifests.Namespace) *Decoder {
	d := &Decoder{
		maxBytes: ns.Spec.Source.MaxRecordBytes,
		origin:   ns.Spec.LedgerOrigin,
		keys:     make(map[string]map[string]int32),
		routes:   make([]route, len(ns.Spec.StockKeys)),
	}
	for i, k := range ns.Spec.StockKeys {
		locations := d.keys[k.Item]
		if locations == nil {
			locations = make(map[string]int32)
			d.keys[k.Item] = locations
		}
		locations[k.Location] = int32(i)
		brokerKey := BrokerKey(k.Item, k.Location)
		d.routes[i] = route{brokerKey, Partition(brokerKey, ns.Spec.Source.Partitions), int32(len(appendQuoted([]byte("["), k.Item)))}
	}
	d.index = newIndex(d.routes)
	return d
}

// Key returns the index of a configured stock key in the namespace's StockKeys.
func (d *Decoder) Key(item, location string) (int32, bool) {
	key, ok := d.keys[item][location]
	return key, ok
}

// Decode judges one record: partition and raw key and value as the broker delivered them, nil for null. It returns the
// transaction and Accepted, or the first applicable reason.
func (d *Decoder) Decode(partition int32, key, value []byte) (Transaction, Reason) {
	if value == nil {
		return Transaction{}, NullValue
	}
	if int64(len(value)) > d.maxBytes {
		return Transaction{}, OversizedRecord
	}
	if tx, ok := d.usual(key, value); ok && d.place(&tx, partition, key) == Accepted {
		return tx, Accepted
	}
	return d.scanned(partition, key, value)
}

// scanned judges a record of any layout.
func (d *Decoder) scanned(partition int32, key, value []byte) (Transaction, Reason) {
	f, ok := collect(value)
	if !ok {
		return Transaction{}, InvalidJSON
	}
	if reason := f.shape(); reason != Accepted {
		return Transaction{}, reason
	}
	tx, reason := d.members(&f)
	if reason != Accepted {
		return Transaction{}, reason
	}
	if reason := d.place(&tx, partition, key); reason != Accepted {
		return Transaction{}, reason
	}
	return tx, Accepted
}

// place judges where a transaction is: in time, and on the broker.
func (d *Decoder) place(tx *Transaction, partition int32, key []byte) Reason {
	at := &d.routes[tx.Key]
	switch {
	case tx.ValidTime < d.origin:
		return BeforeLedgerOrigin
	case !bytes.Equal(key, at.brokerKey):
		return KeyMismatch
	case partition != at.partition:
		return MisroutedPartition
	}
	return Accepted
}

// members judges the values of a record whose shape is right, from invalid_txn_id to unknown_stock_key.
func (d *Decoder) members(f *facts) (Transaction, Reason) {
	var tx Transaction
	var fits bool
	tx.TxnID = f.text(f.root[slotTxnID])
	if n := len(tx.TxnID); n == 0 || n > maxTxnIDBytes || bytes.IndexByte(tx.TxnID, 0) >= 0 {
		return tx, InvalidTxnID
	}
	if tx.Revision, fits = integer(f.raw(f.root[slotRevision])); !fits || tx.Revision < 1 {
		return tx, RevisionOutOfRange
	}
	if tx.Kind, fits = ParseKind(string(f.text(f.root[slotKind]))); !fits {
		return tx, InvalidKind
	}
	if tx.Qty, fits = integer(f.raw(f.root[slotQty])); !fits {
		return tx, QtyOutOfRange
	}
	if tx.Kind == KindCancel && tx.Qty != 0 {
		return tx, CancelNonzeroQty
	}
	if tx.ValidTime, fits = Instant(f.text(f.root[slotValidTime])); !fits {
		return tx, InvalidValidTime
	}
	if tx.SourceTime, fits = Instant(f.text(f.root[slotSourceTime])); !fits {
		return tx, InvalidSourceTime
	}
	item, location := f.text(f.stock[slotItem]), f.text(f.stock[slotLocation])
	if tx.Key, fits = d.keys[string(item)][string(location)]; !fits {
		return tx, UnknownStockKey
	}
	return tx, Accepted
}
