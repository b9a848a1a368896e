package verify_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/oracle/report"
)

// TestR23PolicyHidesRows: what row security hides from the judge is no agreement: a policy that hides a superfluous row of
// evidence is ERROR, and the owner of the tables sees the drift.
func TestR23PolicyHidesRows(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.verify(report.Pass)
	w.exec(`INSERT INTO conflict VALUES (0, 'b9', 1, 1)`)
	w.verify(report.Drift)
	role := fmt.Sprintf("judge_%s", strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(w.sourceID)))
	w.exec(`CREATE ROLE ` + role + ` LOGIN; GRANT USAGE ON SCHEMA amends, amends_shop, amends_shop_view TO ` + role + `;
		GRANT SELECT ON ALL TABLES IN SCHEMA amends, amends_shop, amends_shop_view TO ` + role)
	w.exec(`ALTER TABLE conflict ENABLE ROW LEVEL SECURITY; CREATE POLICY hides ON conflict USING (txn_id <> 'b9')`)
	t.Cleanup(func() { w.exec(`DROP OWNED BY ` + role + `; DROP ROLE ` + role) })
	config, err := pgx.ParseConfig(w.url)
	if err != nil {
		t.Fatal(err)
	}
	w.stateURL = fmt.Sprintf("host=%s port=%d dbname=%s user=%s", config.Host, config.Port, config.Database, role)
	w.viewURL = w.stateURL
	if r := w.verify(report.Error); !strings.Contains(r.Errors[0].Reason, "row-level security") {
		t.Errorf("%+v", r.Errors)
	}
}
