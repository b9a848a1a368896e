package reference

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"time"

	"amends.dev/amends/oracle/projection"
)

// project computes the projection of everything observed.
func (l *ledger) project() *projection.Projection {
	p := &projection.Projection{
		Balances:            []projection.Balance{},
		Alerts:              []projection.Alert{},
		Statuses:            []projection.Status{},
		SupersededConflicts: []projection.Conflict{},
		Rejections:          l.rejections,
		OutOfDomain:         []projection.OutOfDomain{},
	}
	slices.SortFunc(p.Rejections, func(a, b projection.Rejection) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	keys := slices.SortedFunc(maps.Keys(l.observed), func(a, b stockKey) int {
		return cmp.Or(cmp.Compare(a.item, b.item), cmp.Compare(a.location, b.location))
	})
	for _, key := range keys {
		l.projectKey(p, key)
	}
	return p
}

// projectKey appends what one key contributes. A key has a status as soon as one record of it was accepted (R10).
func (l *ledger) projectKey(p *projection.Projection, key stockKey) {
	status := projection.Status{
		Item: key.item, Location: key.location, Status: "READY", Conflicts: []projection.ConflictRef{},
	}
	observed := l.observed[key]
	for _, txnID := range slices.Sorted(maps.Keys(observed)) {
		ambiguous, superseded := observed[txnID].conflicts()
		if ambiguous {
			status.Status = "BLOCKED"
			status.Conflicts = append(status.Conflicts, projection.ConflictRef{
				TxnID: txnID, Revision: observed[txnID].highest(),
			})
		}
		slices.Sort(superseded)
		for _, revision := range superseded {
			p.SupersededConflicts = append(p.SupersededConflicts, projection.Conflict{
				Item: key.item, Location: key.location, TxnID: txnID, Revision: revision,
			})
		}
	}
	p.Statuses = append(p.Statuses, status)
	if status.Status == "READY" { // a BLOCKED key is not folded (S4, R09)
		l.fold(p, key)
	}
}

// fold appends the daily closes and crossings of one key with unambiguous authority (S5). Where any close does not fit
// int64 the key lists those days and nothing else (R09).
func (l *ledger) fold(p *projection.Projection, key stockKey) {
	sums := dailySums(l.observed[key])
	config := l.configured[key]
	threshold := big.NewInt(config.threshold)
	before := config.opening
	var balances []projection.Balance
	var alerts []projection.Alert
	var outOfDomain []projection.OutOfDomain
	for _, day := range slices.Sorted(maps.Keys(sums)) {
		closing := new(big.Int).Add(before, sums[day])
		date := time.Unix(day*86_400, 0).UTC().Format(time.DateOnly)
		if !closing.IsInt64() {
			outOfDomain = append(outOfDomain, projection.OutOfDomain{
				Item: key.item, Location: key.location, Day: date, Close: closing.String(),
			})
		}
		balances = append(balances, projection.Balance{
			Item: key.item, Location: key.location, Day: date, Close: closing.Int64(),
		})
		if before.Cmp(threshold) >= 0 && closing.Cmp(threshold) < 0 {
			alerts = append(alerts, projection.Alert{
				Item: key.item, Location: key.location, Day: date, Close: closing.Int64(), Threshold: config.threshold,
			})
		}
		before = closing
	}
	if len(outOfDomain) > 0 {
		p.OutOfDomain = append(p.OutOfDomain, outOfDomain...)
		return
	}
	p.Balances = append(p.Balances, balances...)
	p.Alerts = append(p.Alerts, alerts...)
}

// dailySums adds up the active transactions by the UTC day of their valid time. A cancelled identity contributes no
// day; a zero quantity does (S5).
func dailySums(observed transactions) map[int64]*big.Int {
	sums := make(map[int64]*big.Int)
	for _, revisions := range observed {
		for authority := range revisions[revisions.highest()] { // exactly one: the key is READY
			if authority.kind == "CANCEL" {
				continue
			}
			day := utcDay(authority.validTime)
			if sums[day] == nil {
				sums[day] = new(big.Int)
			}
			sums[day].Add(sums[day], big.NewInt(authority.qty))
		}
	}
	return sums
}

// utcDay counts UTC days since the Unix epoch, rounding towards the past (B081).
func utcDay(nanos int64) int64 {
	const nanosPerDay = 86_400_000_000_000
	// big.Int's Div is Euclidean: with a positive divisor it rounds down.
	return new(big.Int).Div(big.NewInt(nanos), big.NewInt(nanosPerDay)).Int64()
}
