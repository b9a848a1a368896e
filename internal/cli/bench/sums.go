package bench

import (
	"fmt"
	"math/big"
	"time"

	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/projection"
)

// dayZero is the day before the first of a synthetic history.
var dayZero = time.Date(2022, 12, 31, 0, 0, 0, 0, time.UTC)

// dayNumber counts a day from dayZero.
func dayNumber(day string) (int64, error) {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return 0, fmt.Errorf("a day of the projection: %w", err)
	}
	return int64(at.Sub(dayZero) / (24 * time.Hour)), nil
}

// sumsOf adds a projection up, by other code than the engine arrow does.
func sumsOf(p *projection.Projection) (*arrow.Sums, error) {
	s := &arrow.Sums{
		LowerConflicts: int64(len(p.SupersededConflicts)), StatusKeys: int64(len(p.Statuses)), Balances: int64(len(p.Balances)),
		SumClose: new(big.Int), SumCloseDay: new(big.Int), Alerts: int64(len(p.Alerts)), AlertClose: new(big.Int),
	}
	for i := range p.Statuses {
		if n := int64(len(p.Statuses[i].Conflicts)); n > 0 {
			s.BlockedKeys, s.HighConflicts = s.BlockedKeys+1, s.HighConflicts+n
		}
	}
	for i := range p.Balances {
		day, err := dayNumber(p.Balances[i].Day)
		if err != nil {
			return nil, err
		}
		closing := big.NewInt(p.Balances[i].Close)
		s.SumClose.Add(s.SumClose, closing)
		s.SumCloseDay.Add(s.SumCloseDay, closing.Mul(closing, big.NewInt(day)))
	}
	for i := range p.Alerts {
		day, err := dayNumber(p.Alerts[i].Day)
		if err != nil {
			return nil, err
		}
		s.AlertClose.Add(s.AlertClose, big.NewInt(p.Alerts[i].Close))
		s.AlertDay += day
	}
	return s, nil
}
