package postgres

import (
	"testing"

	"amends.dev/amends/stages/intake"
)

// TestReadRequestReport: what waits is counted by its kind; administrative effects, and those of other kinds, are not.
func TestReadRequestReport(t *testing.T) {
	pool := newState(t, 1, nil)
	read := func() RequestReport {
		t.Helper()
		r, err := ReadRequestReport(t.Context(), pool)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := read(); r != (RequestReport{}) {
		t.Errorf("of nothing: %+v", r)
	}
	for seq, id := range []string{
		intake.PublishPrefix("shop") + "0/local/a", intake.PublishPrefix("shop") + "3/local/b", intake.PublishPrefix("shop") + "0/anna/a",
		intake.DeliverKind + "/shop/0/local/a", "reconcile/shop/1", "intake-publisher/shop/0/local/a",
	} {
		if _, err := pool.Exec(t.Context(), `INSERT INTO owner_pending (owner_no, effect_id, seq) VALUES (1, $1, $2)`, id, seq); err != nil {
			t.Fatal(err)
		}
	}
	if r, want := read(), (RequestReport{ToPublish: 3, ToDeliver: 1}); r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
}
