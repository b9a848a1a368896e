package oracletest

import (
	"fmt"
	"strings"
	"testing"

	"amends.dev/amends/manifests"
)

// Judge decodes one record and returns the reason of its rejection, empty where it was accepted.
type Judge func(partition int32, key, value []byte) string

// RecordNamespace is the configuration that the hostile records are judged under: one partition, so that no reason but
// misrouted_partition depends on the mapping, and a ledger origin in 1960.
func RecordNamespace(t *testing.T) *manifests.Namespace {
	t.Helper()
	return Namespace(t, "records.yaml", []byte(`
apiVersion: amends.dev/v1
kind: Namespace
metadata: {name: records}
spec:
  ledgerOrigin: "1960-01-01T00:00:00Z"
  source: {topic: t.transactions, partitions: 1, maxRecordBytes: 4096}
  output: {topic: t.outputs, partitions: 1}
  stockKeys:
    - {item: widget, location: berlin, openingBalance: 0, reorderThreshold: 0}
    - {item: "<b>&\u2028\"\\\b\t\n\f\r\u0001\u001f\u007f", location: "é", openingBalance: 0, reorderThreshold: 0}
`))
}

// good is a record without fault; hostile ones are made from it by replacing a part of its text.
const (
	good = `{"txn_id":"t1","revision":1,"kind":"NEW","stock_key":{"item":"widget","location":"berlin"},` +
		`"valid_time":"2026-01-01T00:00:00Z","qty":-5,"source_time":"2026-01-01T00:00:00Z"}`
	goodKey = `["widget","berlin"]`
)

// hostile is one record made from good: old replaced by new, under the right key unless another is given.
type hostile struct {
	row      string // of the pitfalls or the ruling it is taken from
	old, new string
	key      []byte
	reason   string
}

// Hostile judges every hostile record, and first the good one they are made from.
func Hostile(t *testing.T, judge Judge) {
	t.Helper()
	if reason := judge(0, []byte(goodKey), []byte(good)); reason != "" {
		t.Fatalf("the undamaged record is rejected: %s", reason)
	}
	for _, h := range hostileRecords() {
		value := strings.Replace(good, h.old, h.new, 1)
		if value == good {
			t.Fatalf("%s: %q is no part of the record", h.row, h.old)
		}
		key := []byte(goodKey)
		if h.key != nil {
			key = h.key
		}
		if reason := judge(0, key, []byte(value)); reason != h.reason {
			t.Errorf("%s: %s → %.120q: reason %q, want %q", h.row, h.old, h.new, reason, h.reason)
		}
	}
}

// hostileRecords is the table of all hostile records.
func hostileRecords() []hostile {
	all := append(jsonRecords(), memberRecords()...)
	for _, text := range badTimes {
		all = append(all,
			hostile{"B050 B077 B078 B080 B083 valid_time", `"valid_time":"2026-01-01T00:00:00Z"`, `"valid_time":"` + text + `"`, nil, "invalid_valid_time"},
			hostile{"B050 B077 B078 B080 B083 source_time", `"source_time":"2026-01-01T00:00:00Z"`, `"source_time":"` + text + `"`, nil, "invalid_source_time"})
	}
	for _, text := range goodTimes {
		all = append(all,
			hostile{"good valid_time", `"valid_time":"2026-01-01T00:00:00Z"`, `"valid_time":"` + text + `"`, nil, ""},
			hostile{"good source_time", `"source_time":"2026-01-01T00:00:00Z"`, `"source_time":"` + text + `"`, nil, ""})
	}
	return all
}

