package view_test

import (
	"bytes"
	"strings"
	"testing"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/view/viewtest"
)

// record is how a message arrives.
func record(m broker.Message) broker.Record {
	return broker.Record{Partition: m.Partition, Offset: 1, Key: m.Key, Value: m.Value}
}

// TestFixtureSpansPartitions holds what viewtest.Namespace promises.
func TestFixtureSpansPartitions(t *testing.T) {
	namespace := viewtest.Namespace()
	for id, want := range []int32{1, 0, 1} {
		if got := viewtest.KeyOf(namespace, id).Status(1).Partition; got != want {
			t.Errorf("key %d maps to partition %d, want %d", id, got, want)
		}
	}
}

func TestParseAcceptsEveryMessage(t *testing.T) {
	namespace := viewtest.Namespace()
	config := view.NewConfig(namespace)
	for id := range namespace.Spec.StockKeys {
		key := viewtest.KeyOf(namespace, id)
		for _, m := range []broker.Message{
			key.Balance("2026-01-31", 1, -5), key.NoBalance("2026-01-31", 2),
			key.Alert("1969-12-31", 1, 5, 60), key.NoAlert("1969-12-31", 2),
			key.Status(1), key.Status(2, ledger.ConflictRef{TxnID: "t\n\"\u2028", Revision: 9}),
		} {
			envelope, trouble := config.Parse(record(m))
			if trouble != nil {
				t.Errorf("%s: %v", m.Value, trouble)
			} else if envelope.ID.KeyID != int32(id) {
				t.Errorf("%s: key %d, want %d", m.Value, envelope.ID.KeyID, id)
			}
		}
	}
}

