package report

import "amends.dev/amends/oracle/compare"

// family is a family of compared facts as reports name it.
type family struct {
	name string
	// member is its name in the JSON counts.
	member string
	facts  compare.Family
	tally  compare.Tally
}

// families are all families, in the order in which they are compared.
func families(c Counts) []family {
	return []family{
		{"balances", "balances", compare.FamilyBalance, c.Balances},
		{"alerts", "alerts", compare.FamilyAlert, c.Alerts},
		{"statuses", "statuses", compare.FamilyStatus, c.Statuses},
		{"quarantine", "quarantine", compare.FamilyQuarantine, c.Quarantine},
		{"conflict rows", "conflictRows", compare.FamilyConflict, c.ConflictRows},
		{"stock keys", "keys", compare.FamilyKey, c.Keys},
		{"guards", "guards", compare.FamilyGuard, c.Guards},
	}
}

// Compared says whether there is a comparison to show: the boundary was complete and the run did not fail. A close that
// does not fit 64 bits is an ERROR, and compared all the same.
func (r *Report) Compared() bool { return r.Facts().Complete && len(r.Errors) == 0 }
