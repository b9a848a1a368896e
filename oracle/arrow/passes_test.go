package arrow_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/reference"
	"amends.dev/amends/oracle/synthetic"
	"amends.dev/amends/vectorized"
)

// highest is an allocator that notes the most bytes that were taken at a time.
type highest struct {
	memory.Allocator
	mu        sync.Mutex
	now, most int
}

// Allocate implements memory.Allocator.
func (h *highest) Allocate(size int) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now += size
	h.most = max(h.most, h.now)
	return h.Allocator.Allocate(size)
}

// Free implements memory.Allocator.
func (h *highest) Free(b []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now -= len(b)
	h.Allocator.Free(b)
}

// TestPassesAgree computes the typed and the raw files of a partition that is larger than memory, with 1, 2 and 8 workers:
// rejections are told once, each row counts in one pass, and the result is that of the reference engine.
func TestPassesAgree(t *testing.T) {
	h, set := synthesized(t, synthetic.Config{Rows: 50_000, Keys: 60, Skew: 110, Partitions: 1, Raw: true})
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	e := arrow.Engine{Memory: mem}
	want, err := reference.Engine{}.Compute(t.Context(), h.Namespace, set.History())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := set.Raw()
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Rejections) == 0 {
		t.Fatal("nothing is rejected")
	}
	for _, workers := range []int{1, 2, 8} {
		for _, bytes := range []int64{0, 1, 1 << 20} {
			o := arrow.Options{Workers: workers, Memory: bytes}
			for what, compute := range map[string]func() (*arrow.Result, error){
				"typed": func() (*arrow.Result, error) { return e.ComputeColumns(t.Context(), h.Namespace, set.Typed(), o) },
				"raw":   func() (*arrow.Result, error) { return e.ComputeRaw(t.Context(), h.Namespace, raw, o) },
			} {
				r, err := compute()
				if err != nil {
					t.Fatal(err)
				}
				if r.Records != 50_000 {
					t.Errorf("%s, %+v: %d records", what, o, r.Records)
				}
				oracletest.Equal(t, fmt.Sprintf("%s, %+v", what, o), r.Projection(), want)
			}
		}
	}
}

// TestMemoryIsBounded computes a history whose rows take 16 MB with less and less memory: the rows that are held at a time stay
// within it, but for the last chunks of buckets and a slab, and the result is the same.
func TestMemoryIsBounded(t *testing.T) {
	const rows = 500_000
	for _, partitions := range []int32{1, 8} {
		h, source := synthesize(t, synthetic.Config{Rows: rows, Keys: 2000, Skew: 80, Partitions: partitions})
		var want *projection.Projection
		for _, bound := range []int64{0, 8 << 20, 4 << 20, 2 << 20} {
			mem := &highest{Allocator: memory.NewGoAllocator()}
			r, err := (arrow.Engine{Memory: mem}).ComputeColumns(t.Context(), h.Namespace, source, arrow.Options{Workers: 2, Memory: bound})
			if err != nil {
				t.Fatal(err)
			}
			if mem.now != 0 {
				t.Errorf("%d bytes are left", mem.now)
			}
			t.Logf("%d partitions, bound %d: at most %d bytes", partitions, bound, mem.most)
			if want == nil {
				if want = r.Projection(); mem.most < rows*vectorized.RowBytes {
					t.Errorf("%d bytes without a bound, fewer than the rows have", mem.most)
				}
				continue
			}
			oracletest.Equal(t, fmt.Sprint("bound ", bound), r.Projection(), want)
			if int64(mem.most) > bound+bound/2+1<<20 {
				t.Errorf("%d partitions: %d bytes of rows at a time, the bound is %d", partitions, mem.most, bound)
			}
		}
	}
}
