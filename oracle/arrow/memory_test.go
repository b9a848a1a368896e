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
	const rows, most = 200_000, 5_250 // 3,500 were counted: a half more is growth
	h, source := synthesize(t, synthetic.Config{Rows: rows, Keys: 800, Skew: 110})
	perRun := testing.AllocsPerRun(3, func() {
		if _, err := (arrow.Engine{}).ComputeColumns(t.Context(), h.Namespace, source, arrow.Options{Workers: 2}); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%.0f allocations for %d records", perRun, rows)
	if perRun > most {
		t.Errorf("%.0f allocations for %d records, want at most %d", perRun, rows, most)
	}
}

// TestMemoryStays computes one history 50 times in a process, by turns from typed files, from typed files in passes and from
// raw ones: nothing is left in the allocator, and the resident memory at the end is not far above that after the fifth time.
func TestMemoryStays(t *testing.T) {
	h, set := synthesized(t, synthetic.Config{Rows: 100_000, Keys: 400, Skew: 110, Raw: true})
	source := set.Typed()
	raw, err := set.Raw()
	if err != nil {
		t.Fatal(err)
	}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	e := arrow.Engine{Memory: mem}
	var early int64
	for n := range 50 {
		switch n % 3 {
		case 0:
			_, err = e.ComputeColumns(t.Context(), h.Namespace, source, arrow.Options{Workers: 2})
		case 1:
			_, err = e.ComputeColumns(t.Context(), h.Namespace, source, arrow.Options{Workers: 2, Memory: 1})
		default:
			_, err = e.ComputeRaw(t.Context(), h.Namespace, raw, arrow.Options{Workers: 2})
		}
		if err != nil {
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
