package derive_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/vectorized/derived"
)

// written are transactions of one key, each as its ID, revision, instant and quantity.
type written []struct {
	id       string
	revision int64
	at       string
	qty      int64
}

// tables derives transactions in the order in which they are written, and returns authority and days.
func tables(t *testing.T, all written) (authority []derived.Authority, days []derived.Day) {
	t.Helper()
	ns, err := manifests.New("n", manifests.Spec{
		LedgerOrigin: time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(),
		Source:       manifests.Source{Topic: "in", Partitions: 1}, Output: manifests.Output{Topic: "out", Partitions: 1},
		StockKeys: []manifests.StockKey{{Item: "a", Location: "x", OpeningBalance: 100}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := oracletest.Case{Namespace: ns}
	for i, w := range all {
		kind := "NEW"
		if w.revision > 1 {
			kind = "AMEND"
		}
		c.Records = append(c.Records, engine.Record{Offset: int64(i), Key: []byte(`["a","x"]`), Value: fmt.Appendf(nil,
			`{"txn_id":%q,"revision":%d,"kind":%q,"stock_key":{"item":"a","location":"x"},"valid_time":%q,"qty":%d,"source_time":%q}`, w.id, w.revision, kind, w.at, w.qty, w.at)})
	}
	dir := filepath.Join(t.TempDir(), "set")
	if err := run(t.Context(), dir, c, history(c.Records)); err != nil {
		t.Fatal(err)
	}
	authority, err = parquet.ReadFile[derived.Authority](filepath.Join(dir, "authority-00000.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	days, err = parquet.ReadFile[derived.Day](filepath.Join(dir, "day-00000.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return authority, days
}

// TestOrderByWholeIdentity: transactions whose IDs are alike for longer than what is compared first are told apart, and each
// has one authority.
func TestOrderByWholeIdentity(t *testing.T) {
	const at = "2026-01-02T00:00:00Z"
	authority, _ := tables(t, written{{"x-same-beginning-2", 1, at, 1}, {"x-same-beginning-1", 2, at, 2}, {"x-same-beginning-1", 1, at, 3}, {"y", 1, at, 4}})
	var got []string
	for _, a := range authority {
		got = append(got, fmt.Sprint(a.TxnID, " ", a.Revision, " ", a.Qty))
	}
	if diff := cmp.Diff([]string{"x-same-beginning-1 2 2", "x-same-beginning-2 1 1", "y 1 4"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestCauseIsTheLastRecord: a close is attributed to the last record that bears on it, also where that is of an earlier day.
func TestCauseIsTheLastRecord(t *testing.T) {
	_, days := tables(t, written{{"a", 1, "2026-01-03T00:00:00Z", 1}, {"b", 1, "2026-01-05T00:00:00Z", 1}, {"c", 1, "2026-01-04T00:00:00Z", 1}})
	var got []string
	for _, d := range days {
		got = append(got, fmt.Sprint(d.CauseTxnID, d.CauseOffset))
	}
	if diff := cmp.Diff([]string{"a0", "c2", "c2"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestDaysBeforeTheEpoch: days before 1970 come first (B081).
func TestDaysBeforeTheEpoch(t *testing.T) {
	_, days := tables(t, written{{"a", 1, "1970-01-02T00:00:00Z", 1}, {"b", 1, "1969-12-31T23:59:59Z", 2}, {"c", 1, "1960-01-01T00:00:00Z", 4}})
	var got []string
	for _, d := range days {
		got = append(got, fmt.Sprint(d.Day, " ", d.Close))
	}
	if diff := cmp.Diff([]string{"-3653 104", "-1 106", "1 107"}, got); diff != "" {
		t.Error(diff)
	}
}
