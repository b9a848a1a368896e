package source

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/engine"
)

// TestR08RangeEndsInAGap: where the offsets below the end of a range are a gap, of aborted records say, the next record
// that is delivered lies beyond it: it ends the range and is not judged.
func TestR08RangeEndsInAGap(t *testing.T) {
	for _, c := range []struct {
		to   int64
		want []int64
	}{{7, []int64{3, 6}}, {5, []int64{3}}} {
		var seen []int64
		s := &scan{
			r: boundary.Range{From: []int64{3}, To: []int64{c.to}}, next: []int64{3}, open: 1,
			yield: func(r engine.Record, _ error) bool {
				seen = append(seen, r.Offset)
				return true
			},
		}
		for _, offset := range []int64{3, 6} {
			s.pass(&kgo.Record{Offset: offset})
		}
		if !slices.Equal(seen, c.want) || s.open != 0 {
			t.Errorf("to %d: judged %v, want %v; %d partitions open", c.to, seen, c.want, s.open)
		}
	}
}
