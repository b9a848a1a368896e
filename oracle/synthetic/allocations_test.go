package synthetic_test

import (
	"path/filepath"
	"strconv"
	"testing"

	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/synthetic"
)

// TestAllocationsGrow counts what three times the records cost the oracle in allocations, with the same keys: a row group has
// some, a record has none. The count does not depend on the machine, so that it is a guard where time is none.
func TestAllocationsGrow(t *testing.T) {
	allocations := func(rows int64) float64 {
		h, s := written(t, synthetic.Config{Rows: rows, Keys: 800, Skew: 110, Partitions: 2})
		return testing.AllocsPerRun(2, func() {
			if _, err := (arrow.Engine{}).ComputeColumns(t.Context(), h.Namespace, s.Typed(), arrow.Options{Workers: 2}); err != nil {
				t.Fatal(err)
			}
		})
	}
	few, many := allocations(300_000), allocations(900_000)
	t.Logf("%.0f allocations for 300,000 records, %.0f for 900,000", few, many)
	if each := (many - few) / 600_000; each > 0.01 {
		t.Errorf("%.4f allocations for each further record, want fewer than one for a hundred", each)
	}
}

// TestWritingAllocationsGrow counts what three times the records cost in allocations to write, typed and raw: a row group has
// some, a record has none.
func TestWritingAllocationsGrow(t *testing.T) {
	allocations := func(rows int64) float64 {
		h, err := synthetic.New(synthetic.Config{Rows: rows, Keys: 800, Skew: 110, Partitions: 2, Raw: true})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		n := 0
		return testing.AllocsPerRun(1, func() {
			n++
			if err := h.Write(filepath.Join(dir, strconv.Itoa(n))); err != nil {
				t.Fatal(err)
			}
		})
	}
	few, many := allocations(200_000), allocations(600_000)
	t.Logf("%.0f allocations for 200,000 records, %.0f for 600,000", few, many)
	if each := (many - few) / 400_000; each > 0.01 {
		t.Errorf("%.4f allocations for each further record, want fewer than one for a hundred", each)
	}
}
