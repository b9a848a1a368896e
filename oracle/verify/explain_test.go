package verify_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/oracle/explain"
	"amends.dev/amends/oracle/pgview"
	"amends.dev/amends/oracle/report"
)

// TestDriftIsExplained: a PASS explains nothing; a key that differs comes with the records behind the oracle's side, up to
// H, and a key that is BLOCKED with its payloads. Differences of keys without a name or a record have none.
func TestDriftIsExplained(t *testing.T) {
	w := newWorld(t)
	w.demo()
	if r := w.verify(report.Pass); len(r.Explanations) != 0 || r.NotExplained != "" {
		t.Fatalf("%+v", r.Explanations)
	}
	w.exec(`UPDATE ` + viewSchema + `.balance SET close = 71 WHERE key_id = 2 AND day = '2026-01-01'`)
	r := w.verify(report.Drift)
	if len(r.Explanations) != 1 || r.Explanations[0].Item != "widget" || len(r.Explanations[0].Days) != 3 || r.NotExplained != "" {
		t.Fatalf("%+v", r.Explanations)
	}
	first := r.Explanations[0].Days[0]
	if first.Close.Int64() != 70 || len(first.Contributions) != 1 || first.Contributions[0].Revision != 2 || first.Contributions[0].TxnID != "t1" {
		t.Errorf("%+v", first)
	}
	if got := text(t, r); !strings.Contains(got, "-30 by t1@2 at ") {
		t.Error(got)
	}
	w.exec(`INSERT INTO ` + viewSchema + `.balance VALUES (1, '2026-01-09', 5, 1, true, ''), (77, '2026-01-09', 5, 1, true, '')`)
	if r = w.verify(report.Drift); len(r.Explanations) != 2 || r.Explanations[0].Item != "nut" || r.Explanations[0].Status != "" {
		t.Errorf("%+v", r.Explanations)
	}
	w.options.Limit = 2 // two balances are listed: of the key without a name, and of the nut
	if r = w.verify(report.Drift); len(r.Explanations) != 1 {
		t.Errorf("%d explanations with a limit of 2", len(r.Explanations))
	}
	w.options.Limit = 0
	w.contest()
	w.exec(`UPDATE ` + viewSchema + `.key_status SET status = 'BLOCKED', conflict_txns = '{b1}', conflict_revisions = '{1}' WHERE key_id = 0`)
	if r = w.verify(report.Blocked); len(r.Explanations) != 3 {
		t.Fatalf("%d explanations", len(r.Explanations))
	}
	for _, k := range r.Explanations {
		if k.Item == "bolt" && (k.Status != explain.Blocked || len(k.Identities[0].Revisions[0].Payloads) != 2) {
			t.Errorf("%+v", k)
		}
	}
}

// TestKeep: a report is kept byte for byte under a number that it names, and listed; a role without the right gets the
// verdict all the same, and the report says that it was not kept.
func TestKeep(t *testing.T) {
	w := newWorld(t)
	w.demo()
	db := open(t, w.url)
	if all, err := db.Verifications(t.Context(), "", 0); err != nil || len(all) != 0 {
		t.Fatalf("%v, %v", all, err)
	}
	for n := int64(1); n <= 3; n++ {
		r := w.verify(report.Pass)
		if n == 2 {
			r.Namespace, r.Engine = "other", "a\u0000\u2028</b>"
		}
		db.Keep(t.Context(), r)
		if r.Kept != n || r.NotKept != "" {
			t.Fatalf("kept as %d, %q", r.Kept, r.NotKept)
		}
		var printed strings.Builder
		if err := report.JSON(&printed, r); err != nil {
			t.Fatal(err)
		}
		if stored, err := db.Verification(t.Context(), n); err != nil || string(stored) != printed.String() {
			t.Fatalf("%v\n%s\nwant\n%s", err, stored, printed.String())
		}
	}
	for _, c := range []struct {
		namespace string
		limit     int
		want      []int64
	}{{"", 0, []int64{1, 2, 3}}, {"", 2, []int64{2, 3}}, {"shop", 0, []int64{1, 3}}, {"shop", 1, []int64{3}}, {"none", 0, nil}} {
		all, err := db.Verifications(t.Context(), c.namespace, c.limit)
		var got []int64
		for _, v := range all {
			got = append(got, v.Number)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q, %d: %v, %v, want %v", c.namespace, c.limit, got, err, c.want)
		}
		for _, v := range all {
			if v.Status != "PASS" || v.Records == nil || *v.Records != 5 || v.Differences == nil || *v.Differences != 0 || v.ExitCode != 0 || !strings.HasSuffix(v.VerifiedAt, "Z") {
				t.Errorf("%+v", v)
			}
		}
	}
	none := report.New() // SC25: no boundary, no clean counts
	if none.Judge(); none.Status != report.Incomplete {
		t.Fatalf("status %s", none.Status)
	}
	db.Keep(t.Context(), none)
	if all, err := db.Verifications(t.Context(), "", 1); err != nil || len(all) != 1 || all[0].Number != none.Kept || all[0].Records != nil || all[0].Differences != nil {
		t.Errorf("without a comparison: %+v, %v", all, err)
	}
	if _, err := db.Verification(t.Context(), 9); !errors.Is(err, pgview.ErrNotKept) {
		t.Errorf("a number that is not there: %v", err)
	}
}

// TestR23NotKept: a role that may only read gets its verdict, and the report says that it is not kept.
func TestR23NotKept(t *testing.T) {
	w := newWorld(t)
	r := report.New()
	role := fmt.Sprintf("reader_%d", time.Now().UnixNano())
	w.exec(`CREATE ROLE ` + role + ` LOGIN`)
	t.Cleanup(func() { w.exec(`DROP OWNED BY ` + role + `; DROP ROLE ` + role) })
	w.exec(`GRANT USAGE ON SCHEMA amends TO ` + role + `; GRANT SELECT ON ALL TABLES IN SCHEMA amends TO ` + role)
	config, err := pgx.ParseConfig(w.url)
	if err != nil {
		t.Fatal(err)
	}
	reader := open(t, fmt.Sprintf("host=%s port=%d dbname=%s user=%s", config.Host, config.Port, config.Database, role))
	reader.Keep(t.Context(), r)
	if r.Kept != 0 || !strings.Contains(r.NotKept, "may not keep reports") {
		t.Errorf("kept as %d, %q", r.Kept, r.NotKept)
	}
	w.exec(`GRANT INSERT ON amends.verification TO ` + role + `; GRANT USAGE ON amends.verification_number TO ` + role)
	if reader.Keep(t.Context(), r); r.Kept == 0 || r.NotKept != "" {
		t.Errorf("with the right: kept as %d, %q", r.Kept, r.NotKept)
	}
	w.exec(`DROP TABLE amends.verification`)
	if reader.Keep(t.Context(), r); r.Kept != 0 || !strings.Contains(r.NotKept, "no table of verifications") {
		t.Errorf("without the table: kept as %d, %q", r.Kept, r.NotKept)
	}
	if all, err := reader.Verifications(t.Context(), "", 0); err != nil || all != nil {
		t.Errorf("without the table: %v, %v", all, err)
	}
}

// open opens the judge's view of a database.
func open(t *testing.T, url string) *pgview.DB {
	t.Helper()
	db, err := pgview.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}
