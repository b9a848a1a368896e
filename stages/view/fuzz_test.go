package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzParse feeds the envelope parser arbitrary bytes. What it accepts has one spelling: rendering the message that was
// read gives the input back, byte for byte, through another string encoder.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"cause":null,"namespace":"d","output_id":["d","key-status","A","L"],"payload":{"conflicts":[{"revision":1,"txn_id":"t\n\u001f"}],"item":"A","location":"L","status":"BLOCKED"},"schema_version":1,"source":{"offset":0,"partition":0,"topic_id":"x"},"type":"KeyStatusStated","version":1}`,
		`{"cause":{"revision":9223372036854775807,"txn_id":"t"},"namespace":"d","output_id":["d","alert","A","L","2026-01-31"],"payload":{"close":-9223372036854775808,"day":"2026-01-31","item":"A","location":"L","threshold":0},"schema_version":1,"source":{"offset":0,"partition":0,"topic_id":"x"},"type":"AlertRaised","version":1}`,
		`{"cause":null,"namespace":"d","output_id":["d","balance","A","L","2026-01-31"],"payload":null,"schema_version":1,"source":{"offset":0,"partition":0,"topic_id":"x"},"type":"BalanceRetracted","version":1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		m, err := readMessage(value)
		if err != nil {
			return
		}
		if got := render(m); got != string(value) {
			t.Fatalf("read %q\nand rendered %q", value, got)
		}
	})
}

func render(m message) string {
	cause := "null"
	if m.cause != nil {
		cause = fmt.Sprintf(`{"revision":%d,"txn_id":%s}`, m.cause.revision, quoted(m.cause.txnID))
	}
	id := []string{quoted(m.id.namespace), quoted(m.id.family), quoted(m.id.item), quoted(m.id.location)}
	if m.id.day != nil {
		id = append(id, quoted(m.id.day))
	}
	return fmt.Sprintf(`{"cause":%s,"namespace":%s,"output_id":[%s],"payload":%s,"schema_version":%d,`+
		`"source":{"offset":%d,"partition":%d,"topic_id":%s},"type":%s,"version":%d}`,
		cause, quoted(m.namespace), strings.Join(id, ","), renderPayload(m), m.schemaVersion,
		m.source.offset, m.source.partition, quoted(m.source.topicID), quoted(m.kind), m.version)
}

func renderPayload(m message) string {
	p := m.payload
	switch {
	case p == nil:
		return "null"
	case string(m.id.family) == "key-status":
		conflicts := make([]string, 0, len(p.conflicts))
		for _, c := range p.conflicts {
			conflicts = append(conflicts, fmt.Sprintf(`{"revision":%d,"txn_id":%s}`, c.revision, quoted(c.txnID)))
		}
		return fmt.Sprintf(`{"conflicts":[%s],"item":%s,"location":%s,"status":%s}`,
			strings.Join(conflicts, ","), quoted(p.item), quoted(p.location), quoted(p.status))
	}
	threshold := ""
	if string(m.id.family) == "alert" {
		threshold = fmt.Sprintf(`,"threshold":%d`, p.threshold)
	}
	return fmt.Sprintf(`{"close":%d,"day":%s,"item":%s,"location":%s%s}`,
		p.close, quoted(p.day), quoted(p.item), quoted(p.location), threshold)
}

func quoted(text []byte) string {
	out, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

func BenchmarkReadMessage(b *testing.B) {
	value := []byte(`{"cause":{"revision":1,"txn_id":"t1"},"namespace":"demo","output_id":["demo","balance","widget","berlin","2026-01-31"],"payload":{"close":50,"day":"2026-01-31","item":"widget","location":"berlin"},"schema_version":1,"source":{"offset":0,"partition":0,"topic_id":"AAAAAAAAAAAAAAAAAAAAAA"},"type":"BalanceStated","version":1}`)
	b.SetBytes(int64(len(value)))
	for b.Loop() {
		if _, err := readMessage(value); err != nil {
			b.Fatal(err)
		}
	}
}
