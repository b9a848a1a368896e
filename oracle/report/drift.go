package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"amends.dev/amends/oracle/compare"
)

// driftKey is what differs of one stock key, with the picture of its balance.
type driftKey struct {
	Key, Status string
	Rows        []driftRow
	Chart       *chart
	// Omitted counts the days that the picture leaves out.
	Omitted int64
	// Unexplained: the key is one of those for which no explanation was made.
	Unexplained bool
}

// driftRow is one difference.
type driftRow struct {
	// Pointer is the difference's JSON pointer.
	Pointer           string
	Day, Family, Kind string
	Oracle, View      []shown
	Because           []string
	// day is that of a balance or alert; Day says for other facts which they are.
	day string
}

// dayless is 1 for a row without a day, and 0 for the others.
func dayless(r driftRow) int {
	if r.day == "" {
		return 1
	}
	return 0
}

// shown is a value, or a part of one, with the JSON pointer where the JSON has exactly that text; else it is empty.
type shown struct{ Label, Text, Pointer string }

// evidenceRow is a difference that belongs to no stock key.
type evidenceRow struct {
	Pointer, Subject, Oracle, View string
}

// drift groups the listed differences by stock key, in the order in which the keys are first listed, and within a key
// by day; what has no day comes last.
func drift(r *Report) ([]driftKey, []evidenceRow) {
	var keys []driftKey
	var evidence []evidenceRow
	position := map[compare.Key]int{}
	known, closes := r.reasons(), viewCloses(r)
	for i, d := range r.Differences {
		pointer := fmt.Sprintf("/differences/%d", i)
		if d.Family == compare.FamilyQuarantine {
			evidence = append(evidence, evidenceRow{pointer, subject(d), value(d.Oracle), value(d.View)})
			continue
		}
		key := compare.Key{Item: d.Item, Location: d.Location}
		n, begun := position[key]
		if !begun {
			n = len(keys)
			position[key] = n
			keys = append(keys, newDriftKey(known, key, closes[key]))
		}
		keys[n].Rows = append(keys[n].Rows, driftRow{
			Pointer: pointer, Day: dayOrRevision(d), day: d.Day, Family: string(d.Family), Kind: string(d.Kind),
			Oracle: parts(d.Oracle, pointer+"/oracle"), View: parts(d.View, pointer+"/view"), Because: known.because(d),
		})
	}
	for i := range keys {
		slices.SortStableFunc(keys[i].Rows, func(a, b driftRow) int {
			return cmp.Or(dayless(a)-dayless(b), strings.Compare(a.day, b.day))
		})
	}
	return keys, evidence
}

// newDriftKey begins a group, with the chart of the key where it was explained and folded.
func newDriftKey(known reasons, key compare.Key, closes map[string]*int64) driftKey {
	out := driftKey{Key: keyName(key.Item, key.Location)}
	k, index := known.of(key.Item, key.Location)
	if k == nil {
		out.Unexplained = true
		return out
	}
	out.Status, out.Omitted = k.Status, k.Omitted.Days
	out.Chart = newChart(k, index, closes)
	return out
}

// viewCloses are, by key and day, the closes that the view shows where it differs; nil where it lacks the day.
func viewCloses(r *Report) map[compare.Key]map[string]*int64 {
	all := map[compare.Key]map[string]*int64{}
	for _, d := range r.Differences {
		if d.Family != compare.FamilyBalance {
			continue
		}
		key := compare.Key{Item: d.Item, Location: d.Location}
		if all[key] == nil {
			all[key] = map[string]*int64{}
		}
		all[key][d.Day] = nil
		if d.View != nil {
			all[key][d.Day] = d.View.Close
		}
	}
	return all
}

// dayOrRevision says which fact of its key a difference is about.
func dayOrRevision(d compare.Difference) string {
	if d.Family == compare.FamilyConflict {
		return fmt.Sprintf("%s@%d", plain(d.TxnID), d.Revision)
	}
	return d.Day
}

// parts shows one side of a difference.
func parts(v *compare.Value, pointer string) []shown {
	if v == nil {
		return []shown{{Text: "none"}}
	}
	var all []shown
	if v.Close != nil {
		all = append(all, shown{"close", strconv.FormatInt(*v.Close, 10), pointer + "/close"})
	}
	if v.Threshold != nil {
		all = append(all, shown{"threshold", strconv.FormatInt(*v.Threshold, 10), pointer + "/threshold"})
	}
	if len(all) == 0 {
		all = append(all, shown{Text: value(v)})
	}
	return all
}
