package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"amends.dev/amends/stages/ledger"
)

// validTime decodes the base record with a valid time, in a namespace whose origin lies at the beginning of time.
func validTime(t *testing.T, text string) (int64, ledger.Reason) {
	t.Helper()
	cfg := ledger.NewConfig(namespace(-1<<63, keyA), topicID)
	tx, reason := cfg.Decode(record(member(t, "valid_time", `"`+text+`"`)))
	return tx.Payload.ValidTime, reason
}

func TestInstantForms(t *testing.T) {
	for text, want := range map[string]int64{
		"1970-01-01T00:00:00Z":                0,
		"1970-01-01T00:00:00.000000001Z":      1,
		"1970-01-01T00:00:00.1Z":              100_000_000,
		"1969-12-31T23:59:59.999999999Z":      -1,
		"1970-01-01T23:59:00+23:59":           0,
		"1969-12-31T00:01:00-23:59":           0,
		"1970-01-01T00:00:00-00:00":           0,
		"2024-02-29T12:00:00Z":                1709208000_000000000,
		"2000-02-29T00:00:00Z":                951782400_000000000,
		"2262-04-11T23:47:16.854775807Z":      1<<63 - 1,
		"1677-09-21T00:12:43.145224192Z":      -1 << 63,
		"1677-09-21T00:12:44.000000000Z":      -9223372036_000000000,
		"2262-04-12T23:46:16.854775807+23:59": 1<<63 - 1,
	} {
		if got, reason := validTime(t, text); reason != ledger.ReasonNone || got != want {
			t.Errorf("%s: want %d, got %d %s", text, want, got, reason)
		}
	}
	for _, text := range []string{
		"", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01t00:00:00Z", "2026-01-01T00:00:00z", "2026-01-01 00:00:00Z",
		"2026-1-01T00:00:00Z", "2026-01-01T0:00:00Z", "2026-01-01T00:00Z", "02026-01-01T00:00:00Z", "+2026-01-01T00:00:00Z",
		"2026-00-01T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z", "2026-02-29T00:00:00Z",
		"1900-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:00.Z",
		"2026-01-01T00:00:00,5Z", "2026-01-01T00:00:00+00", "2026-01-01T00:00:00+0000", "2026-01-01T00:00:00+0:000",
		"2026-01-01T00:00:00Z ", " 2026-01-01T00:00:00Z", "2026-01-01T00:00:00ZZ", "2026-01-01T00:00:00+00:00Z",
		"٢٠٢٦-01-01T00:00:00Z", "2026-01-01T00:00:0\u0660Z", "infinity", "now", "2026-01-01T00:00:00 +00:00",
		"2262-04-11T23:47:16.854775808Z", "1677-09-21T00:12:43.145224191Z", "1677-09-21T00:12:42.999999999Z",
		"2262-04-11T23:47:17Z", "-026-01-01T00:00:00Z", "2026-01-01T00:00:00.5", "2026-01-01T00:00:00\u2212 00:00",
	} {
		if _, reason := validTime(t, text); reason != ledger.ReasonInvalidValidTime {
			t.Errorf("%q: want a rejection, got %q", text, reason)
		}
	}
	wantReason(t, config(keyA), member(t, "source_time", `"2026-01-01T00:00:00"`), ledger.ReasonInvalidSourceTime)
}

func TestB050B077LeapSecondsAndMidnight(t *testing.T) {
	for _, text := range []string{"2016-12-31T23:59:60Z", "1998-12-31T15:59:60.123-08:00", "2026-01-01T24:00:00Z", "infinity"} {
		if _, reason := validTime(t, text); reason != ledger.ReasonInvalidValidTime {
			t.Errorf("%s: got %q", text, reason)
		}
	}
}

func TestB078Offsets(t *testing.T) {
	for _, offset := range []string{"+24:00", "+24:01", "+00:60", "-24:00", "+99:99"} {
		if _, reason := validTime(t, "2026-01-01T00:00:00"+offset); reason != ledger.ReasonInvalidValidTime {
			t.Errorf("%s: got %q", offset, reason)
		}
	}
	for _, offset := range []string{"+23:59", "-23:59"} {
		if _, reason := validTime(t, "2026-01-02T00:00:00"+offset); reason != ledger.ReasonNone {
			t.Errorf("%s: got %q", offset, reason)
		}
	}
}

func TestB080Years(t *testing.T) {
	for _, text := range []string{"9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59", "0000-02-29T00:00:00Z", "0001-01-01T00:00:00Z"} {
		if _, reason := validTime(t, text); reason != ledger.ReasonInvalidValidTime {
			t.Errorf("%s: got %q", text, reason)
		}
	}
}

func TestB081Days(t *testing.T) {
	for text, want := range map[string]string{
		"1969-12-31T23:59:59.5Z": "1969-12-31", "1969-12-31T00:00:00Z": "1969-12-31", "1960-02-11T00:00:00.001Z": "1960-02-11",
		"1970-01-01T00:00:00Z": "1970-01-01", "2026-01-01T00:30:00+01:00": "2025-12-31", "1677-09-21T00:12:43.145224192Z": "1677-09-21",
		"2262-04-11T23:47:16.854775807Z": "2262-04-11", "2021-03-21T23:59:59.9999999Z": "2021-03-21",
	} {
		instant, reason := validTime(t, text)
		if got := ledger.FormatDay(ledger.DayOf(instant)); reason != ledger.ReasonNone || got != want {
			t.Errorf("%s: want %s, got %s %s", text, want, got, reason)
		}
	}
}

func TestB083FractionDigits(t *testing.T) {
	for _, fraction := range []string{"1234567891", "1234567892", "999999999999999"} {
		if _, reason := validTime(t, "2026-01-01T23:59:59."+fraction+"Z"); reason != ledger.ReasonInvalidValidTime {
			t.Errorf("%s: got %q", fraction, reason)
		}
	}
	if _, reason := validTime(t, "2026-01-01T23:59:59.999999999Z"); reason != ledger.ReasonNone {
		t.Errorf("undamaged twin: %s", reason)
	}
}

// TestInstantAgainstTime compares with package time, which accepts a superset and whose int64 range is the same.
func TestInstantAgainstTime(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		instant := rapid.Int64().Draw(r, "instant")
		zone := time.FixedZone("", 60*rapid.IntRange(-1439, 1439).Draw(r, "offset"))
		text := time.Unix(0, instant).In(zone).Format("2006-01-02T15:04:05.999999999Z07:00")
		got, reason := validTime(t, text)
		if reason != ledger.ReasonNone || got != instant {
			r.Fatalf("%s: want %d, got %d %s", text, instant, got, reason)
		}
		day := time.Unix(0, instant).UTC()
		if want := day.Format(time.DateOnly); ledger.FormatDay(ledger.DayOf(instant)) != want {
			r.Fatalf("%s: want day %s", text, want)
		}
		broken := fmt.Sprintf("%04d-%02d-%02dT00:00:00Z", rapid.IntRange(1678, 2261).Draw(r, "y"),
			rapid.IntRange(0, 13).Draw(r, "m"), rapid.IntRange(0, 32).Draw(r, "d"))
		parsed, err := time.Parse(time.RFC3339, broken)
		got, reason = validTime(t, broken)
		if (err == nil) != (reason == ledger.ReasonNone) || err == nil && parsed.UnixNano() != got {
			r.Fatalf("%s: package time says %v, got %q", broken, err, reason)
		}
	})
}
