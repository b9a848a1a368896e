package conformance

import (
	"encoding/base64"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/ledger"
)

// raw reports whether the record's value is given as bytes.
func (r *Record) raw() bool { return r.Value != nil || r.ValueBase64 != "" }

// null reports whether the record's key is given as null.
func (r *Record) null() bool { return r.Key.Kind() == 'n' }

// transaction is the canonical member order of a source record; readers accept any.
type transaction struct {
	TxnID      string `json:"txn_id"`
	Revision   int64  `json:"revision"`
	Kind       string `json:"kind"`
	StockKey   key    `json:"stock_key"`
	ValidTime  string `json:"valid_time"`
	Qty        int64  `json:"qty"`
	SourceTime string `json:"source_time"`
}

type key struct {
	Item     string `json:"item"`
	Location string `json:"location"`
}

// message is the record as a producer sends it.
func (r *Record) message(ns *manifests.Namespace) (broker.Message, error) {
	var m broker.Message
	var err error
	switch {
	case r.KeyBase64 != "":
		m.Key, err = base64.StdEncoding.DecodeString(r.KeyBase64)
	case r.Key != nil:
		m.Key, err = text(r.Key)
	default:
		m.Key = ledger.BrokerKey(r.Item, r.Location)
	}
	if err != nil {
		return m, fmt.Errorf("key: %w", err)
	}
	switch {
	case r.ValueBase64 != "":
		m.Value, err = base64.StdEncoding.DecodeString(r.ValueBase64)
	case r.Value != nil:
		m.Value, err = text(r.Value)
	default:
		m.Value, err = json.Marshal(transaction{
			TxnID: r.Txn, Revision: r.Rev, Kind: r.Kind, StockKey: key{r.Item, r.Location}, ValidTime: r.Time, Qty: r.Qty, SourceTime: r.SourceTime,
		})
	}
	if err != nil {
		return m, fmt.Errorf("value: %w", err)
	}
	m.Partition = ledger.PartitionOf(m.Key, ns.Spec.Source.Partitions)
	if r.Partition != nil {
		m.Partition = *r.Partition
	}
	if m.Partition < 0 || m.Partition >= ns.Spec.Source.Partitions {
		return m, fmt.Errorf("there is no source partition %d", m.Partition)
	}
	return m, nil
}

// text is a raw key or value: nil for null, not nil for the empty string.
func text(value jsontext.Value) ([]byte, error) {
	if value.Kind() == 'n' {
		return nil, nil
	}
	if value.Kind() != '"' {
		return nil, fmt.Errorf("want a string or null, got %s", value)
	}
	unquoted, err := jsontext.AppendUnquote([]byte{}, value)
	if err != nil {
		return nil, err
	}
	return unquoted, nil
}

// messages renders records in order.
func messages(ns *manifests.Namespace, records []Record) ([]broker.Message, error) {
	all := make([]broker.Message, 0, len(records))
	for i := range records {
		m, err := records[i].message(ns)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", i+1, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// history is a source topic as records were appended to it, for levels that need no broker.
type history []broker.Record

// append adds messages at the next offset of their partitions.
func (s *history) append(all ...broker.Message) {
	for _, m := range all {
		next := int64(0)
		for _, r := range *s {
			if r.Partition == m.Partition {
				next = r.Offset + 1
			}
		}
		*s = append(*s, broker.Record{Partition: m.Partition, Offset: next, Key: m.Key, Value: m.Value})
	}
}

// history is every record that a variant produces, in order. Records of a hostile writer during a verification and
// after the source was recreated are left out: no complete verification sees them.
func (v *Variant) history(ns *manifests.Namespace) (history, error) {
	var s history
	for i, step := range v.Steps {
		if step.Recreate != "" {
			break
		}
		records := step.Produce
		if step.Verify != nil {
			records = step.Verify.During
		}
		all, err := messages(ns, records)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		s.append(all...)
	}
	return s, nil
}
