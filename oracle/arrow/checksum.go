package arrow

import (
	"math/big"

	"amends.dev/amends/vectorized"
)

// Checksum reduces a result to counts and sums that any other engine can compute too. Sums are exact.
type Checksum struct {
	Records    int64 `json:"records"`
	Identities int64 `json:"identities"`
	Duplicates int64 `json:"dups"`
	Sums
}

// Sums are the part of a Checksum that a projection tells too, whichever engine made it.
type Sums struct {
	LowerConflicts int64    `json:"lower_conf"`
	HighConflicts  int64    `json:"high_conf"`
	BlockedKeys    int64    `json:"blocked_keys"`
	StatusKeys     int64    `json:"status_keys"`
	Balances       int64    `json:"balances"`
	SumClose       *big.Int `json:"sum_close"`
	// SumCloseDay weighs each close with its day, the first of which is 2023-01-01.
	SumCloseDay *big.Int `json:"sum_close_day"`
	Alerts      int64    `json:"alerts"`
	AlertClose  *big.Int `json:"alert_close"`
	AlertDay    int64    `json:"alert_day"`
}

// dayZero is 2022-12-31.
const dayZero = 19_357

// Checksum adds up accepted records and their outcome.
func (r *Result) Checksum() Checksum {
	c := Checksum{
		Records: r.Counts.Records, Identities: r.Counts.Identities, Duplicates: r.Counts.Duplicates,
		Sums: Sums{
			LowerConflicts: r.Counts.LowerConflicts, HighConflicts: r.Counts.HighConflicts, BlockedKeys: r.Counts.BlockedKeys,
			StatusKeys: int64(len(r.keys)),
		},
	}
	var sum, weighed, alerts vectorized.Wide
	for i := range r.keys {
		k := &r.keys[i]
		c.Balances += int64(k.To - k.From)
		for at := k.From; at < k.To; at++ {
			closing, day := k.in.Close[at], int64(k.in.Day[at])-dayZero
			sum, weighed = sum.Plus(vectorized.WideOf(closing)), weighed.Plus(vectorized.Product(closing, day))
			if k.in.Crossing[at] == 1 {
				c.Alerts++
				alerts = alerts.Plus(vectorized.WideOf(closing))
				c.AlertDay += day
			}
		}
	}
	c.SumClose, c.SumCloseDay, c.AlertClose = sum.Big(), weighed.Big(), alerts.Big()
	return c
}
