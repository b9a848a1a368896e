package arrow_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/synthetic"
)

// TestAllocationsPerRow counts allocations, which do not depend on the machine: what grows with the rows is rows, columns
// and results, not objects.
func TestAllocationsPerRow(t *testing.T) {
	const rows = 200_000
	h, source := synthesize(t, synthetic.Config{Rows: rows, Keys: 800, Skew: 110})
	perRun := testing.AllocsPerRun(3, func() {
		if _, err := (arrow.Engine{}).ComputeColumns(t.Context(), h.Namespace, source, arrow.Options{Workers: 2}); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%.0f allocations for %d records", perRun, rows)
	if perRun > rows/10 {
		t.Errorf("%.0f allocations for %d records, want fewer than one in ten", perRun, rows)
	}
}

// TestMemoryStays computes one history 50 times in a process: nothing is left in the allocator, and the resident memory
// at the end is not far above that after the fifth time.
func TestMemoryStays(t *testing.T) {
	h, source := synthesize(t, synthetic.Config{Rows: 100_000, Keys: 400, Skew: 110})
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	var early int64
	for n := range 50 {
		if _, err := (arrow.Engine{Memory: mem}).ComputeColumns(t.Context(), h.Namespace, source, arrow.Options{Workers: 2}); err != nil {
			t.Fatal(err)
		}
		if n == 4 {
			early = resident(t)
		}
	}
	if late := resident(t); late*10 > early*13 {
		t.Errorf("%d bytes resident after 50 computations, %d after 5", late, early)
	}
}

// resident is the resident memory of this process in bytes. Linux tells; elsewhere both figures are 0.
func resident(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if os.IsNotExist(err) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
