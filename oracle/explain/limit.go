package explain

import (
	"math/big"
	"slices"
)

// OnDay is the key as far as one day is concerned: the day itself and the identities of which any revision moves stock
// on it. What is left out is counted; the closes are those of the whole history.
func (k Key) OnDay(day string) Key {
	out := k
	out.Days = slices.DeleteFunc(slices.Clone(k.Days), func(d Day) bool { return d.Day != day })
	out.Identities = slices.DeleteFunc(slices.Clone(k.Identities), func(i Identity) bool { return !i.touches(map[string]bool{day: true}) })
	out.Omitted.Days += int64(len(k.Days) - len(out.Days))
	out.Omitted.Identities += int64(len(k.Identities) - len(out.Identities))
	return out
}

// implied is the close of a day on which no transaction is active; nil where one is, of a BLOCKED key, and before the
// ledger origin.
func (k Key) implied(day string) *Implied {
	if k.Status == Blocked || day < k.Origin {
		return nil
	}
	last := &Implied{Close: big.NewInt(k.OpeningBalance)}
	for _, d := range k.Days { // ascending, and so are their texts
		if d.Day == day {
			return nil
		}
		if d.Day < day {
			last = &Implied{Close: d.Close, From: d.Day}
		}
	}
	return last
}

// Limited is the key with at most limit days, identities, rejected records, contributions of a day, revisions of an
// identity and records of a payload; 0 is no limit. Conflicts and what concerns the days in focus come first. What is left out is counted.
func (k Key) Limited(limit int, focus map[string]bool) Key {
	if limit <= 0 {
		return k
	}
	out := k
	out.Days = limitedDays(k.Days, limit, focus)
	out.Identities = limitedIdentities(k.Identities, limit, focus)
	out.Rejected = slices.Clone(k.Rejected[:min(limit, len(k.Rejected))])
	out.Omitted.Days += int64(len(k.Days) - len(out.Days))
	out.Omitted.Identities += int64(len(k.Identities) - len(out.Identities))
	out.Omitted.Rejected += int64(len(k.Rejected) - len(out.Rejected))
	return out
}

// limitedDays keeps the days in focus and then those nearest to them; without a focus, the first ones.
func limitedDays(days []Day, limit int, focus map[string]bool) []Day {
	kept := make([]bool, len(days))
	left := limit
	keep := func(i int) {
		if i >= 0 && i < len(days) && !kept[i] && left > 0 {
			kept[i] = true
			left--
		}
	}
	var centres []int
	for i, d := range days {
		if focus[d.Day] {
			centres = append(centres, i)
		}
	}
	if len(centres) == 0 {
		centres = []int{0}
	}
	for distance := 0; left > 0 && distance <= len(days); distance++ {
		for _, centre := range centres {
			keep(centre - distance)
			keep(centre + distance)
		}
	}
	out := make([]Day, 0, min(limit, len(days)))
	for i, d := range days {
		if !kept[i] {
			continue
		}
		if extra := len(d.Contributions) - limit; extra > 0 {
			d.Contributions, d.OmittedContributions = d.Contributions[:limit], d.OmittedContributions+int64(extra)
		}
		out = append(out, d)
	}
	return out
}

// limitedIdentities keeps conflicting identities, then those that move stock on the days in focus, then the others.
func limitedIdentities(all []Identity, limit int, focus map[string]bool) []Identity {
	kept := make([]bool, len(all))
	left := limit
	for _, wanted := range []func(Identity) bool{
		func(i Identity) bool { return i.Authority().State == Conflicting },
		func(i Identity) bool { return i.touches(focus) },
		func(Identity) bool { return true },
	} {
		for n, i := range all {
			if left > 0 && !kept[n] && wanted(i) {
				kept[n] = true
				left--
			}
		}
	}
	out := make([]Identity, 0, min(limit, len(all)))
	for n, i := range all {
		if kept[n] {
			out = append(out, i.limited(limit))
		}
	}
	return out
}

// limited keeps the highest revisions, and of each payload the first records.
func (i Identity) limited(limit int) Identity {
	extra := max(0, len(i.Revisions)-limit)
	i.OmittedRevisions += int64(extra)
	i.Revisions = slices.Clone(i.Revisions[extra:])
	for n, r := range i.Revisions {
		payloads := slices.Clone(r.Payloads)
		for m, p := range payloads {
			if over := len(p.Records) - limit; over > 0 {
				payloads[m].Records, payloads[m].OmittedRecords = p.Records[:limit], p.OmittedRecords+int64(over)
			}
		}
		i.Revisions[n].Payloads = payloads
	}
	return i
}

// touches says whether any revision of the identity moves, or moved, stock on one of the days.
func (i Identity) touches(days map[string]bool) bool {
	return slices.ContainsFunc(i.Revisions, func(r Revision) bool {
		return slices.ContainsFunc(r.Payloads, func(p Payload) bool { return p.Day != "" && days[p.Day] })
	})
}