// badTimes are texts that some parser takes for a time and the rule does not.
var badTimes = []string{
	"", "infinity", "now", "2026-01-01", "2026-01-01T00:00Z", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z",
	"2026-01-01T24:00:00Z", "2016-12-31T23:59:60Z", "1998-12-31T15:59:60.123-08:00", "2026-01-01T00:60:00Z",
	"2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+24:01", "2026-01-01T00:00:00+00:60", "2026-01-01T00:00:00-24:00",
	"2026-01-01T00:00:00+0100", "2026-01-01T00:00:00+01", "2026-01-01T00:00:00+1:00", "2026-01-01T00:00:00 +01:00",
	"2026-01-01T00:00:00.1234567891Z", "2026-01-01T23:59:59.999999999999999Z", "2026-01-01T00:00:00.Z",
	"2026-01-01T00:00:00,5Z", "2026-01-01t00:00:00Z", "2026-01-01T00:00:00z", "2026-1-01T00:00:00Z",
	"2026-01-01T0:00:00Z", "2026-01-01T00:00:0Z", "2026-01-01T1:02:03Z", "02026-01-01T00:00:00Z", "26-01-01T00:00:00Z",
	"-2026-01-01T00:00:00Z", "+2026-01-01T00:00:00Z", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-02-30T00:00:00Z",
	"2026-04-31T00:00:00Z", "2026-00-01T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z",
	"9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59", "0001-01-01T00:00:00Z",
	"2262-04-11T23:47:16.854775808Z", "1677-09-21T00:12:43.145224191Z", "1677-09-20T23:59:59+23:59", "2262-04-11T23:47:16.9-00:00",
	"２０２６-01-01T00:00:00Z", "2026-01-01T00:00:00Z\\n", " 2026-01-01T00:00:00Z", "2026-01-01T00:00:00ZZ", "2026-01-01T00:00:00Z\\u0000",
	"2026-01-01T00:00:00−01:00", "2026/01/01T00:00:00Z", "2026-01-01T00:00:00+01:00:00", "2026-01-01T00:00:00+:00",
}

// goodTimes lie behind the ledger origin of RecordNamespace.
var goodTimes = []string{
	"1960-01-01T00:00:00Z", "1960-01-01T23:59:00+23:59", "1960-02-29T00:00:00Z", "2000-02-29T00:00:00.000000001Z",
	"2026-01-01T00:00:00-23:59", "2026-01-02T00:00:00+23:59", "2026-01-01T00:00:00-00:00", "2026-01-01T23:59:59.999999999Z",
	"1969-12-31T23:59:59.5Z", "2262-04-11T23:47:16.854775807Z", "2262-04-12T23:46:16.854775807+23:59", "2026-01-01T00:00:00.1Z",
	"\\u0032026-01-01T00:00:00Z",
}

