package generate

import (
	"errors"
	"fmt"
)

// Options say what to generate. The zero value of Keys and Rate means all and unlimited; the other fields come from
// Defaults.
type Options struct {
	// Seed chooses the history.
	Seed uint64
	// Count is the number of records, at least 1.
	Count int64
	// Rate bounds publication, in records per second; 0 is unlimited. It does not change the stream.
	Rate int64
	// Keys is how many configured stock keys take part, 0 for all.
	Keys int
	// Days is how many days from the ledger origin on the transactions are spread over, 1 to DaysMax.
	Days int
	// The shares of the count. What is left are new transactions.
	Amend, Move, Cancel, Backdate, Duplicate, Stale, Conflict, Malformed Share
}

// Bounds of Options.
const (
	// DaysMax is a century.
	DaysMax = 36_525
	// RateMax is far above what any broker takes.
	RateMax = 100_000_000
)

// Defaults is a quiet month with the corrections of everyday work and nothing that a verification has to qualify.
func Defaults() Options {
	return Options{Seed: 1, Count: 20_000, Days: 30, Amend: 150_000, Move: 50_000, Cancel: 50_000, Backdate: 100_000}
}

// Validate names everything that is wrong with the options by the names of their flags.
func (o Options) Validate() error {
	var errs []error
	if o.Count < 1 {
		errs = append(errs, fmt.Errorf("--count: want at least 1, got %d", o.Count))
	}
	if o.Rate < 0 || o.Rate > RateMax {
		errs = append(errs, fmt.Errorf("--rate: want 0 (unlimited) to %d, got %d", RateMax, o.Rate))
	}
	if o.Keys < 0 {
		errs = append(errs, fmt.Errorf("--keys: want 0 (all) or more, got %d", o.Keys))
	}
	if o.Days < 1 || o.Days > DaysMax {
		errs = append(errs, fmt.Errorf("--days: want 1 to %d, got %d", DaysMax, o.Days))
	}
	sum := Share(0)
	for class, share := range o.shares() {
		if share < 0 || share > Whole {
			errs = append(errs, fmt.Errorf("--%s-share: want 0 to 1, got %s", Class(class), share))
		}
		sum += share
	}
	if sum > Whole {
		errs = append(errs, fmt.Errorf("the shares add up to %s, more than 1", sum))
	}
	return errors.Join(errs...)
}

// shares are the shares by class; New has none of its own.
func (o Options) shares() [classes]Share {
	return [classes]Share{Backdate: o.Backdate, Amend: o.Amend, Move: o.Move, Cancel: o.Cancel,
		Duplicate: o.Duplicate, Stale: o.Stale, Conflict: o.Conflict, Malformed: o.Malformed}
}

// counts are the numbers of records by class that the shares ask for.
func (o Options) counts() Counts {
	var c Counts
	for class, share := range o.shares() {
		c[class] = share.of(o.Count)
	}
	c[New] = o.Count - c.Total()
	return c
}
