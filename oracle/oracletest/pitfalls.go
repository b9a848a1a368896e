package oracletest

import (
	"fmt"
	"testing"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
)

// pitfall is a short history of one stock key and what is right for it.
type pitfall struct {
	row                string // of the pitfalls, with what it is about
	opening, threshold int64
	values             []string // records in order
	days               []string // "2026-01-01 -5", with " alert" behind it for a crossing
	status             string   // READY, BLOCKED or empty for none
	outOfDomain        []string
	reasons            []string
}

// record is a value of the one key; quantity is JSON text.
func record(txn string, revision any, kind, validTime, qty string) string {
	return fmt.Sprintf(`{"txn_id":"%s","revision":%v,"kind":"%s","stock_key":{"item":"i","location":"l"},"valid_time":"%s","qty":%s,"source_time":"2026-01-01T00:00:00Z"}`,
		txn, revision, kind, validTime, qty)
}

// pitfalls are the rows that an engine as a whole can get wrong.
func pitfalls() []pitfall {
	const day1, day2, day3 = "2026-01-01T00:00:00Z", "2026-01-02T12:00:00Z", "2026-01-03T23:59:59.999999999Z"
	return []pitfall{
		{row: "B046 NUL is not stripped", values: []string{record(`a\u0000b`, 1, "NEW", day1, "-5"), record("ab", 1, "NEW", day1, "3")},
			days: []string{"2026-01-01 3"}, status: "READY", reasons: []string{"invalid_txn_id"}},
		{row: "B048 nanoseconds keep their day", values: []string{record("a", 1, "NEW", "2021-03-21T23:59:59.9999999Z", "-5")},
			days: []string{"2021-03-21 -5 alert"}, status: "READY"},
		{row: "B050 shifted days", values: []string{record("a", 1, "NEW", "2026-01-01T24:00:00Z", "1"), record("a", 1, "NEW", "2016-12-31T23:59:60Z", "1"), record("a", 1, "NEW", "infinity", "1")},
			reasons: []string{"invalid_valid_time", "invalid_valid_time", "invalid_valid_time"}},
		{row: "B068 above 2^53", threshold: -1, values: []string{record("a", 1, "NEW", day1, "9007199254740993")}, days: []string{"2026-01-01 9007199254740993"}, status: "READY"},
		{row: "B068 conflict above 2^53", values: []string{record("a", 1, "NEW", day1, "9007199254740993"), record("a", 1, "NEW", day1, "9007199254740992")}, status: "BLOCKED"},
		{row: "B069 minus zero is zero", values: []string{record("a", 1, "NEW", day1, "-0"), record("a", 1, "NEW", day1, "0")}, days: []string{"2026-01-01 0"}, status: "READY"},
		{row: "B071 lone surrogates are no identity", values: []string{record(`\ud800`, 1, "NEW", day1, "1"), record(`\ud801`, 1, "NEW", day1, "2"), record("\xff", 1, "NEW", day1, "3"), record("\xfe", 1, "NEW", day1, "4")},
			reasons: []string{"invalid_json", "invalid_json", "invalid_json", "invalid_json"}},
		{row: "B081 before the epoch", values: []string{record("a", 1, "NEW", "1969-12-31T23:59:59.5Z", "1"), record("b", 1, "NEW", "1969-12-31T00:00:00Z", "1"), record("c", 1, "NEW", "1960-02-11T00:00:00.001Z", "1")},
			days: []string{"1960-02-11 1", "1969-12-31 3"}, status: "READY"},
		{row: "B083 more than nine digits", values: []string{record("a", 1, "NEW", "2026-01-01T00:00:00.1234567891Z", "1"), record("a", 1, "NEW", "2026-01-01T00:00:00.1234567892Z", "1")},
			reasons: []string{"invalid_valid_time", "invalid_valid_time"}},
		{row: "B085 overflow", opening: 9223372036854775800, values: []string{record("a", 1, "NEW", day1, "10")}, status: "READY", outOfDomain: []string{"2026-01-01 9223372036854775810"}},
		{row: "B085 later days of the key", opening: 9223372036854775800, values: []string{record("a", 1, "NEW", day1, "1"), record("b", 1, "NEW", day2, "10"), record("c", 1, "NEW", day3, "-20")},
			status: "READY", outOfDomain: []string{"2026-01-02 9223372036854775811"}},
		{row: "B087 MinInt64", threshold: -9223372036854775808, values: []string{record("a", 1, "NEW", day1, "-9223372036854775808")}, days: []string{"2026-01-01 -9223372036854775808"}, status: "READY"},
		{row: "B087 MinInt64 replaced", threshold: -9223372036854775808, values: []string{record("a", 1, "NEW", day1, "-9223372036854775808"), record("a", 2, "AMEND", day1, "0")}, days: []string{"2026-01-01 0"}, status: "READY"},
		{row: "B088 revisions at the limit", values: []string{record("a", "9223372036854775806", "NEW", day1, "1"), record("a", "9223372036854775807", "NEW", day1, "2"), record("a", "9223372036854775808", "NEW", day1, "3"),
			record("a", 0, "NEW", day1, "4"), record("a", -1, "NEW", day1, "5"), record("a", "1.5", "NEW", day1, "6")},
			days: []string{"2026-01-01 2"}, status: "READY", reasons: []string{"revision_out_of_range", "revision_out_of_range", "revision_out_of_range", "wrong_type"}},
		{row: "B089 backdated cancel", opening: 100, threshold: 85, values: []string{record("a", 1, "NEW", day1, "-50"), record("b", 1, "NEW", day2, "-20"), record("c", 1, "NEW", day3, "50"), record("a", 2, "CANCEL", day1, "0")},
			days: []string{"2026-01-02 80 alert", "2026-01-03 130"}, status: "READY"},
		{row: "B100 signs", values: []string{record("a", 1, "NEW", day1, "-5"), record("a", 2, "AMEND", day1, "5"), record("a", 3, "CANCEL", day1, "-5")},
			days: []string{"2026-01-01 5"}, status: "READY", reasons: []string{"cancel_nonzero_qty"}},
		{row: "R10 a CANCEL alone", values: []string{record("a", 1, "CANCEL", day1, "0")}, status: "READY"},
		{row: "R10 a rejected record alone", values: []string{record("", 1, "NEW", day1, "0")}, reasons: []string{"invalid_txn_id"}},
		{row: "S5 equality is not below", opening: 10, threshold: 5, values: []string{record("a", 1, "NEW", day1, "-5"), record("b", 1, "NEW", day2, "-1")}, days: []string{"2026-01-01 5", "2026-01-02 4 alert"}, status: "READY"},
	}
}

