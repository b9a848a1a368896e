package ledger

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestInt128AgainstBig(t *testing.T) {
	edge := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}))
	rapid.Check(t, func(r *rapid.T) {
		sum, want := int128{}, new(big.Int)
		for _, v := range rapid.SliceOf(edge).Draw(r, "values") {
			if rapid.Bool().Draw(r, "subtract") {
				sum, want = sum.sub(widen(v)), want.Sub(want, big.NewInt(v))
			} else {
				sum, want = sum.add(widen(v)), want.Add(want, big.NewInt(v))
			}
		}
		if sum.String() != want.String() {
			r.Fatalf("want %s, got %s", want, sum)
		}
		narrow, ok := sum.narrow()
		if ok != want.IsInt64() || ok && narrow != want.Int64() {
			r.Fatalf("%s: narrow gave %d, %v", want, narrow, ok)
		}
	})
}
