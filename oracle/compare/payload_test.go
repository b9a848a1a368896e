package compare

import (
	"testing"

	"amends.dev/amends/oracle/projection"
)

// TestS4PayloadsOfConflicts: a payload that the evidence lost, gained, altered or moved is a difference; without one
// nothing is counted, because the conflict's row is the fact.
func TestS4PayloadsOfConflicts(t *testing.T) {
	conflict := projection.Conflict{Item: "a", Location: "L", TxnID: "t", Revision: 2}
	both := []Payload{{conflict, 4, `["x"]`}, {conflict, 7, `["y"]`}}
	for name, c := range map[string]struct {
		stored         []Payload
		missing, extra int64
	}{
		"twin": {both, 0, 0}, "all lost": {nil, 2, 0}, "one lost": {both[:1], 1, 0},
		"one more": {append(both[:2:2], Payload{conflict, 9, `["z"]`}), 0, 1}, "altered": {[]Payload{both[0], {conflict, 7, `["z"]`}}, 1, 1},
		"moved": {[]Payload{both[0], {conflict, 8, `["y"]`}}, 1, 1},
	} {
		collector := NewCollector(0, nil)
		if err := collector.Payloads(Slice(both), Slice(c.stored)); err != nil {
			t.Fatal(err)
		}
		tally := collector.Tally(FamilyConflict)
		if tally != (Tally{Oracle: c.missing, View: c.extra, Missing: c.missing, Extra: c.extra}) {
			t.Errorf("%s: %+v", name, tally)
		}
		for _, d := range collector.Listed() {
			if d.Kind != Evidence || d.Family != FamilyConflict || d.TxnID != "t" || d.Revision != 2 {
				t.Errorf("%s: %+v", name, d)
			}
		}
	}
}
