package bench

import (
	"fmt"
	"math/big"
	"time"

	"amends.dev/amends/oracle/projection"
)

// sums are those members of an arrow.Checksum that a projection tells, under the same names.
type sums struct {
	LowerConflicts int64    `json:"lower_conf"`
	HighConflicts  int64    `json:"high_conf"`
	BlockedKeys    int64    `json:"blocked_keys"`
	StatusKeys     int64    `json:"status_keys"`
	Balances       int64    `json:"balances"`
	SumClose       *big.Int `json:"sum_close"`
	SumCloseDay    *big.Int `json:"sum_close_day"`
	Alerts         int64    `json:"alerts"`
	AlertClose     *big.Int `json:"alert_close"`
	AlertDay       int64    `json:"alert_day"`
}

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

// sumsOf adds a projection up.
func sumsOf(p *projection.Projection) (*sums, error) {
	s := &sums{
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