// RunPitfalls checks an engine against the rows of the pitfalls that concern it as a whole.
func RunPitfalls(t *testing.T, e engine.Engine) {
	for _, c := range pitfalls() {
		ns, err := manifests.New("pitfall", manifests.Spec{
			LedgerOrigin: -1 << 60,
			Source:       manifests.Source{Topic: "in", Partitions: 1},
			Output:       manifests.Output{Topic: "out", Partitions: 1},
			StockKeys:    []manifests.StockKey{{Item: "i", Location: "l", OpeningBalance: c.opening, ReorderThreshold: c.threshold}},
		})
		if err != nil {
			t.Fatal(err)
		}
		records := make([]engine.Record, len(c.values))
		for i, value := range c.values {
			records[i] = engine.Record{Offset: int64(i), Key: decode.BrokerKey("i", "l"), Value: []byte(value)}
		}
		if got, want := describe(Compute(t, e, ns, records)), c.want(); got != want {
			t.Errorf("%s: %s\nwant %s", c.row, got, want)
		}
	}
}

// want is what describe says of the right projection.
func (c pitfall) want() string {
	return fmt.Sprintf("%q %s %q %q", c.days, c.status, c.outOfDomain, c.reasons)
}

// describe is a projection of one key in the terms of a pitfall.
func describe(p *projection.Projection) string {
	var got pitfall
	for _, b := range p.Balances {
		line := fmt.Sprintf("%s %d", b.Day, b.Close)
		for _, a := range p.Alerts {
			if a.Day == b.Day && a.Close == b.Close {
				line += " alert"
			}
		}
		got.days = append(got.days, line)
	}
	for _, s := range p.Statuses {
		got.status += s.Status
	}
	for _, o := range p.OutOfDomain {
		got.outOfDomain = append(got.outOfDomain, o.Day+" "+o.Close)
	}
	for _, r := range p.Rejections {
		got.reasons = append(got.reasons, r.Reason)
	}
	return got.want()
}
