package arrow_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/oracle/synthetic"
	"amends.dev/amends/vectorized"
	"amends.dev/amends/vectorized/snapshot"
)

// synthesize writes a synthetic history and opens it.
func synthesize(t *testing.T, c synthetic.Config) (*synthetic.History, vectorized.Source) {
	t.Helper()
	h, s := synthesized(t, c)
	return h, s.Typed()
}

// synthesized writes a synthetic history as a set.
func synthesized(t *testing.T, c synthetic.Config) (*synthetic.History, *snapshot.Snapshot) {
	t.Helper()
	h, err := synthetic.New(c)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "set")
	if err := h.Write(dir); err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return h, s
}

// TestB110Parallelism computes one history with 1, 2 and 8 workers, in one round and in many, and from one hot
// partition: the projection never depends on it.
func TestB110Parallelism(t *testing.T) {
	for _, c := range []synthetic.Config{
		{Rows: 300_000, Skew: 110, Keys: 500},
		{Rows: 300_000, Skew: 110, Keys: 40, Partitions: 1},
		{Rows: 100_000, Keys: 1, Partitions: 3},
	} {
		t.Run(fmt.Sprintf("%d partitions", c.Partitions), func(t *testing.T) {
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			defer mem.AssertSize(t, 0)
			h, source := synthesize(t, c)
			e := arrow.Engine{Memory: mem}
			want, err := e.ComputeColumns(t.Context(), h.Namespace, source, arrow.Options{Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			if sum := want.Checksum(); sum.Records+int64(len(want.Projection().Rejections)) != c.Rows || sum.Duplicates == 0 || sum.LowerConflicts == 0 || sum.Balances == 0 && sum.BlockedKeys == 0 {
				t.Fatalf("the history is too simple: %+v", sum)
			}
			for _, workers := range []int{2, 8} {
				for _, bytes := range []int64{0, 1} { // 1: every partition is a round of its own
					got, err := e.ComputeColumns(t.Context(), h.Namespace, source, arrow.Options{Workers: workers, Memory: bytes})
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want.Projection(), got.Projection()); diff != "" {
						t.Errorf("%d workers, memory %d:\n%s", workers, bytes, diff)
					}
				}
			}
		})
	}
}

// failing is a source of which the n-th part cannot be loaded.
type failing struct {
	vectorized.Source
	n   int
	err error
}

// Load implements vectorized.Source.
func (f failing) Load(ctx context.Context, i int, buffer []byte) (vectorized.Loaded, []byte, error) {
	if i == f.n {
		return nil, buffer, f.err
	}
	return f.Source.Load(ctx, i, buffer)
}

// TestSourceErrors hands back the source's own error, gives all memory back, and finds a source of other partitions.
func TestSourceErrors(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	h, source := synthesize(t, synthetic.Config{Rows: 20_000, Keys: 100})
	e, o := arrow.Engine{Memory: mem}, arrow.Options{Workers: 2, Memory: 1}
	broken := errors.New("broken")
	if _, err := e.ComputeColumns(t.Context(), h.Namespace, failing{source, -1, broken}, o); err != nil {
		t.Fatalf("the undamaged source: %v", err)
	}
	for n := range source.Parts() {
		if _, err := e.ComputeColumns(t.Context(), h.Namespace, failing{source, n, broken}, o); !errors.Is(err, broken) {
			t.Errorf("part %d: %v", n, err)
		}
	}
	other := oracletest.All(t)[0].Namespace
	if _, err := e.ComputeColumns(t.Context(), other, source, o); err == nil {
		t.Error("a source of more partitions than the namespace has was computed")
	}
}
