package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// sortedKeys are the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// rangeForm is a range of ids: a prefix, the first and the last number, as wide as the first is written.
var rangeForm = regexp.MustCompile(`^(.*?)(\d+)-(\d+)$`)

// expand lists the ids that a section must have rows for.
func (s *section) expand() []string {
	var ids []string
	for _, word := range s.IDs {
		m := rangeForm.FindStringSubmatch(word)
		if m == nil {
			ids = append(ids, word)
			continue
		}
		first, _ := strconv.Atoi(m[2]) // digits, by the form
		last, _ := strconv.Atoi(m[3])
		for n := first; n <= last; n++ {
			ids = append(ids, fmt.Sprintf("%s%0*d", m[1], len(m[2]), n))
		}
	}
	return ids
}

// faults are what is wrong with the data by itself.
func (d *document) faults() []string {
	var faults []string
	for _, s := range d.sections {
		var have []string
		for i := range s.Rows {
			r := &s.Rows[i]
			have = append(have, r.ID)
			faults = append(faults, d.rowFaults(s, r)...)
		}
		if want := s.expand(); !slices.Equal(have, want) {
			faults = append(faults, fmt.Sprintf("section %q has rows for %s, want %s", s.Title, differing(have, want), differing(want, have)))
		}
	}
	return faults
}

// differing shows what a has beyond b, or that only the order differs.
func differing(a, b []string) string {
	var extra []string
	for i, id := range a {
		if !slices.Contains(b, id) || slices.Contains(a[:i], id) {
			extra = append(extra, id)
		}
	}
	if extra == nil {
		return "the same in another order, or fewer"
	}
	return strings.Join(extra, " ")
}

// rowFaults are what is wrong with one row.
func (d *document) rowFaults(s *section, r *row) []string {
	var faults []string
	if r.Says == "" {
		faults = append(faults, r.ID+": says nothing")
	}
	for _, id := range r.Scenarios {
		if d.scenarios[id] == nil {
			faults = append(faults, fmt.Sprintf("%s: there is no scenario %s", r.ID, id))
		}
	}
	if s.Marked && len(r.Marks) == 0 && r.Unmarked == "" {
		faults = append(faults, r.ID+": neither a mark nor a reason (unmarked) why there is none")
	}
	for _, number := range r.Mutants {
		if fault := d.mutantFault(r, number); fault != "" {
			faults = append(faults, fmt.Sprintf("%s: mutant %s: %s", r.ID, number, fault))
		}
	}
	for key := range r.Not {
		if key != "all" && !slices.Contains(columnKeys[:], key) {
			faults = append(faults, fmt.Sprintf("%s: there is no column %q", r.ID, key))
		}
	}
	for c := range columns {
		if len(r.tests(c)) == 0 && r.reason(s, c) == "" {
			faults = append(faults, fmt.Sprintf("%s: column %s has neither test nor reason", r.ID, columnKeys[c]))
		}
	}
	return faults
}
