package conformance_test

import (
	"testing"

	"amends.dev/amends/internal/conformance"
	"amends.dev/amends/internal/mark"
)

// marks are the places that the scenarios must pass in the pure core and in the stages in memory. That a commit whose
// answer was lost was done, and that a publication was not acknowledged, is expected by the suites of worker and relay.
var marks = map[string][]string{
	"SC01": {"SC01 backdated"},
	"SC02": {"SC02 quantity amended"},
	"SC03": {"SC03 day moved"},
	"SC04": {"SC04 cancelled before new"},
	"SC05": {"SC05 reactivated"},
	"SC06": {"SC06 stale revision"},
	"SC07": {"SC07 exact duplicate"},
	"SC08": {"SC08 conflict at the highest revision"},
	"SC09": {"SC09 conflict resolved", "SC09 key recomputed completely", "S4.17 conflict below the authority"},
	"SC10": {"SC10 R14 outputs of a blocked key are frozen"},
	"SC11": {"SC11 another movement on the day"},
	"SC12": {"SC12 equality with the threshold"},
	"SC13": {"SC13 no row on the day before"},
	"SC14": {"SC14 balance withdrawn"},
	"SC15": {"SC15 R11 alert restated", "SC15 alert retracted"},
	"SC16": {"SC16 late output ignored"},
	"SC17": {"SC17 equal version, other content"},
	"SC18": {"SC18 unknown commit was not done"},
	"SC19": {"S8 owner fenced"},
	"SC21": {"SC21 unit of work failed"},
	"SC22": {"SC22 record quarantined", "B025 misrouted record"},
	"SC23": {"SC23 replayed", "SC23 replay refused", "R25 owner parked"},
	"SC24": {"SC24 rebuilt", "SC24 late message refused", "SC24 lost history refused", "rebuild.2 loaded before"},
	"SC26": {"SC26 nothing to say"},
	"SC27": {"SC27 R09 close out of domain", "R09 record cannot be decided"},
	"SC28": {"SC28 key of another stock key"},
}

// TestMarks runs the scenarios once more and requires that each passes its places: a scenario that got around them would
// show nothing of what it is named after.
func TestMarks(t *testing.T) {
	for _, s := range load(t) {
		t.Run(s.ID, func(t *testing.T) {
			for _, name := range marks[s.ID] {
				mark.Expect(t, name)
			}
			for i := range s.Variants {
				passes(t, &s.Variants[i], conformance.Run(t.Context(), s, &s.Variants[i], conformance.Core, nil))
			}
		})
	}
}
