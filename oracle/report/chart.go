package report

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"amends.dev/amends/oracle/explain"
)

// The picture's measures, in tenths of a unit of its view box.
const (
	chartWidth  = 3600
	chartHeight = 1900
	chartLeft   = 60
	chartRight  = 60
	chartTop    = 180
	chartBottom = 260
)

// chart is the balance of a key as steps over its days with activity, with the reorder threshold, the crossings and what
// the view shows instead. Coordinates are texts: quantities are integers of any size and so are their places.
type chart struct {
	ID, Title, Summary string
	// Path is the step line's, ThresholdY the height of the threshold.
	Path, ThresholdY, ThresholdLabelY string
	Threshold                         string
	First, Last                       string
	High, Low                         string
	HighY, LowY                       string
	Crossings, View                   []mark
}

// mark is one point of the picture, with its words.
type mark struct{ X, Y, Left, Right, Above, Below, Text string }

// newChart draws a key; nil where there is nothing to draw. view holds the closes of the view on days where it differs,
// nil where it lacks the day.
func newChart(k *explain.Key, index int, view map[string]*int64) *chart {
	if len(k.Days) == 0 {
		return nil
	}
	s := newScale(k, view)
	first, last := k.Days[0], k.Days[len(k.Days)-1]
	name := keyName(k.Item, k.Location)
	c := &chart{
		ID: fmt.Sprintf("chart-%d", index), Title: "Daily closes of " + name,
		Threshold: strconv.FormatInt(k.ReorderThreshold, 10), First: first.Day, Last: last.Day,
		High: s.high.String(), Low: s.low.String(), HighY: tenths(chartTop), LowY: tenths(chartHeight - chartBottom),
	}
	y := s.y(big.NewInt(k.ReorderThreshold))
	c.ThresholdY, c.ThresholdLabelY = tenths(y), tenths(y-30)
	var path strings.Builder
	fmt.Fprintf(&path, "M%s %s", tenths(chartLeft), tenths(s.y(first.Before)))
	for i, d := range k.Days {
		fmt.Fprintf(&path, "H%sV%s", tenths(s.x(i)), tenths(s.y(d.Close)))
		if d.Crossing {
			c.Crossings = append(c.Crossings, newMark(s.x(i), s.y(d.Close), fmt.Sprintf("%s crosses: %s to %s, threshold %d", d.Day, d.Before, d.Close, k.ReorderThreshold)))
		}
		if shown := view[d.Day]; shown != nil {
			c.View = append(c.View, newMark(s.x(i), s.y(big.NewInt(*shown)), fmt.Sprintf("%s: the view shows %d, the oracle %s", d.Day, *shown, d.Close)))
		}
	}
	fmt.Fprintf(&path, "H%s", tenths(chartWidth-chartRight))
	c.Path = path.String()
	c.Summary = fmt.Sprintf("%s with activity from %s to %s, from an opening of %s to a close of %s, %s of the threshold %d, %s on which the view shows another close.",
		plural(int64(len(k.Days)), "day", "days"), first.Day, last.Day, first.Before, last.Close,
		plural(int64(len(c.Crossings)), "crossing", "crossings"), k.ReorderThreshold, plural(int64(len(c.View)), "day", "days"))
	return c
}

// newMark is a point with the corners of a diamond around it.
func newMark(x, y int64, text string) mark {
	const half = 55
	return mark{X: tenths(x), Y: tenths(y), Left: tenths(x - half), Right: tenths(x + half), Above: tenths(y - half), Below: tenths(y + half), Text: text}
}

// scale maps days and quantities to places in the picture.
type scale struct {
	days      int64
	low, high *big.Int
}

// newScale spans everything that is drawn.
func newScale(k *explain.Key, view map[string]*int64) scale {
	s := scale{days: int64(len(k.Days)), low: big.NewInt(k.ReorderThreshold), high: big.NewInt(k.ReorderThreshold)}
	include := func(v *big.Int) {
		if v.Cmp(s.low) < 0 {
			s.low = v
		}
		if v.Cmp(s.high) > 0 {
			s.high = v
		}
	}
	include(k.Days[0].Before)
	for _, d := range k.Days {
		include(d.Close)
		if shown := view[d.Day]; shown != nil {
			include(big.NewInt(*shown))
		}
	}
	return s
}

// x is the place of a day: days with activity are equally far apart.
func (s scale) x(i int) int64 {
	return chartLeft + (chartWidth-chartLeft-chartRight)*(2*int64(i)+1)/(2*s.days)
}

// y is the place of a quantity.
func (s scale) y(v *big.Int) int64 {
	span := new(big.Int).Sub(s.high, s.low)
	if span.Sign() == 0 {
		return (chartTop + chartHeight - chartBottom) / 2
	}
	down := new(big.Int).Sub(s.high, v)
	down.Mul(down, big.NewInt(chartHeight-chartTop-chartBottom))
	return chartTop + down.Quo(down, span).Int64()
}

// tenths writes tenths of a unit as a decimal.
func tenths(n int64) string {
	if n%10 == 0 {
		return strconv.FormatInt(n/10, 10)
	}
	if n < 0 {
		return fmt.Sprintf("-%d.%d", -n/10, -n%10)
	}
	return fmt.Sprintf("%d.%d", n/10, n%10)
}
