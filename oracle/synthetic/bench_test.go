package synthetic_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/synthetic"
	"amends.dev/amends/vectorized/snapshot"
)

// generated is the size of the history that benchmarks generate.
const generated = 1 << 20

// BenchmarkRows makes the columns of a history on one goroutine and writes nothing.
func BenchmarkRows(b *testing.B) {
	for _, raw := range []bool{false, true} {
		b.Run(fmt.Sprintf("raw=%v", raw), func(b *testing.B) {
			h, err := synthetic.New(synthetic.Config{Rows: generated, Skew: 110, Raw: raw})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				for p := range h.Rows() {
					for run := range h.Partition(int32(p)) {
						_ = run.Rows
					}
				}
			}
			perRow(b)
		})
	}
}

// BenchmarkWrite writes a history as a snapshot, on all processors.
func BenchmarkWrite(b *testing.B) {
	for _, raw := range []bool{false, true} {
		b.Run(fmt.Sprintf("raw=%v", raw), func(b *testing.B) {
			h, err := synthetic.New(synthetic.Config{Rows: generated, Skew: 110, Raw: raw})
			if err != nil {
				b.Fatal(err)
			}
			dir := filepath.Join(b.TempDir(), "set")
			for b.Loop() {
				if err := os.RemoveAll(dir); err != nil {
					b.Fatal(err)
				}
				if err := h.Write(dir); err != nil {
					b.Fatal(err)
				}
			}
			perRow(b)
		})
	}
}

// BenchmarkOracle recomputes a history from typed files and from raw ones, on all processors.
func BenchmarkOracle(b *testing.B) {
	h, err := synthetic.New(synthetic.Config{Rows: generated, Skew: 110, Raw: true})
	if err != nil {
		b.Fatal(err)
	}
	dir := filepath.Join(b.TempDir(), "set")
	if err := h.Write(dir); err != nil {
		b.Fatal(err)
	}
	s, err := snapshot.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	raw, err := s.Raw()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("typed", func(b *testing.B) {
		for b.Loop() {
			if _, err := (arrow.Engine{}).ComputeColumns(b.Context(), h.Namespace, s.Typed(), arrow.Options{}); err != nil {
				b.Fatal(err)
			}
		}
		perRow(b)
	})
	b.Run("raw", func(b *testing.B) {
		for b.Loop() {
			if _, err := (arrow.Engine{}).ComputeRaw(b.Context(), h.Namespace, raw, arrow.Options{}); err != nil {
				b.Fatal(err)
			}
		}
		perRow(b)
	})
}

// perRow reports the time of one record.
func perRow(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/generated, "ns/row")
}