// jsonRecords are faults of syntax, names and types.
func jsonRecords() []hostile {
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	fault := func(row, old, replacement, reason string) hostile { return hostile{row, old, replacement, nil, reason} }
	return []hostile{
		fault("R05 empty", good, "", "invalid_json"),
		fault("R05 white space", good, " \t\r\n", "invalid_json"),
		fault("R05 null text", good, "null", "wrong_type"),
		fault("R05 array", good, "[]", "wrong_type"),
		fault("R05 string", good, `"x"`, "wrong_type"),
		fault("R05 number", good, "-1.5e-7", "wrong_type"),
		fault("R05 BOM", good, "\xef\xbb\xbf"+good, "invalid_json"),
		fault("R05 trailing data", good, good+"{}", "invalid_json"),
		fault("R05 trailing space", good, good+" \n", ""),
		fault("R05 form feed", good, good+"\f", "invalid_json"),
		fault("R05 syntax beats unknown", good, `{"extra":1,`+good[1:len(good)-1], "invalid_json"),
		fault("R05 duplicate beats unknown", `"qty":-5`, `"qty":-5,"qty":-5,"extra":1`, "duplicate_field"),
		fault("R05 duplicate beats wrong type", good, `[{"a":1,"a":2}]`, "duplicate_field"),
		fault("R05 unknown beats missing", `"qty":-5`, `"qyt":-5`, "unknown_field"),
		fault("R05 missing beats type", `"revision":1,"kind":"NEW"`, `"revision":null`, "missing_field"),
		fault("R05 type beats value", `"txn_id":"t1","revision":1`, `"txn_id":"","revision":"1"`, "wrong_type"),
		fault("R05 missing comma", `"revision":1,`, `"revision":1`, "invalid_json"),
		fault("R05 trailing comma", `-01T00:00:00Z"}`, `-01T00:00:00Z",}`, "invalid_json"),
		fault("R05 single quotes", `"kind"`, `'kind'`, "invalid_json"),
		fault("R05 comment", `"kind"`, `/**/"kind"`, "invalid_json"),
		fault("R05 control character", `"t1"`, "\"t\n1\"", "invalid_json"),
		fault("R05 unknown escape", `"t1"`, `"t\x31"`, "invalid_json"),
		fault("R05 short escape", `"t1"`, `"t\u031"`, "invalid_json"),
		fault("R05 depth 64", `"qty":-5`, `"extra":`+nested(63)+`,"qty":-5`, "unknown_field"),
		fault("R05 depth 65", `"qty":-5`, `"extra":`+nested(64)+`,"qty":-5`, "invalid_json"),
		fault("R05 unclosed", good, strings.Repeat("[", 3000), "invalid_json"),
		fault("R05 literal", `"qty":-5`, `"qty":nul`, "invalid_json"),
		fault("R05 brackets in strings", `"t1"`, `"`+strings.Repeat("[{", 100)+`\"]"`, ""),
		fault("B065 qty twice", `"qty":-5`, `"qty":-5,"qty":-50`, "duplicate_field"),
		fault("B065 revision twice", `"revision":1`, `"revision":1,"revision":1`, "duplicate_field"),
		fault("B065 stock_key twice", `"qty":-5`, `"stock_key":{"item":"widget","location":"berlin"},"qty":-5`, "duplicate_field"),
		fault("B065 item twice", `"item":"widget"`, `"item":"widget","item":"widget"`, "duplicate_field"),
		fault("B065 after unescaping", `"qty":-5`, `"qty":-5,"\u0071ty":-50`, "duplicate_field"),
		fault("B065 deep", `"qty":-5`, `"extra":[{"a":{"b":1,"\u0062":2}}],"qty":-5`, "duplicate_field"),
		fault("B065 many names", `"qty":-5`, `"extra":{`+manyNames(30)+`,"n17":0},"qty":-5`, "duplicate_field"),
		fault("B073 many distinct names", `"qty":-5`, `"extra":{`+manyNames(30)+`},"qty":-5`, "unknown_field"),
		fault("B065 same name at other depths", `"qty":-5`, `"extra":{"qty":{"qty":1},"item":2},"qty":-5`, "unknown_field"),
		fault("B066 other case beside", `"qty":-5`, `"qty":-5,"Qty":-50`, "unknown_field"),
		fault("B066 other case alone", `"qty"`, `"QTY"`, "unknown_field"),
		fault("B066 kelvin sign", `"kind"`, "\"\u212aind\"", "unknown_field"),
		fault("B070 qty null", `"qty":-5`, `"qty":null`, "wrong_type"),
		fault("B070 valid_time null", `"valid_time":"2026-01-01T00:00:00Z"`, `"valid_time":null`, "wrong_type"),
		fault("B070 revision missing", `"revision":1,`, "", "missing_field"),
		fault("B070 kind null", `"NEW"`, "null", "wrong_type"),
		fault("B070 stock_key empty", `{"item":"widget","location":"berlin"}`, "{}", "missing_field"),
		fault("B070 stock_key null", `{"item":"widget","location":"berlin"}`, "null", "wrong_type"),
		fault("B070 stock_key array", `{"item":"widget","location":"berlin"}`, `["widget","berlin"]`, "wrong_type"),
		fault("B070 item null", `"item":"widget"`, `"item":null`, "wrong_type"),
		fault("B071 lone high", `"t1"`, `"\ud800"`, "invalid_json"),
		fault("B071 lone high 2", `"t1"`, `"\ud801x"`, "invalid_json"),
		fault("B071 lone low", `"t1"`, `"\udc00"`, "invalid_json"),
		fault("B071 reversed", `"t1"`, `"\udc00\ud800"`, "invalid_json"),
		fault("B071 high and high", `"t1"`, `"\ud800\ud800\udc00"`, "invalid_json"),
		fault("B071 high and text", `"t1"`, `"\ud800\\udc00"`, "invalid_json"),
		fault("B071 pair", `"t1"`, `"\ud83d\ude00"`, ""),
		fault("B071 no escape", `"t1"`, `"\\ud800"`, ""),
		fault("B071 lone in a name", `"qty":-5`, `"qty":-5,"\ud800":1`, "invalid_json"),
		fault("B071 byte ff", `"t1"`, "\"\xff\"", "invalid_json"),
		fault("B071 byte fe", `"t1"`, "\"\xfe\"", "invalid_json"),
		fault("B071 encoded surrogate", `"t1"`, "\"\xed\xa0\x80\"", "invalid_json"),
		fault("B071 overlong", `"t1"`, "\"\xc0\xaf\"", "invalid_json"),
		fault("B073 extra", `"qty":-5`, `"qty":-5,"extra":1`, "unknown_field"),
		fault("B073 extra in stock_key", `"item":"widget"`, `"item":"widget","extra":1`, "unknown_field"),
		fault("B073 location missing", `,"location":"berlin"`, ``, "missing_field"),
	}
}

// manyNames are n distinct members.
func manyNames(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"n%d":%d`, i, i)
	}
	return strings.Join(members, ",")
}

// HostileValues are the values of all hostile records, the good one first: seeds for fuzzing.
func HostileValues() []string {
	values := []string{good}
	for _, h := range hostileRecords() {
		values = append(values, strings.Replace(good, h.old, h.new, 1))
	}
	return values
}
