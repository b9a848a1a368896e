package report

import (
	"fmt"

	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/explain"
)

// reasonsListed bounds the reasons that renderings give for one difference; the JSON has all that were kept.
const reasonsListed = 6

// reasons finds explanations by key: a report may list very many differences.
type reasons struct {
	keys  []explain.Key
	index map[explain.Name]int
}

// reasons prepares the explanations of a report for being looked up.
func (r *Report) reasons() reasons {
	out := reasons{r.Explanations, make(map[explain.Name]int, len(r.Explanations))}
	for i, k := range r.Explanations {
		out.index[explain.Name{Item: k.Item, Location: k.Location}] = i
	}
	return out
}

// of finds a key's explanation and its index in the report; nil where there is none.
func (r reasons) of(item, location string) (*explain.Key, int) {
	i, ok := r.index[explain.Name{Item: item, Location: location}]
	if !ok {
		return nil, -1
	}
	return &r.keys[i], i
}

// unexplained says why there are no reasons.
func unexplained(r *Report) string { return "nothing explains the differences: " + r.NotExplained }

// because tells which source records make the oracle's side of a difference what it is, one reason each.
func (r reasons) because(d compare.Difference) []string {
	k, _ := r.of(d.Item, d.Location)
	if k == nil {
		return nil
	}
	switch d.Family {
	case compare.FamilyBalance, compare.FamilyAlert:
		return shorten(dayReasons(k, d.Day))
	case compare.FamilyStatus:
		return shorten(statusReasons(k))
	case compare.FamilyConflict:
		return shorten(revisionReasons(k, d.TxnID, d.Revision))
	default:
		return nil
	}
}

// shorten keeps the first reasons and counts the others.
func shorten(reasons []string) []string {
	if extra := len(reasons) - reasonsListed; extra > 0 {
		return append(reasons[:reasonsListed:reasonsListed], fmt.Sprintf("and %d more", extra))
	}
	return reasons
}

// dayReasons are the fold of a day, its contributions, and what once moved stock on it and no longer does.
func dayReasons(k *explain.Key, day string) []string {
	var reasons []string
	active := map[string]bool{}
	for _, d := range k.Days {
		if d.Day != day {
			continue
		}
		reasons = append(reasons, fmt.Sprintf("%s %+d = %s; %s", d.Before, d.Movement, d.Close, explain.Crossing(*k, d)))
		for _, c := range d.Contributions {
			active[c.TxnID] = true
			reasons = append(reasons, fmt.Sprintf("%+d by %s@%d at %d:%d", c.Qty, plain(c.TxnID), c.Revision, c.Partition, c.Offset))
		}
		if d.OmittedContributions > 0 {
			reasons = append(reasons, fmt.Sprintf("and %d more movements", d.OmittedContributions))
		}
	}
	if len(reasons) == 0 && k.Status == explain.Ready && k.Omitted.Days == 0 {
		reasons = append(reasons, "no active transaction on this day")
	}
	for _, i := range k.Identities {
		if !active[i.TxnID] {
			reasons = append(reasons, departures(i, day)...)
		}
	}
	return reasons
}

// departures tell which revisions of an identity moved stock on a day before a higher one replaced them.
func departures(i explain.Identity, day string) []string {
	var reasons []string
	authority := i.Authority()
	for _, revision := range i.Revisions {
		for _, p := range revision.Payloads {
			if p.Day != day || revision.Revision == authority.Revision {
				continue
			}
			by := authority.Payloads[0]
			reasons = append(reasons, fmt.Sprintf("%s@%d at %s gave way to %s@%d at %s", plain(i.TxnID), revision.Revision,
				place(p), by.Kind, authority.Revision, place(by)))
		}
	}
	return reasons
}

// statusReasons are the ambiguous revisions, or that there is none.
func statusReasons(k *explain.Key) []string {
	var reasons []string
	for _, i := range k.Identities {
		if a := i.Authority(); a.State == explain.Conflicting {
			reasons = append(reasons, revisionReasons(k, i.TxnID, a.Revision)...)
		}
	}
	switch {
	case len(reasons) > 0 || k.Omitted.Identities > 0:
	case k.Status == "":
		reasons = append(reasons, "no record of this key was accepted")
	default:
		reasons = append(reasons, "every highest revision is unambiguous")
	}
	return reasons
}

// revisionReasons are the payloads of one revision.
func revisionReasons(k *explain.Key, txnID string, number int64) []string {
	var reasons []string
	for _, i := range k.Identities {
		for _, revision := range i.Revisions {
			if i.TxnID != txnID || revision.Revision != number {
				continue
			}
			for _, p := range revision.Payloads {
				reasons = append(reasons, fmt.Sprintf("%s@%d %s %+d for %s at %s", plain(txnID), number, p.Kind, p.Qty, p.ValidTime, place(p)))
			}
		}
	}
	return reasons
}

// payloads are the contradicting payloads of a conflict, each with the record that established it.
func (r reasons) payloads(c Conflict) []string {
	if k, _ := r.of(c.Item, c.Location); k != nil {
		if all := revisionReasons(k, c.TxnID, c.Revision); len(all) > 0 {
			return shorten(all)
		}
	}
	var all []string
	for _, p := range c.Payloads {
		all = append(all, fmt.Sprintf("%s at %d:%d", canonical(p.Canonical), p.Partition, p.Offset))
	}
	return shorten(all)
}

// place is the record that established a payload, as partition:offset.
func place(p explain.Payload) string {
	return fmt.Sprintf("%d:%d", p.Records[0].Partition, p.Records[0].Offset)
}
