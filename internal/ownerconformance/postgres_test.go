package ownerconformance

import (
	"testing"

	"amends.dev/amends/internal/testkit/pg"
)

// TestCorporaInPostgres: the same corpora, with connections that are really cut.
func TestCorporaInPostgres(t *testing.T) {
	t.Parallel()
	url := pg.New(t)
	for name, folder := range corpora(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			passes(t, folder, Postgres(url, "conformance_"+name))
		})
	}
}
