package report

import (
	"fmt"

	"amends.dev/amends/oracle/compare"
)

// ScopedKey is what one key that was asked for contributes to a verification. It shows agreement of one key beside a
// verdict on all of them, and never in its place (S10).
type ScopedKey struct {
	Item     string `json:"item"`
	Location string `json:"location"`
	// Compared says that the boundary was complete: only then the counts mean anything.
	Compared bool `json:"compared"`
	// Blocked: a highest revision of the key is ambiguous, so that nothing certifies its balances and alerts.
	Blocked bool `json:"blocked"`
	// Tally counts the key's facts of all families together.
	Tally compare.Tally `json:"tally"`
}

// scopeText says what was found of each key in scope, for the verdict's line; empty without a scope.
func scopeText(r *Report) string {
	text := ""
	for _, k := range r.Scope {
		text += "; scope " + keyName(k.Item, k.Location) + ": "
		switch {
		case !k.Compared:
			text += "not compared"
		case k.Blocked:
			text += fmt.Sprintf("BLOCKED, %s uncertified", plural(k.Tally.Uncertified, "row", "rows"))
		case k.Tally.Differences() > 0:
			text += plural(k.Tally.Differences(), "difference", "differences")
		default:
			text += fmt.Sprintf("no difference in %s", plural(k.Tally.Oracle, "fact", "facts"))
		}
	}
	return text
}
