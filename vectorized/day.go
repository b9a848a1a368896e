package vectorized

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// nanosPerDay is the length of a UTC day.
const nanosPerDay = 86_400_000_000_000

// Days returns the UTC day of each instant as days since the Unix epoch, rounded towards the past, also before 1970
// (B081).
func Days(mem memory.Allocator, instants *array.Int64) *array.Date32 {
	days := newColumn[arrow.Date32](mem, instants.Len())
	for i, nanos := range instants.Int64Values() {
		day := nanos / nanosPerDay
		if nanos%nanosPerDay < 0 {
			day--
		}
		days.values[i] = arrow.Date32(day)
	}
	return finish(days, arrow.FixedWidthTypes.Date32, instants.Len(), array.NewDate32Data)
}
