package viewtest

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/ledger"
)

// Key builds output messages of one stock key of one namespace. The zero Offset attributes them to source offset 0.
type Key struct {
	Namespace, Item, Location string
	// Partitions is the output topic's partition count.
	Partitions int32
	// Offset is the source offset that messages are attributed to.
	Offset int64
}

// Balance is BalanceStated of a day (2026-01-31).
func (k Key) Balance(day string, version, closing int64) broker.Message {
	payload := fmt.Sprintf(`{"close":%d,"day":%s,%s}`, closing, quote(day), k.members())
	return k.message("BalanceStated", "balance", day, version, payload)
}

// NoBalance is BalanceRetracted of a day.
func (k Key) NoBalance(day string, version int64) broker.Message {
	return k.message("BalanceRetracted", "balance", day, version, "null")
}

// Alert is AlertRaised of a day.
func (k Key) Alert(day string, version, closing, threshold int64) broker.Message {
	payload := fmt.Sprintf(`{"close":%d,"day":%s,%s,"threshold":%d}`, closing, quote(day), k.members(), threshold)
	return k.message("AlertRaised", "alert", day, version, payload)
}

// NoAlert is AlertRetracted of a day.
func (k Key) NoAlert(day string, version int64) broker.Message {
	return k.message("AlertRetracted", "alert", day, version, "null")
}

// Status is KeyStatusStated; without conflicts it says READY. Conflicts must be sorted.
func (k Key) Status(version int64, conflicts ...ledger.ConflictRef) broker.Message {
	status := "READY"
	entries := make([]string, 0, len(conflicts))
	for _, c := range conflicts {
		status = "BLOCKED"
		entries = append(entries, fmt.Sprintf(`{"revision":%d,"txn_id":%s}`, c.Revision, quote(c.TxnID)))
	}
	payload := fmt.Sprintf(`{"conflicts":[%s],%s,"status":"%s"}`, strings.Join(entries, ","), k.members(), status)
	return k.message("KeyStatusStated", "key-status", "", version, payload)
}

// BrokerKey is the record key of the stock key's messages.
func (k Key) BrokerKey() string { return "[" + quote(k.Item) + "," + quote(k.Location) + "]" }

func (k Key) members() string {
	return `"item":` + quote(k.Item) + `,"location":` + quote(k.Location)
}

func (k Key) message(kind, family, day string, version int64, payload string) broker.Message {
	id := []string{quote(k.Namespace), quote(family), quote(k.Item), quote(k.Location)}
	if day != "" {
		id = append(id, quote(day))
	}
	value := fmt.Sprintf(`{"cause":{"revision":1,"txn_id":"t1"},"namespace":%s,"output_id":[%s],"payload":%s,`+
		`"schema_version":1,"source":{"offset":%d,"partition":0,"topic_id":"AAAAAAAAAAAAAAAAAAAAAA"},"type":"%s","version":%d}`,
		quote(k.Namespace), strings.Join(id, ","), payload, k.Offset, kind, version)
	key := []byte(k.BrokerKey())
	return broker.Message{Partition: ledger.PartitionOf(key, k.Partitions), Key: key, Value: []byte(value)}
}

// quote renders a string as RFC 8785 does. The texts of tests are valid UTF-8.
func quote(text string) string {
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return `"invalid text in a test"`
	}
	return string(quoted)
}
