package arrow_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/oracle/reference"
)

func TestHistories(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	oracletest.RunHistories(t, arrow.Engine{Memory: mem})
}

// TestAgreesWithReference compares the engines on random histories with hostile records, and on the same history with
// the partitions interleaved otherwise: the projection must not depend on it.
func TestAgreesWithReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		c := oracletest.Cases().Draw(rt, "case")
		e := arrow.Engine{Memory: mem}
		want := oracletest.Compute(rt, reference.Engine{}, c.Namespace, c.Records)
		oracletest.Equal(rt, "arrow", oracletest.Compute(rt, e, c.Namespace, c.Records), want)
		permuted := oracletest.Permuted(rt, c.Records)
		oracletest.Equal(rt, "arrow, permuted", oracletest.Compute(rt, e, c.Namespace, permuted), want)
		oracletest.Equal(rt, "reference, permuted", oracletest.Compute(rt, reference.Engine{}, c.Namespace, permuted), want)
	})
}

// TestManyBatches computes a history that fills several batches.
func TestManyBatches(t *testing.T) {
	h := oracletest.All(t)[0]
	var records []engine.Record
	for i := range int64(40_000) {
		for _, r := range h.Records[:1] {
			r.Offset = i
			records = append(records, r)
		}
	}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	e := arrow.Engine{Memory: mem}
	oracletest.Equal(t, "repeated", oracletest.Compute(t, e, h.Namespace, records), oracletest.Compute(t, e, h.Namespace, records[:1]))
}

// TestReadErrors hands back the history's own error, and nothing else, whenever it comes.
func TestReadErrors(t *testing.T) {
	h := oracletest.All(t)[0]
	broken := errors.New("broken")
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	for _, e := range []engine.Engine{arrow.Engine{Memory: mem}, reference.Engine{}} {
		history := func(context.Context) iter.Seq2[engine.Record, error] {
			return func(yield func(engine.Record, error) bool) {
				if yield(h.Records[0], nil) {
					yield(engine.Record{}, broken)
				}
			}
		}
		if p, err := e.Compute(t.Context(), h.Namespace, history); !errors.Is(err, broken) || p != nil {
			t.Errorf("%s: %v, %v", e.Name(), p, err)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := e.Compute(cancelled, h.Namespace, oracletest.Of(h.Records)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: cancelled: %v", e.Name(), err)
		}
	}
}

// TestPitfalls runs B046, B048, B050, B068, B069, B071, B081, B083, B085, B087, B088, B089 and B100 through the engine.
func TestPitfalls(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	oracletest.RunPitfalls(t, arrow.Engine{Memory: mem})
}