// TestR18ParseRefuses damages one good envelope at a time. Each row's twin, before the damage, is accepted.
func TestR18ParseRefuses(t *testing.T) {
	namespace := viewtest.Namespace()
	config := view.NewConfig(namespace)
	key := viewtest.KeyOf(namespace, 1)
	balance, alert := key.Balance("2026-01-31", 3, 50), key.Alert("2026-01-31", 3, 50, 60)
	gone := key.NoBalance("2026-01-31", 4)
	blocked := key.Status(2, ledger.ConflictRef{TxnID: "t1", Revision: 1}, ledger.ConflictRef{TxnID: "t2", Revision: 1})
	for _, tc := range []struct {
		name     string
		twin     broker.Message
		old, new string
		want     view.Reason
	}{
		{"empty value", balance, string(balance.Value), "", view.ReasonUnreadable},
		{"other JSON", balance, string(balance.Value), "null", view.ReasonUnreadable},
		{"truncated", balance, `3}`, `3`, view.ReasonUnreadable},
		{"trailing data", balance, `3}`, `3} `, view.ReasonUnreadable},
		{"white space", balance, `{"cause"`, `{ "cause"`, view.ReasonUnreadable},
		{"member order", balance, `"close":50,"day":"2026-01-31"`, `"day":"2026-01-31","close":50`, view.ReasonUnreadable},
		{"unknown member", balance, `"version":3`, `"version":3,"x":1`, view.ReasonUnreadable},
		{"duplicate member", balance, `"close":50`, `"close":50,"close":50`, view.ReasonUnreadable},
		{"missing member", balance, `"close":50,`, ``, view.ReasonUnreadable},
		{"name in other case", balance, `"close"`, `"Close"`, view.ReasonUnreadable},
		{"fraction", balance, `"close":50`, `"close":50.0`, view.ReasonUnreadable},
		{"exponent", balance, `"close":50`, `"close":5e1`, view.ReasonUnreadable},
		{"leading zero", balance, `"close":50`, `"close":050`, view.ReasonUnreadable},
		{"negative zero", balance, `"close":50`, `"close":-0`, view.ReasonUnreadable},
		{"above int64", balance, `"close":50`, `"close":9223372036854775808`, view.ReasonUnreadable},
		{"below int64", balance, `"close":50`, `"close":-9223372036854775809`, view.ReasonUnreadable},
		{"far above uint64", balance, `"close":50`, `"close":99999999999999999999999`, view.ReasonUnreadable},
		{"quoted number", balance, `"close":50`, `"close":"50"`, view.ReasonUnreadable},
		{"null number", balance, `"close":50`, `"close":null`, view.ReasonUnreadable},
		{"escape of a plain letter", balance, `"demo","output_id"`, `"d\u0065mo","output_id"`, view.ReasonUnreadable},
		{"upper-case escape", blocked, `t1`, `t\u001F`, view.ReasonUnreadable},
		{"long form of a short escape", blocked, `t1`, `t\u000a`, view.ReasonUnreadable},
		{"escaped slash", blocked, `t1`, `t\/`, view.ReasonUnreadable},
		{"U+0000", blocked, `t1`, `t\u0000`, view.ReasonUnreadable},
		{"lone surrogate", blocked, `t1`, `t\ud800`, view.ReasonUnreadable},
		{"raw control character", blocked, `t1`, "t\n", view.ReasonUnreadable},
		{"broken UTF-8", blocked, `t1`, "t\xff", view.ReasonUnreadable},
		{"schema version", balance, `"schema_version":1`, `"schema_version":2`, view.ReasonSchemaVersion},
		{"namespace", balance, `"namespace":"demo"`, `"namespace":"other"`, view.ReasonForeign},
		{"namespace of the output ID", balance, `["demo"`, `["other"`, view.ReasonForeign},
		{"item of the output ID", balance, `"balance","A"`, `"balance","B"`, view.ReasonKeyMismatch},
		{"location of the payload", balance, `"location":"L"`, `"location":"M"`, view.ReasonKeyMismatch},
		{"day of the payload", balance, `"day":"2026-01-31"`, `"day":"2026-01-30"`, view.ReasonKeyMismatch},
		{"unknown type", balance, `BalanceStated`, `BalanceSet`, view.ReasonTypeMismatch},
		{"type of another family", balance, `BalanceStated`, `AlertRaised`, view.ReasonTypeMismatch},
		{"withdrawal with a payload", balance, `BalanceStated`, `BalanceRetracted`, view.ReasonTypeMismatch},
		{"statement without a payload", gone, `BalanceRetracted`, `BalanceStated`, view.ReasonTypeMismatch},
		{"status without a payload", gone, `"balance","A","L","2026-01-31"],"payload":null,"schema_version":1,"source":` +
			`{"offset":0,"partition":0,"topic_id":"AAAAAAAAAAAAAAAAAAAAAA"},"type":"BalanceRetracted"`,
			`"key-status","A","L"],"payload":null,"schema_version":1,"source":` +
				`{"offset":0,"partition":0,"topic_id":"AAAAAAAAAAAAAAAAAAAAAA"},"type":"KeyStatusStated"`, view.ReasonTypeMismatch},
		{"alert payload without threshold", alert, `,"threshold":60`, ``, view.ReasonUnreadable},
		{"balance payload with threshold", balance, `"location":"L"`, `"location":"L","threshold":60`, view.ReasonUnreadable},
		{"balance without a day", gone, `,"2026-01-31"]`, `]`, view.ReasonTypeMismatch},
		{"no such day", gone, `2026-01-31`, `2026-02-29`, view.ReasonInvalidValue},
		{"day with a short month", gone, `2026-01-31`, `2026-1-031`, view.ReasonInvalidValue},
		{"version 0", balance, `"version":3`, `"version":0`, view.ReasonInvalidValue},
		{"version below 0", balance, `"version":3`, `"version":-1`, view.ReasonInvalidValue},
		{"revision 0", balance, `"revision":1`, `"revision":0`, view.ReasonInvalidValue},
		{"source offset below 0", balance, `"offset":0`, `"offset":-1`, view.ReasonInvalidValue},
		{"unknown status", blocked, `"BLOCKED"`, `"HALTED"`, view.ReasonInvalidValue},
		{"READY with conflicts", blocked, `"BLOCKED"`, `"READY"`, view.ReasonInvalidValue},
		{"conflicts not sorted", blocked, `"txn_id":"t1"},{`, `"txn_id":"t3"},{`, view.ReasonInvalidValue},
		{"conflict repeated", blocked, `"txn_id":"t1"},{`, `"txn_id":"t2"},{`, view.ReasonInvalidValue},
	} {
		if _, trouble := config.Parse(record(tc.twin)); trouble != nil {
			t.Errorf("%s: the undamaged twin: %v", tc.name, trouble)
		}
		damaged := record(tc.twin)
		damaged.Value = []byte(strings.Replace(string(tc.twin.Value), tc.old, tc.new, 1))
		if tc.name == "conflict repeated" || tc.name == "conflicts not sorted" {
			// The cause names t1 too: damage the reason set, which stands behind it.
			at := bytes.Index(tc.twin.Value, []byte(`"conflicts"`))
			damaged.Value = append(tc.twin.Value[:at:at], strings.Replace(string(tc.twin.Value[at:]), tc.old, tc.new, 1)...)
		}
		if bytes.Equal(damaged.Value, tc.twin.Value) {
			t.Errorf("%s: the damage changed nothing", tc.name)
		}
		if _, trouble := config.Parse(damaged); trouble == nil || trouble.Reason != tc.want {
			t.Errorf("%s: %v, want %s\n%s", tc.name, trouble, tc.want, damaged.Value)
		}
	}
}

// TestR18ParseRefusesCoordinates damages key and partition of a good record.
func TestR18ParseRefusesCoordinates(t *testing.T) {
	namespace := viewtest.Namespace()
	config := view.NewConfig(namespace)
	good := record(viewtest.KeyOf(namespace, 1).Balance("2026-01-31", 1, 50))
	if _, trouble := config.Parse(good); trouble != nil {
		t.Fatalf("the undamaged twin: %v", trouble)
	}
	for _, tc := range []struct {
		name   string
		damage func(*broker.Record)
		want   view.Reason
	}{
		{"null key", func(r *broker.Record) { r.Key = nil }, view.ReasonUnknownKey},
		{"unknown key", func(r *broker.Record) { r.Key = []byte(`["Z","L"]`) }, view.ReasonUnknownKey},
		{"key not canonical", func(r *broker.Record) { r.Key = []byte(`["A", "L"]`) }, view.ReasonUnknownKey},
		{"key of another", func(r *broker.Record) { r.Key = []byte(viewtest.KeyOf(namespace, 0).BrokerKey()) }, view.ReasonKeyMismatch},
		{"B025 other partition", func(r *broker.Record) { r.Partition = 1 }, view.ReasonMisrouted},
		{"null value", func(r *broker.Record) { r.Value = nil }, view.ReasonUnreadable},
	} {
		damaged := good
		tc.damage(&damaged)
		if _, trouble := config.Parse(damaged); trouble == nil || trouble.Reason != tc.want {
			t.Errorf("%s: %v, want %s", tc.name, trouble, tc.want)
		}
	}
}
